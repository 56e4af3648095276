// An origin (or a parent proxy) that does what a test's script says, one thread per connection.
import Glibc
package import LupinIO
import Synchronization

/// Listens on a port of the kernel's choice and runs its script for every connection.
///
/// A script that returns leaves its connection open: what else arrives is recorded until the peer
/// ends it. What a script throws is kept in `failures`.
package final class ScriptedOrigin: Sendable {
    package typealias Script = @Sendable (OriginConnection) throws -> Void

    private struct State {
        var connections: [OriginConnection] = []
        var threads: [HelperThread] = []
        var failures: [String] = []
        /// What scripts throw from now on is of no interest.
        var isEnding = false
        var isStopping = false
    }

    package let address: SocketAddress
    private let listener: PlainListener
    private let acceptor: HelperThread
    private let state = Mutex(State())
    private let security: SecureSocket.Server?
    private let script: Script

    /// Listens; with `security` the script runs inside TLS.
    package init(
        at host: SocketAddress = .loopback(port: 0),
        security: SecureSocket.Server? = nil,
        _ script: @escaping Script
    ) throws {
        listener = try PlainListener(at: host)
        address = listener.address
        self.security = security
        self.script = script
        acceptor = try HelperThread(name: "test-origin", capacity: 1)
        acceptor.submit { [self] in accept() }
    }

    /// `127.0.0.1:port`.
    package var authority: String { address.description }
    /// `host:port`, for a host that is resolved to here.
    package func authority(_ host: String) -> String { "\(host):\(address.port)" }
    /// `http://127.0.0.1:port/path`.
    package func url(_ path: String = "/") -> String { "http://\(authority)\(path)" }

    /// All connections so far, in the order of their arrival.
    package var connections: [OriginConnection] { state.withLock { $0.connections } }
    /// What the scripts threw.
    package var failures: [String] { state.withLock { $0.failures } }
    /// Every byte of all connections, one after the other.
    package var receivedText: String { connections.map(\.receivedText).joined() }

    /// The connection with this number (from 0), when it is there.
    package func connection(_ number: Int = 0) throws -> OriginConnection {
        try eventually("connection \(number) to the origin") { connections.count > number }
        return connections[number]
    }

    /// Ends every connection, so that nobody waits for the scripts any more.
    package func endConnections() {
        let connections = state.withLock { state in
            state.isEnding = true
            return state.connections
        }
        for connection in connections { connection.interrupt() }
    }

    /// Ends every connection and all threads, and gives the port back.
    package func stop() {
        let isFirst = state.withLock { state in
            defer { (state.isEnding, state.isStopping) = (true, true) }
            return !state.isStopping
        }
        guard isFirst else { return }
        // The acceptor is woken by one last connection.
        _ = try? PlainSocket.connect(to: address)
        acceptor.join()
        listener.close()
        let (connections, threads) = state.withLock { ($0.connections, $0.threads) }
        for connection in connections { connection.interrupt() }
        for thread in threads { thread.join() }
        for connection in connections { connection.close() }
    }

    private func accept() {
        while true {
            let accepted = try? listener.accept()
            if state.withLock({ $0.isStopping }) { return }
            guard let accepted else { continue }
            serve(accepted)
        }
    }

    private func serve(_ socket: PlainSocket) {
        guard let thread = try? HelperThread(name: "test-script", capacity: 1) else { return }
        state.withLock { $0.threads.append(thread) }
        let plain = security == nil ? add(socket, security: nil) : nil
        thread.submit { [self] in
            // Handshakes take their time, and others may connect meanwhile.
            guard let connection = plain ?? secure(socket) else { return }
            do {
                try script(connection)
                connection.recordRest()
            } catch {
                state.withLock { state in
                    if !state.isEnding { state.failures.append("\(error)") }
                }
                connection.close()
            }
        }
    }
}

extension ScriptedOrigin {
    /// A connection may be idle while its test is busy elsewhere; `endConnections` ends the wait.
    private static let idleTimeout = Duration.seconds(3600)

    private func add(_ socket: PlainSocket, security: SecureSocket?) -> OriginConnection {
        state.withLock { state in
            let number = state.connections.count
            let connection = OriginConnection(
                socket,
                number: number,
                security: security,
                idleTimeout: Self.idleTimeout
            )
            state.connections.append(connection)
            // Who comes so late would never be told to come back.
            if state.isStopping { connection.interrupt() }
            return connection
        }
    }

    /// Makes TLS on a new connection; nil when that comes to nothing, as some tests want.
    private func secure(_ socket: PlainSocket) -> OriginConnection? {
        guard let security, let made = try? SecureSocket(over: socket, as: security) else {
            return nil
        }
        return add(made.plain, security: made)
    }
}

/// One connection to a scripted origin.
package final class OriginConnection: Sendable {
    /// From 0, in the order of arrival.
    package let number: Int
    package let stream: MessageStream
    /// The TLS that `stream` is inside of.
    package let security: SecureSocket?
    private let isOpen = Atomic(true)

    init(
        _ socket: PlainSocket,
        number: Int,
        security: SecureSocket? = nil,
        idleTimeout: Duration = PlainSocket.timeout
    ) {
        stream = MessageStream(socket, idleTimeout: idleTimeout)
        self.security = security
        self.number = number
        socket.sendsAtOnce()
    }

    /// Makes TLS on the connection, on which only the new one may go on.
    package func secure(_ server: SecureSocket.Server) throws -> OriginConnection {
        let secured = try SecureSocket(over: stream.socket, as: server)
        return OriginConnection(secured.plain, number: number, security: secured)
    }

    /// The origin's `address:port`.
    package var localAuthority: String { stream.socket.address?.description ?? "" }

    /// Every byte that came.
    package var receivedText: String { stream.receivedText }

    /// The next request with its body; nil when the connection ended before one.
    package func nextRequest() throws -> ScriptedMessage? { try stream.request() }

    /// The next request with its body, which must come.
    @discardableResult
    package func request() throws -> ScriptedMessage {
        guard let request = try nextRequest() else {
            throw SocketFailure("connection \(number) ended before a request")
        }
        return request
    }

    /// The next request without its body.
    package func requestHead() throws -> ScriptedMessage {
        guard let head = try stream.head() else {
            throw SocketFailure("connection \(number) ended before a request")
        }
        return head
    }

    package func send(_ text: String) throws { try stream.socket.send(text) }
    package func send(_ bytes: [UInt8]) throws { try stream.socket.send(bytes) }
    /// Sends one byte after the other, each in a packet of its own.
    package func sendBytewise(_ text: String) throws { try stream.socket.sendBytewise(text) }

    /// Sends a response with Content-Length.
    package func reply(_ status: Int = 200, _ fields: String..., body: String = "") throws {
        let lines = fields.map { $0 + "\r\n" }.joined()
        try send(
            "HTTP/1.1 \(status) Scripted\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n"
                + body
        )
    }

    /// Sends FIN; receiving goes on.
    package func shutdownWrite() { stream.socket.shutdownWrite() }

    package func close() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        stream.socket.close()
    }

    /// Closes with RST.
    package func reset() {
        guard isOpen.exchange(false, ordering: .relaxed) else { return }
        stream.socket.reset()
    }

    /// Waits until the peer has ended the connection; nobody else may read.
    package func waitForEnd() throws -> PlainSocket.End { try stream.untilEnd().end }

    /// Records what still comes, as long as it takes.
    fileprivate func recordRest() {
        while isOpen.load(ordering: .relaxed), stream.end == nil {
            _ = try? stream.untilEnd()
        }
        close()
    }

    /// Has whoever reads or writes come back.
    fileprivate func interrupt() {
        if isOpen.load(ordering: .relaxed) { stream.socket.interrupt() }
    }
}
