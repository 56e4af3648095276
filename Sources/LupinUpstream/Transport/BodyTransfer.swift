// The protocols of the two sides of an exchange between which a body moves.
package import LupinCore
package import LupinIO

/// Where a body comes from.
///
/// No call ever waits.
package protocol BodySource: AnyObject {
    /// Makes payload available, reading more only when none is.
    func pull() throws(LupinError) -> BodyProgress
    /// Makes more than `count` bytes of payload available, which none of were taken.
    func pull(beyond count: Int) throws(LupinError) -> BodyProgress
    /// Whether `pull` may find more than last time, when it was blocked.
    var hasNews: Bool { get }
    /// Offers the available payload; consumes what the sink takes, and keeps it in `replay`.
    /// - Throws: What the sink threw.
    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer
    /// The trailers of a body that has ended.
    var trailers: FieldSection { get }
    /// The length of the whole body when the head gives it.
    var knownLength: UInt64? { get }
    /// How many of the next bytes are payload that still lies in the socket, with none before them
    /// in a buffer; 0 when every byte must be inspected.
    var spliceable: UInt64 { get }
    /// Whether the channel waits for many bytes at a time, which holds only while they are spliced.
    var isGathering: Bool { get }
    /// Moves up to `count` spliceable bytes into `pipe`.
    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received
}

/// The result of `pull`.
package enum BodyProgress: Equatable, Sendable { case payload, blocked, end }

/// The result of an offer of payload.
package struct Offer {
    package var taken: Int
    /// The sink took everything; when false, it is full.
    package var isAllTaken: Bool
    /// The body has ended, and the sink knows it.
    package var isEnd: Bool

    package init(taken: Int, isAllTaken: Bool, isEnd: Bool) {
        self.taken = taken
        self.isAllTaken = isAllTaken
        self.isEnd = isEnd
    }
}

/// Where a body goes.
///
/// No call ever waits.
package protocol BodySink: AnyObject {
    /// Takes as much of `payload` as the kernel takes; with `isLast` it ends the body behind the
    /// last byte.
    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int
    /// Does the same for a range of bytes that a socket can take without a copy.
    func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError) -> Int
    /// Ends the body. Returns true when everything has been sent; otherwise call `flush` later.
    func finish(trailers: FieldSection) throws(LupinError) -> Bool
    /// Sends pending bytes. Returns true when none are left.
    func flush() throws(LupinError) -> Bool
    /// Whether payload may be spliced to a socket unchanged.
    var takesSplice: Bool { get }
    /// Sends what `pipe` holds. Returns true when it is empty.
    func splice(from pipe: SplicePipe) throws(LupinError) -> Bool
}

extension BodySink {
    /// Pushes `output` from `start` on, and keeps in `replay` what was taken.
    package func push(
        _ output: [UInt8],
        from start: Int,
        isLast: Bool,
        keeping replay: BodyReplay?
    ) throws(LupinError) -> Int {
        let rest = output.span.extracting(start..<output.count)
        let taken = try push(rest, isLast: isLast)
        replay?.append(rest.extracting(0..<taken))
        return taken
    }

    package func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError)
        -> Int
    {
        try push(bytes.span.extracting(range), isLast: isLast)
    }

    // Most sinks inspect the payload, so these are never called.
    package var takesSplice: Bool { false }
    package func splice(from pipe: SplicePipe) throws(LupinError) -> Bool { pipe.held == 0 }
}

extension BodySource {
    // Only what a client sends through a tunnel is looked at before it is taken.
    package func pull(beyond count: Int) throws(LupinError) -> BodyProgress { .blocked }
    package var hasNews: Bool { true }
    package var isGathering: Bool { false }
    // Most sources have their payload in memory, so these are never called.
    package var spliceable: UInt64 { 0 }

    package func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received
    {
        .blocked
    }
}
