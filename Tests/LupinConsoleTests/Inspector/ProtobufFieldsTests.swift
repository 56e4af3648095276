// Protobuf without a schema reads as fields by number, and anything else as no protobuf.
import LupinConsole
import Testing

struct ProtobufFieldsTests {
    private func lines(_ bytes: [UInt8], columns: Int = 80) throws -> [String] {
        let fields = try #require(ProtobufField.fields(of: bytes))
        return ProtobufField.lines(of: fields, columns: columns).map(\.text)
    }

    /// The examples of "Encoding" in the documentation of Protocol Buffers.
    @Test func `numbers, texts and messages read as they were written`() throws {
        #expect(try lines([0x08, 0x96, 0x01]) == ["1: 150"])
        #expect(try lines([0x12, 0x07] + Array("testing".utf8)) == ["2: \"testing\""])
        #expect(try lines([0x1A, 0x03, 0x08, 0x96, 0x01]) == ["3: ", "  1: 150"])
        let negative: [UInt8] = [0x08] + [UInt8](repeating: 0xFF, count: 9) + [0x01]
        #expect(try lines(negative) == ["1: -1 (unsigned 18446744073709551615)"])
        #expect(try lines([0x0D, 0, 0, 0x80, 0x3F]) == ["1: 1065353216, as float 1.0"])
        #expect(
            try lines([0x09, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F]) == [
                "1: 4607182418800017408, as float 1.0"
            ]
        )
        #expect(try lines([0x0A, 0x02, 0xFF, 0xFE]) == ["1: ff fe (2 bytes)"])
        #expect(try lines([0x0A, 0x00]) == ["1: \"\""])
        #expect(try lines([]).isEmpty)
    }

    @Test func `long values are wrapped, and long bytes are cut`() throws {
        let text = String(repeating: "word ", count: 20)
        let wrapped = try lines([0x0A, 100] + Array(text.utf8), columns: 40)
        #expect(wrapped.count >= 3 && wrapped.allSatisfy { $0.utf8.count <= 40 })
        let bytes = try lines([0x0A, 0x7F] + [UInt8](repeating: 0x87, count: 127), columns: 200)
        #expect(bytes.count == 1 && bytes[0].hasSuffix("87 … (127 bytes)"))
    }

    @Test func `control characters of a text reach no terminal`() throws {
        let lines = try lines([0x0A, 0x04, 0x1B, 0x5B, 0x32, 0x4A])
        #expect(lines.allSatisfy { !$0.utf8.contains(0x1B) })
    }

    @Test(
        arguments: [
            [0x08], [0x08, 0x80], [0x00, 0x01], [0x0B], [0x0F], [0x0A, 0x05, 1], [0x0D, 1, 2, 3],
            [0x09, 1], [0x08] + [UInt8](repeating: 0xFF, count: 11),
            [0x0A] + [UInt8](repeating: 0xFF, count: 9) + [0x01],
        ]
    )
    func `what is cut or has no such type is no protobuf`(bytes: [UInt8]) {
        #expect(ProtobufField.fields(of: bytes) == nil)
    }

    @Test func `nesting and the number of fields have limits`() throws {
        var bytes: [UInt8] = [0x08, 0x01]
        for _ in 0..<40 { bytes = [0x0A, UInt8(bytes.count)] + bytes }
        #expect(try lines(bytes).count < 40)
        let many = [UInt8](repeating: 0x08, count: 60_000)
        #expect(ProtobufField.fields(of: many) == nil)
    }
}
