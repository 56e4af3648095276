// Which slot of a cluster a key belongs to (Redis Cluster specification, "Key distribution model").

/// A slot: one of 16,384.
package enum HashSlot {
    package static let count = 16384

    /// The slot of a key: CRC-16 (XMODEM) of the part in the first `{…}`, or of the whole key where
    /// there is none or it is empty.
    package static func of(_ key: Span<UInt8>) -> Int {
        var range = 0..<key.count
        if let open = key.position(of: 0x7B, from: 0),
            let close = key.position(of: 0x7D, from: open + 1), close > open + 1
        {
            range = (open + 1)..<close
        }
        var sum: UInt16 = 0
        for i in range {
            sum ^= UInt16(key[i]) << 8
            for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
        }
        return Int(sum) % count
    }
}

extension Span<UInt8> {
    fileprivate func position(of byte: UInt8, from start: Int) -> Int? {
        var i = start
        while i < count {
            if self[i] == byte { return i }
            i += 1
        }
        return nil
    }
}
