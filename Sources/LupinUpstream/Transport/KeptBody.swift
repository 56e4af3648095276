// Bodies in memory, whole or their beginning, and bodies that are collected or discarded.
package import LupinCore
package import LupinIO

/// Bytes that have come already, followed by the rest of another source.
///
/// A replay has these bytes already: only the rest is added to it.
package final class PrefixedBody: BodySource {
    private let bytes: [UInt8]
    private let rest: any BodySource
    private var position = 0

    package init(_ bytes: [UInt8], then rest: any BodySource) {
        self.bytes = bytes
        self.rest = rest
    }

    package func pull() throws(LupinError) -> BodyProgress {
        position < bytes.count ? .payload : try rest.pull()
    }

    package func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError)
        -> Offer
    {
        guard position < bytes.count else {
            return try rest.offer(to: sink, keeping: replay)
        }
        let bytes = bytes
        let isLast = rest.knownLength == UInt64(bytes.count)
        let payload = bytes.span.extracting(position..<bytes.count)
        let taken = try sink.push(payload, isLast: isLast)
        replay?.append(bytes.span.extracting(position..<(position + taken)))
        position += taken
        let isAllTaken = position == bytes.count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    package var trailers: FieldSection { rest.trailers }
    package var knownLength: UInt64? { rest.knownLength }
    package var spliceable: UInt64 { position < bytes.count ? 0 : rest.spliceable }

    package func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received
    {
        try rest.splice(into: pipe, count)
    }
}

/// A body that is in memory as a whole.
package final class BytesBody: BodySource {
    package let trailers: FieldSection
    private let bytes: [UInt8]
    /// What breaks it off behind its bytes; nil for nothing.
    private let failure: LupinError?
    private var position = 0

    package init(
        _ bytes: [UInt8],
        trailers: FieldSection = FieldSection(),
        failure: LupinError? = nil
    ) {
        self.bytes = bytes
        self.trailers = trailers
        self.failure = failure
    }

    package func pull() throws(LupinError) -> BodyProgress {
        if position < bytes.count { return .payload }
        if let failure { throw failure }
        return .end
    }

    package func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError)
        -> Offer
    {
        let bytes = bytes
        // Trailers are sent by `finish`.
        let isLast = trailers.isEmpty && failure == nil
        let taken = try sink.push(bytes.span.extracting(position..<bytes.count), isLast: isLast)
        replay?.append(bytes.span.extracting(position..<(position + taken)))
        position += taken
        let isAllTaken = position == bytes.count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    /// All of it, while none was taken.
    package var unread: [UInt8]? { position == 0 && failure == nil ? bytes : nil }
    package var knownLength: UInt64? { failure == nil ? UInt64(bytes.count) : nil }
}

/// A sink that keeps bytes up to a limit, and takes no more.
package final class CollectedBody: BodySink {
    package private(set) var bytes: [UInt8] = []
    private let bytesMax: Int

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        let taken = min(payload.count, bytesMax - bytes.count)
        bytes.append(copying: payload.extracting(0..<taken))
        return taken
    }

    package func finish(trailers: FieldSection) throws(LupinError) -> Bool { true }
    package func flush() throws(LupinError) -> Bool { true }
}

/// A sink that counts bytes and discards them, so that the sender reaches the end.
package final class DiscardedBody: BodySink {
    private(set) var bytes = 0

    package init() {}

    package func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        bytes += payload.count
        return payload.count
    }

    package func finish(trailers: FieldSection) throws(LupinError) -> Bool { true }
    package func flush() throws(LupinError) -> Bool { true }
}
