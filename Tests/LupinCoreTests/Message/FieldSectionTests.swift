// Whether a section finds the lines it has, however they came and went.
import LupinCore
import Testing

struct FieldSectionTests {
    @Test func `a line that was added is found by its known name`() {
        var fields = FieldSection()
        #expect(fields.first(.via) == nil && fields.count(of: .via) == 0)
        fields.add(name: "VIA", value: "1.1 a, 1.1 b")
        #expect(fields.value(of: .via) == "1.1 a, 1.1 b")
        #expect(fields.lists("1.1 b", in: .via))
    }

    @Test func `a line that replaces another is found by its known name`() {
        var fields = FieldSection()
        fields.add(name: "X-One", value: "1")
        fields.set(name: "Expect", value: "100-continue")
        #expect(fields.count(of: .expect) == 1)
    }

    @Test func `a line that was removed is not found`() {
        var fields = FieldSection()
        fields.add(name: "Date", value: "now")
        fields.remove(name: "date")
        #expect(fields.first(.date) == nil && fields.count(of: .date) == 0)
        fields.removeAll()
        #expect(fields.isEmpty && !fields.lists("now", in: .date))
    }
}

struct WordsWithoutCaseTests {
    @Test(arguments: [1, 7, 8, 9, 16, 23])
    func `no byte equals another but a letter in its two cases`(count: Int) {
        let base = [UInt8](repeating: 0x61, count: count)
        for index in base.indices {
            for (one, other) in [
                (UInt8(0x40), UInt8(0x60)), (0x5A, 0x7A), (0x5B, 0x7B), (0x0D, 0x2D),
            ] {
                var (a, b) = (base, base)
                (a[index], b[index]) = (one, other)
                #expect(a.span.equalsIgnoringCase(b.span) == (one == 0x5A))
            }
        }
    }

    @Test func `all pairs of bytes compare in a word as they do alone`() {
        for one in UInt8.min...UInt8.max {
            for other in UInt8.min...UInt8.max {
                let (a, b) = (
                    [UInt8](repeating: one, count: 8), [UInt8](repeating: other, count: 8)
                )
                let isSame = one.asciiLowercased == other.asciiLowercased
                // One `#expect` per pair would take longer than all else.
                if a.span.equalsIgnoringCase(b.span) != isSame {
                    Issue.record("\(one) and \(other)")
                }
            }
        }
    }
}
