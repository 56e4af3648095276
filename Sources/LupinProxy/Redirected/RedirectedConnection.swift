// A connection whose client knows of no proxy: it begins as if the client had sent a CONNECT.
import LupinIO

/// The CONNECT that the client would have sent to a proxy.
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

    /// Whether the client can read the response: on port 80 it speaks HTTP.
    func showsResponse(_ status: UInt16) -> Bool { port == 80 && status / 100 != 2 }

    /// The TLS alert that refuses the client; nil unless the port is that of https.
    var alert: [UInt8]? {
        port == 443 ? TunnelRefusal.record(of: TunnelRefusal.accessDenied) : nil
    }
}

extension DownstreamConnection {
    /// Prepares the first request of a redirected connection.
    /// - Returns: false for a connection that was made to the listener itself.
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
