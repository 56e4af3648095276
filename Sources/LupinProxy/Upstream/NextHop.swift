// Where a connection must lead: the origin itself, or a parent proxy on the way.
import LupinCore

/// The next hop of a request; connections are pooled by it.
enum NextHop: Hashable, Sendable {
    /// The origin, in clear; or the target of a tunnel, whatever flows through it.
    case origin(Origin)
    /// A parent proxy that gets the request itself.
    ///
    /// Boxed, as the next one, so that a hop is one reference.
    indirect case parent(ParentHop)
    /// The origin under TLS, straight or through a tunnel of a parent proxy.
    indirect case secure(Origin, OriginSecurity, through: ParentHop?)

    /// The name or address to connect to.
    var host: Host {
        switch self {
        case .origin(let origin), .secure(let origin, _, nil): origin.host
        case .parent(let parent), .secure(_, _, let parent?): parent.proxy.host
        }
    }

    var port: UInt16 {
        switch self {
        case .origin(let origin), .secure(let origin, _, nil): origin.port
        case .parent(let parent), .secure(_, _, let parent?): parent.proxy.port
        }
    }

    /// `host:port` of whoever answers, for errors.
    var text: String {
        switch self {
        case .origin(let origin), .secure(let origin, _, _): origin.hostAndPort
        case .parent: "\(host.uriText):\(port)"
        }
    }

    /// Whether TLS with the origin is lupin's.
    var isSecure: Bool {
        if case .secure = self { true } else { false }
    }

    /// The parent proxy that is spoken to.
    var parent: ParentProxy? {
        switch self {
        case .origin, .secure: nil
        case .parent(let parent): parent.proxy
        }
    }

    /// The parent proxy that is connected to, whether it is spoken to or only leads on.
    var connectedParent: ParentHop? {
        switch self {
        case .origin: nil
        case .parent(let parent): parent
        case .secure(_, _, let parent): parent
        }
    }
}

extension NextHop {
    /// Whether connections and TLS sessions are kept apart by what is attached, where they must be:
    /// where it says who the sender is for the whole connection.
    func isApart(by attached: Attached) -> Bool {
        switch attached {
        case .clientCertificate(let files):
            if case .secure(_, let security, _) = self {
                security.clientCertificate == files
            } else {
                false
            }
        case .parentIdentity(let proxy): connectedParent?.proxy == proxy
        // Every message says it by itself.
        case .token, .secret, .cookies: true
        // Nothing of it is sent.
        case .privateResponses, .followedRedirect: true
        }
    }
}

/// A parent proxy and how it is reached.
struct ParentHop: Hashable, Sendable {
    let proxy: ParentProxy
    /// How TLS with the proxy is made; nil when it is reached in clear.
    let security: OriginSecurity?
}
