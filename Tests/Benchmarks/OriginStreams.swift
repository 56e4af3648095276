// The origin's HTTP/2: every stream is answered with as many bytes as it asks for.
import LupinCore
import LupinIO
import LupinWire

/// One connection of a client that has agreed on `h2`.
final class OriginStreams {
    private let channel: Channel
    private let slot: ParkingSlot
    private let connection: HTTP2Connection
    private let pattern: [UInt8]
    private let head: ResponseHead
    /// Streams with payload that was not sent yet; they take turns.
    private var unsent: [Answer] = []

    private struct Answer {
        let stream: Int32
        var left: Int
        var isOver = false
    }

    /// What one stream sends before the next one's turn.
    private static let pieceBytes = 64 << 10
    /// Unsent bytes beyond which no stream adds to them.
    private static let backlogMax = 256 << 10

    /// Answers with bytes of `pattern`.
    init(on channel: Channel, in slot: ParkingSlot, pattern: [UInt8]) {
        self.channel = channel
        self.slot = slot
        self.pattern = pattern
        connection = HTTP2Connection(
            .server,
            HTTP2Parameters(limits: HTTP2Limits(), heads: HTTP1Limits())
        )
        var head = ResponseHead(status: 200)
        head.fields.add(name: "server", value: "lupin-bench")
        head.fields.add(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")
        head.fields.add(name: "content-type", value: "application/octet-stream")
        head.fields.add(name: "cache-control", value: "no-store")
        self.head = head
    }

    /// Serves until the peer is gone.
    func run() async throws(SystemError) {
        while try turn() {
            _ = await slot.park(for: .downstreamReadable | .downstreamWritable)
        }
    }

    // MARK: Private

    /// Reads once, answers once round; false when the connection is over.
    private func turn() throws(SystemError) -> Bool {
        let received = try channel.receive()
        let input = channel.input
        if input.isEmpty {
            if received == .end { return false }
        } else {
            do throws(HTTP2Failure) {
                try connection.receive(input.bytes, now: channel.loop.now)
            } catch {
                return false
            }
            input.discard(input.count)
            takeEvents()
        }
        let hasPushed = push()
        if connection.wantsWrite { channel.stage { connection.drain(into: &$0) } }
        let hasLeft = try channel.flush()
        if received == .bytes || (hasPushed && hasLeft && !unsent.isEmpty) {
            channel.loop.later { [slot] in slot.wake(.downstreamReadable) }
        }
        return true
    }

    private func takeEvents() {
        while let event = connection.nextEvent() {
            switch event {
            case .request(let stream, let request, _):
                let count = Self.wantedBytes(in: request.takeHead())
                connection.submit(
                    head,
                    ResponseOptions(framing: .length(UInt64(count))),
                    hasBody: count > 0,
                    on: stream
                )
                if count > 0 { unsent.append(Answer(stream: stream, left: count)) }
            case .refused(let stream, _): connection.reset(stream, .protocolError)
            case .data(let stream, let range): connection.consume(range.count, on: stream)
            case .closed(let stream, _, _):
                if !unsent.isEmpty { unsent.removeAll { $0.stream == stream } }
            case .malformed, .response, .end, .window, .settings, .goAway, .pong: break
            }
        }
    }

    /// The number behind the last slash of the path.
    private static func wantedBytes(in head: RequestHead) -> Int {
        let path = head.fields.storage.span.extracting(head.pathAndQuery.range)
        let slash = path.indices.last { path[$0] == UInt8(ascii: "/") }
        guard let slash else { return 0 }
        return HeadScan.number(path.extracting((slash + 1)..<path.count)) ?? 0
    }

    /// Lets every stream send a piece; whether any of them could.
    private func push() -> Bool {
        var hasPushed = false
        let pattern = pattern
        for i in unsent.indices where channel.unsentCount < Self.backlogMax {
            let answer = unsent[i]
            let piece = min(answer.left, Self.pieceBytes)
            channel.stage { output in
                let result = connection.push(
                    pattern.span.extracting(0..<piece),
                    isLast: piece == answer.left,
                    on: answer.stream,
                    into: &output
                )
                unsent[i].left -= result.taken
                unsent[i].isOver = result.isOver
                if result.taken > 0 { hasPushed = true }
            }
        }
        unsent.removeAll { $0.isOver }
        return hasPushed
    }
}
