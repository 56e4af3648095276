// Whether the field names that lupin acts upon are recognised, and only those.
import LupinCore
import Testing

struct FieldNameTests {
    @Test func `every known name has a bit of its own in a set`() {
        var set = FieldNameSet()
        for name in FieldName.allCases {
            #expect(!set.contains(name))
            set.insert(name)
            #expect(set.contains(name))
        }
        #expect(FieldName.allCases.count <= 64)
    }

    @Test(arguments: FieldName.allCases.dropFirst())
    func `a known name is recognised in any case`(name: FieldName) {
        for text in [name.spelling, name.spelling.lowercased(), name.spelling.uppercased()] {
            #expect(FieldName(Array(text.utf8).span) == name)
        }
    }

    @Test(arguments: FieldName.allCases.dropFirst())
    func `what only resembles a known name is another name`(name: FieldName) {
        let spelling = Array(name.spelling.utf8)
        #expect(FieldName(Array(spelling.dropLast()).span) == .other)
        #expect(FieldName((spelling + [0x73]).span) == .other)
        for index in spelling.indices {
            var changed = spelling
            changed[index] ^= 0x01
            #expect(FieldName(changed.span) == .other)
        }
    }

    @Test(arguments: FieldName.allCases.dropFirst())
    func `no byte stands for a letter but the letter in its two cases`(name: FieldName) {
        let spelling = Array(name.spelling.utf8)
        for index in spelling.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = spelling
                changed[index] = byte
                let isSame = byte.asciiLowercased == spelling[index].asciiLowercased
                // One `#expect` per byte would take longer than all else.
                if (FieldName(changed.span) == name) != isSame {
                    Issue.record("byte \(byte) at \(index) of \(name.spelling)")
                }
            }
        }
    }

    @Test(arguments: ["", "x", "-", "X-Request-Id", String(repeating: "a", count: 70_000)])
    func `an unknown name is other`(text: String) {
        #expect(FieldName(Array(text.utf8).span) == .other)
    }
}
