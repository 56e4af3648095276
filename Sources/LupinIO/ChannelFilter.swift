// What lies between a channel's socket and its users: bytes that are ciphertext on the wire.

/// Turns what a socket carries into what a channel's users read and write, and back.
///
/// Without I/O of its own: bytes in, bytes out. A failure is thrown as ``FilterFailure`` and
/// explained by whoever made the filter.
package protocol ChannelFilter: AnyObject {
    /// Consumes ciphertext and puts plain bytes into `plain`, as many as there are and fit.
    ///
    /// What has to be answered at once (alerts, key updates) is appended to `answer`.
    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure)

    /// Appends `plain` to `cipher`, sealed.
    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure)

    /// Appends what says that nothing more comes.
    func sealEnd(into cipher: inout [UInt8])

    /// The peer has said that nothing more comes.
    var hasEnded: Bool { get }

    /// Plain bytes may be got without further ciphertext.
    var holdsPlain: Bool { get }

    /// The end of the connection is the end of what the peer says, even where `hasEnded` does not
    /// say so.
    var mayEndUnannounced: Bool { get }

    /// The filter has got a part of something of which it can't open the rest yet.
    var isWithinRecord: Bool { get }
}

extension ChannelFilter {
    package var mayEndUnannounced: Bool { false }
    package var isWithinRecord: Bool { false }
}

/// A filter gave up; what it met is its maker's to tell.
package struct FilterFailure: Error {
    package init() {}
}

/// A filter's place in a channel, with the ciphertext of both directions.
final class FilteredBytes {
    /// Unsent ciphertext beyond which nothing more is taken.
    static let backlogMax = 64 << 10
    /// What one record holds: more would be sealed in pieces anyway.
    static let recordBytes = 16 << 10
    /// Ciphertext that may come in one go without a byte for the users: handshakes have less, and
    /// a flood that never says anything would keep the loop.
    static let barrenMax = 128 << 10

    let filter: any ChannelFilter
    /// Ciphertext received and not yet opened.
    let received: InputBuffer
    /// Sealed bytes; the first `sent` of them have left.
    var sealed: [UInt8] = []
    var sent = 0
    /// The socket's sending side closes once everything sealed has left.
    var isEnding = false

    init(_ filter: any ChannelFilter, pool: BufferPool) {
        self.filter = filter
        received = InputBuffer(pool: pool)
    }

    var hasUnsent: Bool { sent < sealed.count }
    var unsentCount: Int { sealed.count - sent }
}

/// Two filters, one inside the other: TLS to a proxy and TLS through it.
final class NestedFilter: ChannelFilter {
    private let outer: any ChannelFilter
    private let inner: any ChannelFilter
    /// Opened by the outer filter, still sealed for the inner one.
    private let between: InputBuffer

    init(outer: any ChannelFilter, inner: any ChannelFilter, pool: BufferPool) {
        self.outer = outer
        self.inner = inner
        between = InputBuffer(pool: pool)
    }

    /// What the outer filter opened before there was an inner one.
    func take(_ opened: InputBuffer) { between.takeAll(of: opened) }

    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        if isCut { throw FilterFailure() }
        while true {
            let before = (cipher.count, between.count, plain.count)
            if !between.isFull { try outer.open(cipher, into: between, answer: &answer) }
            if !plain.isFull { try openInner(into: plain, answer: &answer) }
            if before == (cipher.count, between.count, plain.count) { break }
        }
    }

    /// What the inner filter answers leaves even if it gives up: that is its alert.
    private func openInner(
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure) {
        var once: [UInt8] = []
        var failure: FilterFailure?
        do throws(FilterFailure) {
            try inner.open(between, into: plain, answer: &once)
        } catch {
            failure = error
        }
        if !once.isEmpty { try outer.seal(once.span, into: &answer) }
        if let failure { throw failure }
    }

    /// The outer stream has ended and the inner one has not: whoever ends the outer one, a parent
    /// proxy say, could cut the inner one short.
    private var isCut: Bool {
        outer.hasEnded && between.isEmpty && !inner.hasEnded && !isInnerWhole
    }

    /// The inner stream may end where it stands.
    private var isInnerWhole: Bool { inner.mayEndUnannounced && !inner.isWithinRecord }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        var once: [UInt8] = []
        try inner.seal(plain, into: &once)
        try outer.seal(once.span, into: &cipher)
    }

    func sealEnd(into cipher: inout [UInt8]) {
        var once: [UInt8] = []
        inner.sealEnd(into: &once)
        // The outer end follows it; a failure here leaves the peer with a truncated stream.
        try? outer.seal(once.span, into: &cipher)
        outer.sealEnd(into: &cipher)
    }

    var hasEnded: Bool {
        inner.hasEnded || (outer.hasEnded && between.isEmpty && isInnerWhole)
    }

    var mayEndUnannounced: Bool { inner.mayEndUnannounced }

    var isWithinRecord: Bool {
        outer.isWithinRecord || !between.isEmpty || inner.isWithinRecord
    }

    var holdsPlain: Bool { inner.holdsPlain || outer.holdsPlain || !between.isEmpty || isCut }
}
