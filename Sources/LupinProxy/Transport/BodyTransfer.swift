// What the two sides of an exchange must offer so that a body can go from one to the other.
import LupinCore
import LupinIO

/// Where a body comes from.
///
/// All calls are attempts that never wait.
protocol BodySource: AnyObject {
    /// Makes payload available, reading more only when none is.
    func pull() throws(LupinError) -> BodyProgress
    /// Whether `pull` may find more than it found last, when it was blocked.
    var hasNews: Bool { get }
    /// Offers the payload that is there; what the sink takes is consumed, and kept in `replay`.
    /// - Throws: What the sink threw.
    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer
    /// The trailers of a body that has ended.
    var trailers: FieldSection { get }
    /// The length of the whole body where the head tells it.
    var knownLength: UInt64? { get }
    /// How many of the next bytes are payload as they lie in a socket, with none before them in a
    /// buffer: 0 where every byte must be looked at.
    var spliceable: UInt64 { get }
    /// Whether many bytes are waited for at a time, which holds only as long as they are spliced.
    var isGathering: Bool { get }
    /// Moves up to `count` of those bytes into `pipe`.
    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received
}

/// What `pull` found.
enum BodyProgress: Equatable, Sendable { case payload, blocked, end }

/// What became of payload that was offered.
struct Offer {
    var taken: Int
    /// The sink took everything; otherwise it is full.
    var isAllTaken: Bool
    /// That was the end of the body, and the sink knows it.
    var isEnd: Bool
}

/// Where a body goes.
///
/// All calls are attempts that never wait.
protocol BodySink: AnyObject {
    /// Takes as much of `payload` as the kernel does; with `isLast` the end of the body is written
    /// behind the last byte.
    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int
    /// The same for a range of bytes that a socket can take without a copy.
    func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError) -> Int
    /// Ends the body. True when everything has left; otherwise `flush` goes on.
    func finish(trailers: FieldSection) throws(LupinError) -> Bool
    /// Sends what waits. True when nothing does.
    func flush() throws(LupinError) -> Bool
    /// Whether payload may go to a socket as it is.
    var takesSplice: Bool { get }
    /// Sends what `pipe` holds. True when it is empty.
    func splice(from pipe: SplicePipe) throws(LupinError) -> Bool
}

extension BodySink {
    func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError) -> Int {
        try push(bytes.span.extracting(range), isLast: isLast)
    }

    // Most look at the payload, and so are never asked.
    var takesSplice: Bool { false }
    func splice(from pipe: SplicePipe) throws(LupinError) -> Bool { pipe.held == 0 }
}

extension BodySource {
    var hasNews: Bool { true }
    var isGathering: Bool { false }
    // Most have their payload in memory, and so are never asked.
    var spliceable: UInt64 { 0 }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        .blocked
    }
}
