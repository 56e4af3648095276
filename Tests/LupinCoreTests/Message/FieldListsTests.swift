// Where a list has its commas (RFC 9110 §5.6.1).
import LupinCore
import Testing

struct FieldListsTests {
    private func members(of name: FieldName, _ values: String...) -> [String] {
        var fields = FieldSection()
        for value in values { fields.add(name: name.spelling, value: value) }
        var members: [String] = []
        fields.forEachMember(of: name) { members.append(String(copying: $0)) }
        return members
    }

    @Test func `blanks and empty members are left out`() {
        #expect(members(of: .connection, " a ,\tb,, ", ",c") == ["a", "b", "c"])
    }

    @Test(arguments: [FieldName.connection, .upgrade, .vary, .via, .contentEncoding])
    func `a list of tokens has no quoted strings`(name: FieldName) {
        #expect(members(of: name, "a\", b, \"c") == ["a\"", "b", "\"c"])
    }

    @Test(arguments: [FieldName.accept, .cacheControl])
    func `a comma in a quoted string separates nothing`(name: FieldName) {
        #expect(members(of: name, #"a="x, \", y", b"#, "c") == [#"a="x, \", y""#, "b", "c"])
    }
}
