// What lies between a channel's socket and its users, such as TLS.

/// Translates between the bytes of a socket and the bytes that a channel's users read and write.
///
/// It does no I/O: bytes in, bytes out. It throws a failure as ``FilterFailure``; the code that
/// made the filter explains it.
package protocol ChannelFilter: AnyObject {
    /// Consumes ciphertext and appends plaintext to `plain`, as much as is there and fits.
    ///
    /// What must be answered at once (alerts, key updates) is appended to `answer`.
    func open(
        _ cipher: InputBuffer,
        into plain: InputBuffer,
        answer: inout [UInt8]
    ) throws(FilterFailure)

    /// Appends `plain` to `cipher`, sealed.
    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure)

    /// Appends the message that ends the stream, such as a TLS close_notify.
    func sealEnd(into cipher: inout [UInt8])

    /// Whether the peer has ended its stream.
    var hasEnded: Bool { get }

    /// Whether more plaintext may come without further ciphertext.
    var holdsPlain: Bool { get }

    /// Whether the end of the connection ends the peer's stream even if `hasEnded` is false.
    var mayEndUnannounced: Bool { get }

    /// Whether the filter holds part of a record and needs the rest to open it.
    var isWithinRecord: Bool { get }
}

extension ChannelFilter {
    package var mayEndUnannounced: Bool { false }
    package var isWithinRecord: Bool { false }
}

/// A filter failed; the code that made the filter knows why.
package struct FilterFailure: Error {
    package init() {}
}

/// A filter's place in a channel, with the ciphertext of both directions.
final class FilteredBytes {
    /// The bound on unsent ciphertext; at this size no more plaintext is taken.
    static let backlogMax = 64 << 10
    /// The size of one record: more would be sealed in pieces anyway.
    static let recordBytes = 16 << 10
    /// The most ciphertext received in one go without a byte of plaintext.
    ///
    /// Handshakes need less; an endless flood without plaintext would block the loop.
    static let barrenMax = 128 << 10

    let filter: any ChannelFilter
    /// Ciphertext received and not yet opened.
    let received: InputBuffer
    /// Sealed bytes; the first `sent` of them have left.
    var sealed: [UInt8] = []
    var sent = 0
    /// Whether the socket's sending side closes once everything sealed has left.
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
    /// Bytes that the outer filter opened and the inner one has not.
    private let between: InputBuffer

    init(outer: any ChannelFilter, inner: any ChannelFilter, pool: BufferPool) {
        self.outer = outer
        self.inner = inner
        between = InputBuffer(pool: pool)
    }

    /// Takes what the outer filter opened before there was an inner one.
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

    /// Sends the inner filter's answer even if that filter fails: the answer is its alert.
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

    /// The outer stream has ended and the inner one has not: an intermediary that ends the outer
    /// stream, such as a parent proxy, could truncate the inner one.
    private var isCut: Bool {
        outer.hasEnded && between.isEmpty && !inner.hasEnded && !isInnerWhole
    }

    /// Whether the inner stream may end at this point.
    private var isInnerWhole: Bool { inner.mayEndUnannounced && !inner.isWithinRecord }

    func seal(_ plain: Span<UInt8>, into cipher: inout [UInt8]) throws(FilterFailure) {
        var once: [UInt8] = []
        try inner.seal(plain, into: &once)
        try outer.seal(once.span, into: &cipher)
    }

    func sealEnd(into cipher: inout [UInt8]) {
        var once: [UInt8] = []
        inner.sealEnd(into: &once)
        // The outer end follows it; after a failure here the peer sees a truncated stream.
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
