// Texts of messages that may be in any encoding, and whose bytes must come back as they were.

/// A text that keeps every byte of a message.
///
/// Where the bytes are UTF-8 it is that text. Every other byte is a scalar of its own, at the end
/// of the last plane for private use, of which `bytes` makes the byte again. So a text can be
/// compared, split and joined as any other.
package enum OctetText {
    /// The scalars of bytes from 0x80 on.
    private static let strays: ClosedRange<UInt32> = 0x10_FF80...0x10_FFFF

    package static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !holdsStrays(text) { return text }
        var result = String.UnicodeScalarView()
        var i = 0
        while i < bytes.count {
            if let (scalar, count) = scalar(in: bytes, at: i) {
                result.append(scalar)
                i += count
            } else {
                // Bounded: by the last scalar of the range.
                let value = strays.lowerBound + UInt32(bytes[i] - 0x80)
                if let stray = Unicode.Scalar(value) { result.append(stray) }
                i += 1
            }
        }
        return String(result)
    }

    package static func bytes(_ text: String) -> [UInt8] {
        guard holdsStrays(text) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if strays.contains(scalar.value) {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes += Array(String(scalar).utf8)
            }
        }
        return bytes
    }

    private static func holdsStrays(_ text: String) -> Bool {
        // The first byte of every scalar of that plane.
        text.utf8.contains(0xF4) && text.unicodeScalars.contains { strays.contains($0.value) }
    }

    /// The scalar that begins at an index, and its length; nil for a byte that is not UTF-8, and
    /// for a scalar that stands for one.
    private static func scalar(in bytes: [UInt8], at i: Int) -> (Unicode.Scalar, count: Int)? {
        if bytes[i] < 0x80 { return (Unicode.Scalar(bytes[i]), 1) }
        for count in 2...4 where i + count <= bytes.count {
            guard let text = String(validating: bytes[i..<i + count], as: UTF8.self),
                let scalar = text.unicodeScalars.first
            else { continue }
            return strays.contains(scalar.value) ? nil : (scalar, count)
        }
        return nil
    }
}
