// HTTP/2 as a test speaks it over its socket: it sends any bytes and reads what comes strictly.
import Glibc
import LupinIO
import Synchronization

/// One side of an HTTP/2 connection, without an opinion on what the test sends.
///
/// One thread reads at a time; any thread may send. Whoever waits for something leaves what else
/// comes in `unasked` for those that wait for it later, so that streams can be read in any order.
package final class FrameStream: Sendable {
    /// What is sent without being asked, whenever the test reads.
    package struct Manners: Sendable {
        package var acknowledgesSettings = true
        package var answersPings = true
        /// Whether every DATA gives its window back to the stream and to the connection.
        package var opensWindows = true

        package init() {}

        /// A peer that sends nothing by itself.
        package static let none: Manners = {
            var manners = Manners()
            manners.acknowledgesSettings = false
            manners.answersPings = false
            manners.opensWindows = false
            return manners
        }()
    }

    fileprivate struct State {
        var judge: FrameJudge
        var manners: Manners
        /// Whether a client's first octets are still to come.
        var awaitsPreface: Bool
        var unparsed: [UInt8] = []
        var unasked: [FrameEvent] = []
        var end: PlainSocket.End?
        var violation: HTTP2Violation?
        var nextStream: UInt32 = 1
        var pings = 0
    }

    package let socket: PlainSocket
    private let state: Mutex<State>
    /// Keeps the frames of several threads whole.
    private let sending = Mutex(())
    /// What the socket is inside of, if that must live as long.
    private let owner: (any Sendable)?

    package init(
        _ socket: PlainSocket,
        to peer: FrameJudge.Peer,
        manners: Manners = Manners(),
        owner: (any Sendable)? = nil
    ) {
        self.socket = socket
        self.owner = owner
        state = Mutex(
            State(
                judge: FrameJudge(of: peer),
                manners: manners,
                awaitsPreface: peer == .client
            )
        )
        socket.sendsAtOnce()
    }

    package var manners: Manners {
        get { state.withLock { $0.manners } }
        set { state.withLock { $0.manners = newValue } }
    }

    /// How the peer ended the connection, as far as it was seen.
    package var end: PlainSocket.End? { state.withLock { $0.end } }
    /// What came and nobody asked for, the oldest first.
    package var unasked: [FrameEvent] { state.withLock { $0.unasked } }
    /// How much DATA the peer takes now on a stream, or on the connection by stream 0.
    package func sendWindow(_ stream: UInt32) -> Int {
        state.withLock { $0.judge.window(of: stream) }
    }

    /// A client's next stream, from 1 in steps of two.
    package func nextStream() -> UInt32 {
        state.withLock { state in
            defer { state.nextStream += 2 }
            return state.nextStream
        }
    }

    /// Eight octets that no PING of this side has had.
    func nextMark() -> String {
        state.withLock { state in
            state.pings += 1
            return "ping" + "\(10_000 + state.pings)".suffix(4)
        }
    }

    // MARK: Sending

    /// Sends frames in one go.
    package func send(_ frames: HTTP2Frame...) throws { try send(frames) }

    package func send(_ frames: [HTTP2Frame]) throws {
        try sending.withLock { _ in
            state.withLock { state in
                for frame in frames { state.judge.note(frame) }
            }
            try socket.send(frames.flatMap(\.bytes))
        }
    }

    /// Sends a client's preface with frames behind it, in one go.
    package func begin(_ frames: HTTP2Frame...) throws {
        try sending.withLock { _ in
            state.withLock { state in
                for frame in frames { state.judge.note(frame) }
            }
            try socket.send(HTTP2Frame.preface + frames.flatMap(\.bytes))
        }
    }

    /// Sends bytes that are no frames, or of which nothing is to be noted.
    package func send(bytes: [UInt8]) throws {
        try sending.withLock { _ in try socket.send(bytes) }
    }

    /// Sends frames, in pieces of one byte.
    package func sendBytewise(_ frames: HTTP2Frame...) throws {
        for byte in frames.flatMap(\.bytes) {
            try send(bytes: [byte])
            sched_yield()
        }
        state.withLock { state in
            for frame in frames { state.judge.note(frame) }
        }
    }

    /// Sends what a peer may have closed the connection for already.
    package func sendAnyway(_ frames: HTTP2Frame...) {
        _ = try? send(frames)
    }

    /// Sends a body as the peer's windows allow, reading whenever they are used up.
    package func sendData(_ stream: UInt32, _ bytes: [UInt8], end: Bool = true) throws {
        var rest = bytes[...]
        repeat {
            let room = state.withLock { state in
                min(
                    state.judge.window(of: 0),
                    state.judge.window(of: stream),
                    state.judge.peerFrameSizeMax
                )
            }
            if room <= 0, !rest.isEmpty {
                try more(by: Countdown(), wanting: "a window for stream \(stream)")
                continue
            }
            let piece = Array(rest.prefix(max(0, room)))
            rest = rest.dropFirst(piece.count)
            try send(.data(stream, piece, end: end && rest.isEmpty))
        } while !rest.isEmpty
    }

    // MARK: Receiving

    /// The oldest event that `pick` takes, which must come.
    package func first<Value: Sendable>(
        _ what: String,
        by countdown: Duration = PlainSocket.timeout,
        _ pick: (FrameEvent) throws -> Value?
    ) throws -> Value {
        let countdown = Countdown(countdown)
        var looked = 0
        while true {
            let picked: Value? = try state.withLock { state in
                for i in state.unasked.indices.dropFirst(looked) {
                    guard let value = try pick(state.unasked[i]) else { continue }
                    state.unasked.remove(at: i)
                    return value
                }
                looked = state.unasked.count
                return nil
            }
            if let picked { return picked }
            try more(by: countdown, wanting: what)
        }
    }

    /// The next event, whatever it is.
    package func next() throws -> FrameEvent { try first("a frame") { $0 } }

    /// The next part of a message on `stream`.
    package func part(of stream: UInt32) throws -> FrameEvent {
        try first("more on stream \(stream)") { event in
            if case .goAway(let last, let code, let debug) = event, last < stream {
                throw SocketFailure("GOAWAY before stream \(stream): \(code) \(debug)")
            }
            return event.stream == stream && event.isOfMessage ? event : nil
        }
    }

    /// Exactly `count` octets of the DATA on `stream`, which goes on behind them.
    package func bytes(of stream: UInt32, exactly count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try part(of: stream)
            guard case .data(_, let piece, let ends) = part else {
                throw SocketFailure("\(part), where \(count - bytes.count) octets were due")
            }
            let wanted = piece.prefix(count - bytes.count)
            bytes += wanted
            let rest = Array(piece.dropFirst(wanted.count))
            guard ends || !rest.isEmpty else { continue }
            state.withLock {
                $0.unasked.insert(.data(stream: stream, rest, endsStream: ends), at: 0)
            }
            guard bytes.count == count else {
                throw SocketFailure("stream \(stream) ended with \(bytes.count) octets")
            }
        }
        return bytes
    }

    /// How the peer ends the connection, whatever comes before it.
    package func waitForEnd() throws -> PlainSocket.End {
        let countdown = Countdown()
        while true {
            if let end { return end }
            try receive(by: countdown, wanting: "the end of the connection")
            if let violation = state.withLock({ $0.violation }) { throw violation }
        }
    }

    /// Reads once; a connection that ends is a failure.
    private func more(by countdown: Countdown, wanting what: String) throws {
        if end == nil { try receive(by: countdown, wanting: what) }
        let (violation, end) = state.withLock { ($0.violation, $0.end) }
        if let violation { throw violation }
        guard let end else { return }
        throw SocketFailure("the connection ended (\(end)) before \(what); came: \(unasked)")
    }

    private func receive(by countdown: Countdown, wanting what: String) throws {
        var bytes: [UInt8] = []
        while true {
            let result = RawSocket.receive(socket.descriptor, into: &bytes)
            switch result {
            case 1...:
                answer(state.withLock { $0.take(bytes) })
                return
            case 0, -Int(ECONNRESET):
                state.withLock { $0.end = result == 0 ? .finished : .reset }
                return
            case -Int(EAGAIN):
                guard RawSocket.wait(socket.descriptor, for: POLLIN, by: countdown) else {
                    throw SocketFailure("\(what) did not come in time; came: \(unasked)")
                }
            default:
                let reason = SystemError(code: Int32(-result)).message
                throw SocketFailure("receiving \(what) failed: \(reason)")
            }
        }
    }

    /// Sends what manners demand; a peer that is gone needs nothing more.
    private func answer(_ frames: [HTTP2Frame]) {
        if !frames.isEmpty { _ = try? send(frames) }
    }

    // MARK: The end

    /// Sends FIN; receiving goes on.
    package func shutdownWrite() { socket.shutdownWrite() }
    package func close() { socket.close() }
    /// Closes with RST.
    package func reset() { socket.reset() }
}

extension FrameStream.State {
    /// Reads the frames that are whole, and gives what is to be answered.
    fileprivate mutating func take(_ bytes: [UInt8]) -> [HTTP2Frame] {
        unparsed += bytes
        if awaitsPreface, !takePreface() { return [] }
        var answers: [HTTP2Frame] = []
        var start = 0
        while violation == nil, let frame = HTTP2Frame(unparsed[start...]) {
            start += HTTP2Frame.headerCount + frame.payload.count
            do throws(HTTP2Violation) {
                guard let event = try judge.take(frame) else { continue }
                unasked.append(event)
                answers += manners.answers(to: event, frame)
            } catch {
                violation = error
            }
        }
        unparsed.removeFirst(start)
        return answers
    }

    /// Whether the preface is there and whole.
    private mutating func takePreface() -> Bool {
        let known = unparsed.prefix(HTTP2Frame.preface.count)
        guard HTTP2Frame.preface.starts(with: known) else {
            let text = String(decoding: known, as: UTF8.self).debugDescription
            violation = HTTP2Violation("no preface: \(text)")
            return false
        }
        guard known.count == HTTP2Frame.preface.count else { return false }
        unparsed.removeFirst(known.count)
        awaitsPreface = false
        return true
    }
}

extension FrameStream.Manners {
    fileprivate func answers(to event: FrameEvent, _ frame: HTTP2Frame) -> [HTTP2Frame] {
        switch event {
        case .settings where acknowledgesSettings: return [.settingsAcknowledgement]
        case .ping(let bytes) where answersPings:
            return [HTTP2Frame(.ping, .acknowledges, payload: bytes)]
        case .data(let stream, _, let ends) where opensWindows && !frame.payload.isEmpty:
            let count = UInt32(frame.payload.count)
            let whole = HTTP2Frame.windowUpdate(0, count)
            return ends ? [whole] : [whole, .windowUpdate(stream, count)]
        default: return []
        }
    }
}
