// Which fields a connection sends again, and so are worth an entry in the peer's table.

/// The fields that a connection has sent lately.
///
/// A field enters the peer's dynamic table when it is sent for the second time; RFC 7541 §2.3.2
/// leaves the choice to the encoder. An ID or a validator that never comes again would cost both
/// sides an entry, and push out one that does. What gets none is sent as never indexed (§6.2.3): of
/// literals without an entry, nghttp2 writes no others.
@safe
final class RepeatedFields {
    // Safety: allocated and freed here, and indexed with `count - 1` as the mask.
    private let tags: UnsafeMutablePointer<UInt16>

    /// A power of two; a field is forgotten when another one needs its place.
    private static let count = 256
    /// Of a longer value only so much at both ends is compared.
    private static let endBytes = 64

    init() {
        unsafe tags = .allocate(capacity: Self.count)
        unsafe tags.initialize(repeating: 0, count: Self.count)
    }

    deinit { unsafe tags.deallocate() }

    /// Notes a field that is sent.
    ///
    /// - Returns: Whether it was sent lately with the same value; by chance also for another field,
    ///   once in some 30,000 times.
    func note(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
        var hash = UInt64(truncatingIfNeeded: value.count)
        name.mix(into: &hash)
        if value.count <= 2 * Self.endBytes {
            value.mix(into: &hash)
        } else {
            value.extracting(first: Self.endBytes).mix(into: &hash)
            value.extracting(last: Self.endBytes).mix(into: &hash)
        }
        let index = Int(truncatingIfNeeded: hash) & (Self.count - 1)
        // Never that of an empty place.
        let tag = UInt16(truncatingIfNeeded: hash >> 48) | 1
        // Safety: the mask keeps the place in the table.
        if unsafe tags[index] == tag { return true }
        unsafe tags[index] = tag
        return false
    }
}

extension Span<UInt8> {
    /// Mixes the bytes into `hash`, eight at a time; the last eight may overlap those before.
    fileprivate func mix(into hash: inout UInt64) {
        guard count >= 8 else {
            var word: UInt64 = 0
            for i in indices { word = word << 8 | UInt64(uncheckedByte(at: i)) }
            return hash.mix(word)
        }
        var i = 0
        while i < count &- 8 {
            hash.mix(uncheckedWord(at: i))
            i &+= 8
        }
        hash.mix(uncheckedWord(at: count &- 8))
    }
}

extension UInt64 {
    fileprivate mutating func mix(_ word: UInt64) {
        // A prime with bits all over; the fold brings the product's high bits down.
        self = (self ^ word) &* 0x9E37_79B9_7F4A_7C15
        self ^= self >> 29
    }
}
