// The end of a response that comes before its request's, towards a client of HTTP/2.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

/// A sink that keeps back the end of a response until the client has sent its whole request.
///
/// Some clients, such as curl 7, read nothing more of a connection once they have `Content-Length`
/// bytes, and so never learn that the window for the rest of their upload was widened: they would
/// wait for ever. What is kept back is the last byte of a known length, the END_STREAM of another
/// one, and the head of a response without a body.
final class HeldEnd: BodySink {
    private let stream: HTTP2Stream
    /// How many bytes are still to come, where the head says so.
    private var left: UInt64?
    private var head: (() -> Void)?
    /// The trailers of a body that has ended.
    private var ending: FieldSection?

    init(on stream: HTTP2Stream, expecting length: UInt64?, head: (() -> Void)? = nil) {
        self.stream = stream
        left = length
        self.head = head
    }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        guard stream.awaitsRest else { return try stream.push(payload, isLast: isLast) }
        let room = left.map { $0 > 0 ? Int(clamping: $0 - 1) : 0 } ?? .max
        let count = min(payload.count, room)
        guard count > 0 else { return 0 }
        let taken = try stream.push(payload.extracting(0..<count), isLast: false)
        if let left { self.left = left - UInt64(taken) }
        // It counts as ended, which `flush` does in time.
        if isLast, taken == payload.count { ending = FieldSection() }
        return taken
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        ending = trailers
        return try flush()
    }

    func flush() throws(LupinError) -> Bool {
        guard let ending else { return try stream.flush() }
        guard !stream.awaitsRest else { return false }
        if let head = head.take() { head() }
        return try stream.finish(trailers: ending)
    }
}
