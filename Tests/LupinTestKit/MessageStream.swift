// HTTP/1.1 as a test reads it from its socket: strictly, keeping every byte that came.
import Glibc
import LupinIO
import Synchronization

/// Reads messages from a socket and forgives nothing: what is ambiguous is a failure.
///
/// One thread reads at a time; any thread may look at `received` meanwhile.
package final class MessageStream: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var end: PlainSocket.End?
    }

    package let socket: PlainSocket
    private let state = Mutex(State())
    /// How many of the bytes have been read as messages.
    private let position = Atomic<Int>(0)
    /// How long the first byte of a message may take.
    private let idleTimeout: Duration

    /// Reads from `socket`; who serves others lets them be idle for longer than a test takes.
    package init(_ socket: PlainSocket, idleTimeout: Duration = PlainSocket.timeout) {
        self.socket = socket
        self.idleTimeout = idleTimeout
    }

    /// Every byte that has been taken from the socket.
    package var received: [UInt8] { state.withLock { $0.bytes } }
    package var receivedCount: Int { state.withLock { $0.bytes.count } }
    package var receivedText: String { String(decoding: received, as: UTF8.self) }
    /// The bytes behind the last message that was read.
    package var unread: [UInt8] { Array(received[position.load(ordering: .relaxed)...]) }
    private var hasUnread: Bool {
        state.withLock { $0.bytes.count > position.load(ordering: .relaxed) }
    }
    /// How the peer ended the connection, as far as it was seen.
    package var end: PlainSocket.End? { state.withLock { $0.end } }

    // MARK: Bytes

    /// Exactly `count` bytes.
    package func bytes(_ count: Int) throws -> [UInt8] {
        let countdown = Countdown()
        let start = position.load(ordering: .relaxed)
        while true {
            let taken: [UInt8]? = state.withLock {
                $0.bytes.count - start >= count ? Array($0.bytes[start..<start + count]) : nil
            }
            if let taken {
                position.store(start + count, ordering: .relaxed)
                return taken
            }
            try more(by: countdown, wanting: "\(count) bytes")
        }
    }

    /// `count` bytes as text.
    package func text(_ count: Int) throws -> String {
        String(decoding: try bytes(count), as: UTF8.self)
    }

    /// A line without its CRLF.
    package func line() throws -> String {
        let countdown = Countdown()
        let start = position.load(ordering: .relaxed)
        var searched = start
        while true {
            let found: [UInt8]? = state.withLock {
                guard let end = $0.bytes[searched...].firstIndex(of: 0x0A) else {
                    searched = $0.bytes.count
                    return nil
                }
                return Array($0.bytes[start...end])
            }
            if let found {
                position.store(start + found.count, ordering: .relaxed)
                guard found.count > 1, found[found.count - 2] == 0x0D else {
                    throw SocketFailure("a line ends without CR: \(quote(found))")
                }
                return String(decoding: found.dropLast(2), as: UTF8.self)
            }
            try more(by: countdown, wanting: "a line")
        }
    }

    /// Everything up to the end of the connection, and how it ended.
    @discardableResult
    package func untilEnd() throws -> (bytes: [UInt8], end: PlainSocket.End) {
        let countdown = Countdown()
        while true {
            if let end = try fill(by: countdown, wanting: "the end of the connection") {
                defer { position.store(received.count, ordering: .relaxed) }
                return (unread, end)
            }
        }
    }

    /// Waits for at least one byte behind what was read; nil when the connection ended instead.
    package func some() throws -> [UInt8]? {
        let countdown = Countdown()
        while !hasUnread {
            if try fill(by: countdown, wanting: "a byte") != nil { return nil }
        }
        defer { position.store(received.count, ordering: .relaxed) }
        return unread
    }

    // MARK: Messages

    /// A start line with its fields; nil when the connection ended before it.
    package func head() throws -> ScriptedMessage? {
        let countdown = Countdown(idleTimeout)
        while !hasUnread {
            if try fill(by: countdown, wanting: "a message") != nil { return nil }
        }
        var message = ScriptedMessage(startLine: try line())
        while case let line = try line(), !line.isEmpty {
            message.fields.append(try field(line))
        }
        try checkFraming(message)
        return message
    }

    /// A whole request; nil when the connection ended before it.
    package func request() throws -> ScriptedMessage? {
        guard var message = try head() else { return nil }
        guard message.values("host").count == 1 else {
            throw SocketFailure("a request without exactly one Host: \(message.fields)")
        }
        try body(of: &message)
        return message
    }

    /// The body of a request whose head was read; none without framing fields.
    package func body(of message: inout ScriptedMessage) throws {
        if message["transfer-encoding"] != nil {
            try chunks(of: &message)
        } else if let length = message["content-length"].flatMap({ Int($0) }) {
            message.body = try bytes(length)
        }
    }

    /// The next message, which must be an interim response.
    package func interimResponse() throws -> ScriptedMessage {
        guard let message = try head() else { throw SocketFailure("no response at all") }
        guard (100..<200).contains(message.status) else {
            throw SocketFailure("not an interim response: \(message.startLine)")
        }
        return message
    }

    /// The final response to `method`, with the interim responses before it.
    package func response(to method: String = "GET") throws -> ScriptedMessage {
        var interim: [ScriptedMessage] = []
        while true {
            guard var message = try head() else {
                throw SocketFailure("the connection ended before a response")
            }
            let status = message.status
            guard message.startLine.hasPrefix("HTTP/1.1 "), (100..<600).contains(status) else {
                throw SocketFailure("not a response: \(message.startLine)")
            }
            if status < 200, status != 101 {
                interim.append(message)
                continue
            }
            message.interim = interim
            let isTunnel = method == "CONNECT" && status / 100 == 2
            let isBodiless = [101, 204, 304].contains(status) || method == "HEAD" || isTunnel
            if isBodiless { return message }
            if message["transfer-encoding"] != nil || message["content-length"] != nil {
                try body(of: &message)
            } else {
                let (rest, end) = try untilEnd()
                guard end == .finished else {
                    throw SocketFailure("the body was cut by RST: \(quote(rest))")
                }
                message.body = rest
            }
            return message
        }
    }

    private func chunks(of message: inout ScriptedMessage) throws {
        message.isChunked = true
        while true {
            let line = try line()
            guard let size = Int(line, radix: 16), !line.hasPrefix("+"), !line.hasPrefix("-") else {
                throw SocketFailure("not a chunk size: \(line.debugDescription)")
            }
            if size == 0 { break }
            message.chunkSizes.append(size)
            message.body += try bytes(size)
            let end = try text(2)
            guard end == "\r\n" else {
                throw SocketFailure("a chunk ends with \(end.debugDescription)")
            }
        }
        while case let line = try line(), !line.isEmpty {
            message.trailers.append(try field(line))
        }
    }

    private func field(_ line: String) throws -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
            throw SocketFailure("not a field line: \(line.debugDescription)")
        }
        let name = String(line[..<colon])
        let isToken = name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isToken, line[colon...].hasPrefix(": ") else {
            throw SocketFailure("not a field line: \(line.debugDescription)")
        }
        return (name, String(line[colon...].dropFirst(2)))
    }

    private func checkFraming(_ message: ScriptedMessage) throws {
        let lengths = message.values("content-length")
        let codings = message.values("transfer-encoding")
        let isPlain =
            lengths.count + codings.count <= 1 && codings.allSatisfy { $0 == "chunked" }
            && lengths.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard isPlain else { throw SocketFailure("ambiguous framing: \(message.fields)") }
    }

    // MARK: Receiving

    private func more(by countdown: Countdown, wanting: String) throws {
        guard let end = try fill(by: countdown, wanting: wanting) else { return }
        throw SocketFailure(
            "the connection ended (\(end)) before \(wanting); unread: \(quote(unread))"
        )
    }

    /// Receives once; what the connection ended with if it did.
    private func fill(by countdown: Countdown, wanting: String) throws -> PlainSocket.End? {
        if let end { return end }
        var more: [UInt8] = []
        while true {
            let result = RawSocket.receive(socket.descriptor, into: &more)
            switch result {
            case 1...:
                state.withLock { $0.bytes += more }
                return nil
            case 0, -Int(ECONNRESET):
                let end = result == 0 ? PlainSocket.End.finished : .reset
                state.withLock { $0.end = end }
                return end
            case -Int(EAGAIN):
                guard RawSocket.wait(socket.descriptor, for: POLLIN, by: countdown) else {
                    throw SocketFailure("\(wanting) did not come in time; unread: \(quote(unread))")
                }
            default:
                let reason = SystemError(code: Int32(-result)).message
                throw SocketFailure("receiving \(wanting) failed: \(reason)")
            }
        }
    }

    private func quote(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes.suffix(400), as: UTF8.self).debugDescription
        return bytes.count > 400 ? "… \(text) (\(bytes.count) bytes)" : text
    }
}
