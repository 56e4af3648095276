// What the tests of channels all do: give a channel a slot, look at what it received.
import LupinIO

extension Channel {
    /// A slot that is woken with `reason` for reading, writing and the end.
    func waits(for reason: WakeReasons) -> ParkingSlot {
        let slot = ParkingSlot(on: loop)
        self.slot = slot
        readableReason = reason
        writableReason = reason
        return slot
    }

    /// Sends `bytes` from `start` on, as far as they go.
    func send(
        bytes: [UInt8],
        from start: Int = 0,
        suffix: StaticString? = nil
    ) throws -> Int {
        try send(bytes.span.extracting(start...), suffix: suffix)
    }

    func send(text: String, suffix: StaticString? = nil) throws -> Int {
        try send(bytes: Array(text.utf8), suffix: suffix)
    }

    /// What was received, left where it is.
    var received: [UInt8] { Self.copy(of: input, atMost: .max) }

    private static func copy(of input: borrowing InputBuffer, atMost count: Int) -> [UInt8] {
        let bytes = input.bytes
        var copy: [UInt8] = []
        for i in 0..<min(count, bytes.count) { copy.append(bytes[i]) }
        return copy
    }

    var text: String { String(decoding: received, as: UTF8.self) }

    /// The first `count` bytes, consumed.
    func take(_ count: Int) -> [UInt8] {
        let taken = Self.copy(of: input, atMost: count)
        input.discard(taken.count)
        return taken
    }
}
