// Where a connection must lead: the origin itself, or a parent proxy on the way.
import LupinCore

/// The next hop of a request; connections are pooled by it.
enum NextHop: Hashable, Sendable {
    case origin(Origin)
    /// Boxed, so that a hop is one reference.
    indirect case parent(ParentProxy)

    /// The name or address to connect to.
    var host: Host {
        switch self {
        case .origin(let origin): origin.host
        case .parent(let parent): parent.host
        }
    }

    var port: UInt16 {
        switch self {
        case .origin(let origin): origin.port
        case .parent(let parent): parent.port
        }
    }

    /// `host:port`, for errors.
    var text: String { "\(host.uriText):\(port)" }

    var parent: ParentProxy? {
        switch self {
        case .origin: nil
        case .parent(let parent): parent
        }
    }
}
