// Whether HEADERS on a stream open it, belong to it, or come on a number that was passed over.

/// The streams of a client, by their numbers.
///
/// The first use of a number closes all lower ones that were not used (RFC 9113 §5.1.1), so HEADERS
/// on one of those are an error of the connection; on one that was used they may be trailers that
/// cross a reset.
struct OpenedStreams {
    /// The highest number so far.
    private var last: Int32 = 0
    /// Numbers that were passed over, from below.
    private var skipped: [ClosedRange<Int32>] = []

    /// Gaps that are remembered; beyond, the oldest is forgotten, and what comes in it is ignored.
    ///
    /// Clients count up by two: a gap is a rare thing.
    private static let gapsMax = 64

    /// Notes HEADERS on a stream; false where its number was passed over.
    ///
    /// What no client may use at all, such as an even number, is not judged here.
    mutating func admit(_ stream: Int32) -> Bool {
        guard stream > last else { return !skipped.contains { $0.contains(stream) } }
        if stream - last > 2 {
            if skipped.count == Self.gapsMax { skipped.removeFirst() }
            skipped.append((last + 1)...(stream - 1))
        }
        last = stream
        return true
    }
}
