// What streams send on an HTTP/2 connection: heads, payload, resets, and window updates.
import LupinCore
import LupinIO
package import LupinWire

extension HTTP2Link {
    /// Sends payload of a stream, as much as the peer and the socket take.
    func push(
        _ payload: Span<UInt8>,
        isLast: Bool,
        trailers: FieldSection?,
        on stream: HTTP2Stream
    ) -> (taken: Int, isOver: Bool) {
        guard !hasEnded else { return (0, false) }
        if channel.unsentCount >= Self.backlogMax {
            _ = try? channel.flush()
            if channel.unsentCount >= Self.backlogMax {
                stream.isBlocked = true
                if !stream.isInBlocked { blocked.append(stream) }
                stream.isInBlocked = true
                return (0, false)
            }
        }
        return send(payload.count, isLast: isLast, on: stream) { output in
            connection.push(
                payload,
                isLast: isLast,
                trailers: trailers,
                on: stream.id,
                into: &output
            )
        }
    }

    /// Stages the bytes that `write` makes of at most `count` payload bytes.
    private func send(
        _ count: Int,
        isLast: Bool,
        on stream: HTTP2Stream,
        _ write: (inout [UInt8]) -> (taken: Int, isOver: Bool)
    ) -> (taken: Int, isOver: Bool) {
        var result = (taken: 0, isOver: false)
        stage(for: stream) { result = write(&$0) }
        if result.taken < count || (isLast && !result.isOver) {
            stream.isBlocked = true
            if !stream.isInWaiting { waiting.append(stream) }
            stream.isInWaiting = true
        }
        return result
    }

    /// Lets the peer send `count` more bytes; widens the window when the stream's reader keeps up.
    func consume(_ count: Int, of stream: HTTP2Stream) {
        guard !hasEnded else { return }
        connection.consume(count, on: stream.id)
        if let growth, let wider = stream.widen(by: growth, after: count) {
            connection.widen(stream.id, to: wider)
        }
        wantFlush()
    }

    func reset(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {
        guard !hasEnded, streams.find(stream.id) != nil else { return }
        // nghttp2 drops the pending frames of a stream that is reset, perhaps a whole response.
        stageFrames()
        connection.reset(stream.id, code)
        wantFlush()
    }

    /// Opens a stream for a request of ours; returns nil when the connection takes none.
    func open(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        protocolName: String?
    ) -> HTTP2Stream? {
        guard !hasEnded else { return nil }
        stageFrames()
        return opened(connection.submit(head, options, protocolName: protocolName))
    }

    private func opened(_ id: Int32?) -> HTTP2Stream? {
        guard let id else { return nil }
        let stream = open(id, HTTP2Event.MessageFacts())
        stage(for: stream) { connection.drain(into: &$0) }
        return stream
    }

    /// Sends a head on a stream of the peer's; a later reset can't overtake it.
    package func answer(on stream: HTTP2Stream, _ submit: (HTTP2Connection) -> Void) {
        guard !hasEnded else { return }
        stageFrames()
        submit(connection)
        stage(for: stream) { connection.drain(into: &$0) }
    }

    /// Stages the bytes that `write` makes for a stream at once, so that they are counted for it.
    private func stage(for stream: HTTP2Stream, _ write: (inout [UInt8]) -> Void) {
        channel.stage { output in
            let before = output.count
            write(&output)
            stream.bytesSent &+= UInt64(output.count - before)
        }
        wantFlush()
    }
}
