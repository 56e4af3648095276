// A client that sends exactly what a test says and reads what comes, strictly.
import Glibc
package import LupinIO
import Synchronization

/// One connection to the proxy.
package final class ScriptedClient: Sendable {
    package let stream: MessageStream
    /// The TLS that `stream` is inside of.
    package let security: SecureSocket?
    /// The client inside the TLS that was made over this one; it is closed with it.
    private let inside = Mutex<ScriptedClient?>(nil)

    package init(to address: SocketAddress, receiveBuffer: Int32? = nil) throws {
        let socket = try PlainSocket.connect(to: address, receiveBuffer: receiveBuffer)
        socket.sendsAtOnce()
        stream = MessageStream(socket)
        security = nil
    }

    /// Speaks over a connection that is there already.
    package init(over socket: PlainSocket) {
        stream = MessageStream(socket)
        security = nil
    }

    private init(in security: SecureSocket) {
        stream = MessageStream(security.plain)
        self.security = security
    }

    // MARK: Sending

    package func send(_ text: String) throws { try stream.socket.send(text) }
    package func send(_ bytes: [UInt8]) throws { try stream.socket.send(bytes) }
    /// Sends one byte after the other, each in a packet of its own.
    package func sendBytewise(_ text: String) throws { try stream.socket.sendBytewise(text) }

    /// Sends a request; Host is that of `url`, Content-Length that of `body` when there is one.
    package func send(
        _ method: String,
        _ url: String,
        _ fields: [String] = [],
        body: String? = nil
    ) throws {
        let host = url.split(separator: "/", maxSplits: 2).dropFirst().first ?? "missing"
        var lines = ["\(method) \(url) HTTP/1.1", "Host: \(host)"] + fields
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    /// Sends a GET and reads its response.
    @discardableResult
    package func get(_ url: String, _ fields: String...) throws -> ScriptedMessage {
        try send("GET", url, fields)
        return try response()
    }

    // MARK: Receiving

    /// The final response to `method`, with the interim responses before it.
    @discardableResult
    package func response(to method: String = "GET") throws -> ScriptedMessage {
        try stream.response(to: method)
    }

    /// The next message, which must be an interim response.
    package func interimResponse() throws -> ScriptedMessage { try stream.interimResponse() }

    /// Opens a tunnel to `authority`.
    package func connect(_ authority: String) throws -> ScriptedMessage {
        try send("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
        return try response(to: "CONNECT")
    }

    /// Makes TLS on the connection, on which only the new client may go on.
    package func secure(_ client: SecureSocket.Client) throws -> ScriptedClient {
        guard stream.unread.isEmpty else { throw SocketFailure("the proxy speaks before TLS") }
        let made = ScriptedClient(in: try SecureSocket(over: stream.socket, as: client))
        inside.withLock { $0 = made }
        return made
    }

    /// Makes TLS inside a CONNECT to `authority`, asking for the host that it names.
    package func connectSecurely(
        _ authority: String,
        _ client: SecureSocket.Client? = nil
    ) throws -> ScriptedClient {
        let response = try connect(authority)
        guard response.status == 200 else {
            throw SocketFailure("CONNECT got \(response.status): \(response.bodyText)")
        }
        let host = authority.split(separator: ":").first.map { String($0) }
        return try secure(client ?? SecureSocket.Client(host))
    }

    /// How the proxy ends the connection, of which nothing more may come.
    package func waitForEnd() throws -> PlainSocket.End {
        let (bytes, end) = try stream.untilEnd()
        guard bytes.isEmpty else {
            throw SocketFailure(
                "bytes came behind the last message: "
                    + String(decoding: bytes.prefix(400), as: UTF8.self).debugDescription
            )
        }
        return end
    }

    // MARK: The end

    /// Sends FIN; receiving goes on.
    package func shutdownWrite() { stream.socket.shutdownWrite() }
    package func close() {
        stream.socket.close()
        inside.withLock { $0 }?.close()
    }
    /// Closes with RST.
    package func reset() { stream.socket.reset() }
}

/// Waits until `condition` holds, for the patience of a test at most.
package func eventually(
    _ what: String,
    within countdown: Duration = PlainSocket.timeout,
    _ condition: () -> Bool
) throws {
    let countdown = Countdown(countdown)
    while !condition() {
        guard countdown.milliseconds > 0 else { throw SocketFailure("in vain waited for \(what)") }
        usleep(500)
    }
}

extension PlainSocket {
    /// Has every send leave as a packet of its own (TCP_NODELAY).
    func sendsAtOnce() {
        var on: Int32 = 1
        // Safety: setsockopt reads the integer it is given.
        unsafe setsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &on,
            socklen_t(MemoryLayout<Int32>.size)
        )
    }

    func sendBytewise(_ text: String) throws {
        for byte in text.utf8 {
            try send([byte])
            sched_yield()
        }
    }
}
