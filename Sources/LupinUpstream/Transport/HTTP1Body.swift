// A body on an HTTP/1.1 connection, as a source and as a sink.
package import LupinCore
package import LupinIO
package import LupinWire

/// The beginnings of the messages in bytes of which only the directions are known.
///
/// They may be long and fast, so only what begins one is acknowledged at once. A new one begins
/// where the other direction has sent something.
package struct PromptBeginning {
    private var receivedMax: UInt64?
    private var sent: UInt64 = 0

    package static let bytesMax: UInt64 = 64 << 10

    package init() {}

    /// Whether what has come belongs to a beginning; the counts are those of the connection.
    package mutating func includes(received: UInt64, sent: UInt64) -> Bool {
        if let receivedMax, sent == self.sent { return received < receivedMax }
        self.sent = sent
        receivedMax = received &+ Self.bytesMax
        return true
    }
}

/// Reads the body of the message whose head was just read from `channel`.
package final class HTTP1BodyReader: BodySource {
    private let channel: Channel
    // The channel's, stored here: access through the channel costs a retain and a release.
    private let input: InputBuffer
    private let side: Side
    private let decoder: BodyDecoder
    /// Every byte belongs to the body, until the connection closes.
    private var takesAll = false
    /// Payload at the front of the channel's input.
    private var ready = 0
    /// What of a tunnel, or of a body without an end, is acknowledged before the kernel does so.
    private var prompt = PromptBeginning()

    package init(_ channel: Channel, side: Side, limits: HTTP1Limits) {
        self.channel = channel
        input = channel.input
        self.side = side
        decoder = BodyDecoder(.none, side: side.message, limits: limits)
    }

    /// Starts the body of the next message.
    package func begin(_ framing: BodyFraming) {
        decoder.begin(framing)
        takesAll = framing == .untilClose
        prompt = PromptBeginning()
        ready = 0
    }

    /// Whether every byte of the body has been read and passed on.
    package var isComplete: Bool { ready == 0 && decoder.isComplete }

    package func pull() throws(LupinError) -> BodyProgress {
        while true {
            if ready > 0 { return .payload }
            if decoder.isComplete { return .end }
            if !input.isEmpty {
                try decode()
                if ready > 0 || decoder.isComplete { continue }
            }
            switch try receive() {
            case .bytes: break
            case .blocked, .full: return blocked()
            case .end: try close()
            }
        }
    }

    package func pull(beyond count: Int) throws(LupinError) -> BodyProgress {
        while ready <= count {
            switch try receive() {
            case .bytes: try decode()
            case .blocked, .full: return blocked()
            case .end:
                try close()
                return .end
            }
        }
        return .payload
    }

    package var hasNews: Bool { channel.isReadableNow || !input.isEmpty }

    package func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError)
        -> Offer
    {
        let input = input
        let payload = input.bytes.extracting(0..<ready)
        let isLast = decoder.isComplete && decoder.trailers.isEmpty
        let taken = try sink.push(payload, isLast: isLast)
        if let replay { replay.append(payload.extracting(0..<taken)) }
        input.discard(taken)
        ready -= taken
        return Offer(taken: taken, isAllTaken: ready == 0, isEnd: ready == 0 && isLast)
    }

    package var trailers: FieldSection { decoder.trailers }
    var flaws: ResponseFlaws { decoder.flaws }
    package var knownLength: UInt64? { decoder.framing.knownLength }

    package var spliceable: UInt64 {
        input.isEmpty && !channel.isFiltered ? decoder.remaining ?? 0 : 0
    }

    package var isGathering: Bool { channel.isGathering }

    package func splice(
        into pipe: SplicePipe,
        _ count: Int
    ) throws(LupinError) -> Channel.Received {
        let before = pipe.held
        let received: Channel.Received
        do throws(SystemError) {
            received = try channel.splice(into: pipe, count)
        } catch {
            throw side.readFailure(error)
        }
        if pipe.held > before { decoder.spliced(UInt64(pipe.held - before)) }
        if received == .blocked { _ = blocked() }
        if received == .end { try close() }
        return received
    }

    /// The rest of the body may come only once the beginning is acknowledged.
    private func blocked() -> BodyProgress {
        if !takesAll || prompt.includes(received: channel.bytesReceived, sent: channel.bytesSent) {
            channel.acknowledge()
        }
        return .blocked
    }

    private func decode() throws(LupinError) {
        let input = input
        if takesAll {
            ready = input.count
            return
        }
        do throws(MessageProblem) {
            var bytes = input.mutableBytes
            let (consumed, produced) = try decoder.decode(&bytes)
            input.discard(consumed - produced, at: produced)
            ready = produced
        } catch {
            throw side.problem(error)
        }
    }

    private func receive() throws(LupinError) -> Channel.Received {
        do throws(SystemError) {
            return try channel.receive()
        } catch {
            throw side.readFailure(error)
        }
    }

    private func close() throws(LupinError) {
        do throws(MessageProblem) {
            try decoder.connectionClosed()
        } catch {
            throw side.problem(error)
        }
    }
}

/// Writes the body of the message whose head was just staged on `channel`.
package final class HTTP1BodyWriter: BodySink {
    private let channel: Channel
    private let side: Side
    private var isChunked = false
    /// The end of the body is the end of what we send on the connection.
    private var endsConnection = false
    private var isEnding = false
    /// Payload of the chunk under way that still has to be sent.
    private var chunkRest = 0

    package init(_ channel: Channel, side: Side) {
        self.channel = channel
        self.side = side
    }

    /// Gets ready for a body.
    ///
    /// Trailers of a chunked one go out even if the peer did not ask for them by TE: programs read
    /// those that a server sends unasked, and all others skip them (RFC 9112 §7.1.2).
    package func begin(_ framing: BodyFraming) {
        isChunked = framing == .chunked
        endsConnection = false
        isEnding = false
        chunkRest = 0
    }

    /// From now on bytes go out as they are, and their end closes our direction.
    package func beginTunnel() {
        begin(.untilClose)
        endsConnection = true
    }

    package func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        do throws(SystemError) {
            guard isChunked else {
                let taken = try channel.send(payload)
                if isLast, taken == payload.count { isEnding = endsConnection }
                return taken
            }
            var taken = 0
            while true {
                let rest = payload.extracting(taken..<payload.count)
                taken += try pushChunk(rest, isLast: isLast)
                // The chunk under way may be shorter than what is there by now: then the next one
                // begins at once, since no event will ask for it.
                if chunkRest > 0 || taken == payload.count { return taken }
            }
        } catch {
            throw side.writeFailure(error)
        }
    }

    package func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError)
        -> Int
    {
        if isChunked { return try push(bytes.span.extracting(range), isLast: isLast) }
        do throws(SystemError) {
            let taken = try channel.send(bytes, range)
            if isLast, taken == range.count { isEnding = endsConnection }
            return taken
        } catch {
            throw side.writeFailure(error)
        }
    }

    package func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        if isChunked {
            channel.stage { ChunkedEncoder.appendLastChunk(trailers: trailers, to: &$0) }
        }
        isEnding = endsConnection
        return try flush()
    }

    package func flush() throws(LupinError) -> Bool {
        do throws(SystemError) {
            guard try channel.flush() else { return false }
        } catch {
            throw side.writeFailure(error)
        }
        if isEnding {
            isEnding = false
            channel.finishSending()
        }
        return true
    }

    package var takesSplice: Bool { !isChunked && !channel.isFiltered }

    package func splice(from pipe: SplicePipe) throws(LupinError) -> Bool {
        do throws(SystemError) {
            return try channel.splice(from: pipe)
        } catch {
            throw side.writeFailure(error)
        }
    }

    /// A chunk is announced when its first byte is offered, and it stays that long: what the kernel
    /// does not take now continues the same chunk later.
    private func pushChunk(_ payload: Span<UInt8>, isLast: Bool) throws(SystemError) -> Int {
        if chunkRest == 0 {
            channel.stage { ChunkedEncoder.appendChunkHeader(size: payload.count, to: &$0) }
            chunkRest = payload.count
        }
        let endsChunk = payload.count >= chunkRest
        let piece = endsChunk ? payload.extracting(0..<chunkRest) : payload
        let endsBody = endsChunk && piece.count == payload.count && isLast
        let taken = try channel.send(
            piece,
            suffix: endsBody ? "\r\n0\r\n\r\n" : endsChunk ? "\r\n" : nil
        )
        chunkRest -= taken
        return taken
    }
}
