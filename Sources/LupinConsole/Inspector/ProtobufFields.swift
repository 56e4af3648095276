// Shows protobuf without its schema: fields by their numbers, as far as their bytes tell.
import LupinCore

/// A field of a message (Protocol Buffers, "Encoding").
package struct ProtobufField: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case varint(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        case text(String)
        case bytes([UInt8])
        case message([ProtobufField])
    }

    package let number: UInt32
    package let value: Value

    /// The fields of a message; nil where the bytes are none.
    package static func fields(of bytes: [UInt8]) -> [ProtobufField]? {
        var reader = Reader()
        return reader.message(bytes[...], depth: 0)
    }

    /// The lines of the fields, `columns` wide; what is nested stands further in.
    package static func lines(
        of fields: [ProtobufField],
        columns: Int,
        depth: Int = 0
    ) -> [ScreenLine] {
        fields.flatMap { $0.lines(columns: columns, depth: depth) }
    }

    private func lines(columns: Int, depth: Int) -> [ScreenLine] {
        let indent = String(repeating: "  ", count: min(depth, columns / 4))
        let name = "\(indent)\(number): "
        var nested: [ScreenLine] = []
        let text: String
        switch value {
        case .varint(let value):
            // Negative numbers of int32 and int64 have all bits set at the top.
            let signed = Int64(bitPattern: value)
            text = signed < 0 ? "\(signed) (unsigned \(value))" : "\(value)"
        case .fixed64(let bits):
            text = "\(Int64(bitPattern: bits)), as float \(Double(bitPattern: bits))"
        case .fixed32(let bits):
            text = "\(Int32(bitPattern: bits)), as float \(Float(bitPattern: bits))"
        case .text(let content): text = "\"\(content)\""
        case .bytes(let bytes): text = Self.summary(of: bytes)
        case .message(let fields):
            text = fields.isEmpty ? "{}" : ""
            nested = Self.lines(of: fields, columns: columns, depth: depth + 1)
        }
        let pieces = ScreenText.wrapped(text, columns: max(8, columns - name.utf8.count))
        let own = pieces.enumerated().map { i, piece in
            let start = i == 0 ? name : String(repeating: " ", count: name.utf8.count)
            var line = ScreenLine(start, .cyan)
            line.append(piece)
            return line
        }
        return (own.isEmpty ? [ScreenLine(name, .cyan)] : own) + nested
    }

    private static func summary(of bytes: [UInt8]) -> String {
        var digits: [UInt8] = []
        for byte in bytes.prefix(32) {
            digits.append(hex: UInt64(byte), digits: 2)
            digits.append(0x20)
        }
        let rest = bytes.count > 32 ? "… " : ""
        return String(decoding: digits, as: UTF8.self) + rest + "(\(bytes.count) bytes)"
    }

    /// Reads a message and those in it, up to a number of fields.
    private struct Reader {
        private var count = 0

        private static let depthMax = 20
        private static let countMax = 20_000

        mutating func message(_ bytes: ArraySlice<UInt8>, depth: Int) -> [ProtobufField]? {
            guard depth <= Self.depthMax else { return nil }
            var rest = bytes
            var fields: [ProtobufField] = []
            while !rest.isEmpty {
                count += 1
                guard count <= Self.countMax, let tag = Self.varint(&rest),
                    let number = UInt32(exactly: tag >> 3), 1...0x1FFF_FFFF ~= number,
                    let value = value(ofType: tag & 7, &rest, depth)
                else { return nil }
                fields.append(ProtobufField(number: number, value: value))
            }
            return fields
        }

        private mutating func value(
            ofType type: UInt64,
            _ rest: inout ArraySlice<UInt8>,
            _ depth: Int
        ) -> Value? {
            switch type {
            case 0: return Self.varint(&rest).map(Value.varint)
            case 1: return Self.number(8, &rest).map(Value.fixed64)
            case 2:
                guard let length = Self.varint(&rest), length <= UInt64(rest.count) else {
                    return nil
                }
                let bytes = rest.prefix(Int(length))
                rest = rest.dropFirst(Int(length))
                return delimited(bytes, depth)
            case 5: return Self.number(4, &rest).map { .fixed32(UInt32(truncatingIfNeeded: $0)) }
            default: return nil
            }
        }

        /// Text, a message or bytes: short texts also read as messages, and are likelier meant.
        private mutating func delimited(_ bytes: ArraySlice<UInt8>, _ depth: Int) -> Value {
            let text = String(validating: bytes, as: UTF8.self)
            if let text, Self.isReadable(text) { return .text(text) }
            let before = count
            if let fields = message(bytes, depth: depth + 1) { return .message(fields) }
            if count <= Self.countMax { count = before }
            return text.map(Value.text) ?? .bytes(Array(bytes))
        }

        private static func isReadable(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { scalar in
                switch scalar.value {
                case 0x09, 0x0A, 0x0D: true
                case 0..<0x20, 0x7F..<0xA0: false
                default: true
                }
            }
        }

        /// A number of at most ten bytes, seven bits in each; nil where it is cut or too long.
        private static func varint(_ rest: inout ArraySlice<UInt8>) -> UInt64? {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 70, by: 7) {
                guard let byte = rest.popFirst() else { return nil }
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return value }
            }
            return nil
        }

        /// A number of so many bytes, the lowest first.
        private static func number(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> UInt64? {
            guard rest.count >= count else { return nil }
            var value: UInt64 = 0
            for byte in rest.prefix(count).reversed() { value = value << 8 | UInt64(byte) }
            rest = rest.dropFirst(count)
            return value
        }
    }
}
