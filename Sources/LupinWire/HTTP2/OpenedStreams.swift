// Decides whether HEADERS open a stream, belong to an existing one, or use a skipped number.

/// The streams that a client opened, by number.
///
/// The first use of a number closes all lower unused ones (RFC 9113 §5.1.1), so HEADERS on one of
/// those are a connection error; on a used number they may be trailers that cross a reset.
struct OpenedStreams {
    /// The highest number so far.
    private var last: Int32 = 0
    /// Skipped numbers, in ascending order.
    private var skipped: [ClosedRange<Int32>] = []

    /// The most gaps that are stored; with more, the oldest is dropped and HEADERS in it are
    /// ignored.
    ///
    /// Clients count up by two, so gaps are rare.
    private static let gapsMax = 64

    /// Notes HEADERS on a stream; returns false if its number was skipped.
    ///
    /// It does not check numbers that clients must never use, such as even ones.
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
