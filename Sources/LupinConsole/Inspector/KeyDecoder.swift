// Decodes what a terminal in raw mode sends into keys, byte by byte.

/// A key that was pressed, or a text that was pasted.
package enum Key: Equatable, Sendable {
    case text(Unicode.Scalar)
    /// Ctrl with a small letter.
    case control(Unicode.Scalar)
    case enter, tab, backTab, escape, backspace, delete
    case up, down, left, right, pageUp, pageDown, home, end
    case paste(String)
    /// A key without a meaning here.
    case other
}

/// The state between two bytes of a terminal's input (ECMA-48, and xterm's bracketed paste).
package struct KeyDecoder: Sendable {
    private enum State {
        /// Next: any state.
        case ground
        /// Behind ESC. Next: `sequence`, `single`, `ground`.
        case escape
        /// Behind `ESC [`. Next: `paste`, `ground`.
        case sequence([UInt8])
        /// Behind `ESC O`. Next: `ground`.
        case single
        /// Within a character of UTF-8. Next: `ground`.
        case character([UInt8], length: Int)
        /// Between the marks of a paste. Next: `ground`.
        case paste([UInt8])
    }

    private var state = State.ground

    /// A longer sequence is no key.
    private static let sequenceBytesMax = 32
    /// The rest of a longer paste is dropped.
    private static let pasteBytesMax = 64 << 10
    private static let endOfPaste = Array("\u{1B}[201~".utf8)

    package init() {}

    /// Whether bytes are missing that a terminal would have sent at once: time decides.
    package var isWaiting: Bool {
        switch state {
        case .ground, .paste: false
        case .escape, .sequence, .single, .character: true
        }
    }

    /// Takes the bytes that came, and returns the keys that they complete.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Key] {
        bytes.compactMap { take($0) }
    }

    /// Nothing came for a while: a lone ESC is the key.
    package mutating func flush() -> Key? {
        guard isWaiting else { return nil }
        defer { state = .ground }
        if case .escape = state { return .escape }
        return nil
    }

    private mutating func take(_ byte: UInt8) -> Key? {
        switch state {
        case .ground: return begin(byte)
        case .escape:
            switch byte {
            case 0x5B: state = .sequence([])
            case 0x4F: state = .single
            // The first was a key, the second may begin a sequence.
            case 0x1B: return .escape
            default:
                // Alt with a key, which must not act as the key alone.
                state = .ground
                return .other
            }
            return nil
        case .sequence(let bytes): return take(byte, behind: bytes)
        case .single:
            state = .ground
            return byte == 0x4D ? .enter : Self.key(final: byte)
        case .character(let bytes, let length):
            guard byte & 0xC0 == 0x80 else { return begin(byte) }
            let all = bytes + [byte]
            guard all.count == length else {
                state = .character(all, length: length)
                return nil
            }
            state = .ground
            guard let text = String(validating: all, as: UTF8.self) else { return .other }
            return text.unicodeScalars.first.map { .text($0) }
        case .paste(let bytes): return take(byte, pastedBehind: bytes)
        }
    }

    private mutating func begin(_ byte: UInt8) -> Key? {
        state = .ground
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: return .enter
        case 0x09: return .tab
        case 0x7F, 0x08: return .backspace
        case 0x01...0x1A: return .control(Unicode.Scalar(byte | 0x60))
        case 0x20..<0x7F: return .text(Unicode.Scalar(byte))
        case 0xC2...0xDF: state = .character([byte], length: 2)
        case 0xE0...0xEF: state = .character([byte], length: 3)
        case 0xF0...0xF4: state = .character([byte], length: 4)
        default: return .other
        }
        return nil
    }

    private mutating func take(_ byte: UInt8, behind bytes: [UInt8]) -> Key? {
        // The console of Linux sends `ESC [ [ A` for F1.
        let isFinal = 0x40...0x7E ~= byte && !(byte == 0x5B && bytes.isEmpty)
        guard isFinal else {
            guard bytes.count < Self.sequenceBytesMax, byte >= 0x20 else { return begin(byte) }
            state = .sequence(bytes + [byte])
            return nil
        }
        state = .ground
        guard bytes.first != 0x5B else { return .other }
        guard byte == 0x7E else { return Self.key(final: byte) }
        switch String(decoding: bytes.prefix { $0 != 0x3B }, as: UTF8.self) {
        case "1", "7": return .home
        case "4", "8": return .end
        case "3": return .delete
        case "5": return .pageUp
        case "6": return .pageDown
        case "200":
            state = .paste([])
            return nil
        default: return .other
        }
    }

    private static func key(final byte: UInt8) -> Key {
        switch byte {
        case 0x41: .up
        case 0x42: .down
        case 0x43: .right
        case 0x44: .left
        case 0x46: .end
        case 0x48: .home
        case 0x5A: .backTab
        default: .other
        }
    }

    private mutating func take(_ byte: UInt8, pastedBehind bytes: [UInt8]) -> Key? {
        // The way out where the end of a paste got lost.
        if byte == 0x03 { return begin(byte) }
        var all = bytes
        // The mark at the end must fit in any case.
        if all.count >= Self.pasteBytesMax + Self.endOfPaste.count {
            all.remove(at: Self.pasteBytesMax)
        }
        all.append(byte)
        guard all.suffix(Self.endOfPaste.count).elementsEqual(Self.endOfPaste) else {
            state = .paste(all)
            return nil
        }
        state = .ground
        let text = all.dropLast(Self.endOfPaste.count).prefix(Self.pasteBytesMax)
        return .paste(String(decoding: text, as: UTF8.self))
    }
}
