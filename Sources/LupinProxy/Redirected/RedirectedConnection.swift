// A connection whose client knows of no proxy: it begins as if a CONNECT had come.
import LupinIO

/// The request that such a client would have sent.
struct UnspokenConnect {
    private let target: String
    private let port: UInt16
    /// The request has not been taken yet.
    private(set) var isAwaited = true

    init(to target: String, port: UInt16) {
        self.target = target
        self.port = port
    }

    /// The head of the request; nil the second time.
    mutating func takeHead() -> [UInt8]? {
        guard isAwaited else { return nil }
        isAwaited = false
        return Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n".utf8)
    }

    /// Whether the client can read the response: as that to its first request, if it speaks HTTP.
    func showsResponse(_ status: UInt16) -> Bool { port == 80 && status / 100 != 2 }

    /// What a client that speaks TLS is refused with; nil where it may speak anything.
    var alert: [UInt8]? {
        port == 443 ? TunnelRefusal.record(of: TunnelRefusal.accessDenied) : nil
    }
}

extension DownstreamConnection {
    /// Prepares the first request of a connection that was led here.
    /// - Returns: false for one that came by itself: nobody has business here.
    func beginRedirected() -> Bool {
        guard let original = clientEnds?.local, let redirected = resources.shared.redirected else {
            return false
        }
        isFresh = false
        http1.suppose(
            UnspokenConnect(to: redirected.target(of: original), port: original.port)
        )
        return true
    }
}
