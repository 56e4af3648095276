// What goes into a Cookie field when the client has cookies of its own.

import LupinCore
import LupinPolicy
import Testing

/// What becomes of a client's Cookie field.
func fieldValue(of client: String?, with jar: CookieList) -> String? {
    var fields = FieldSection()
    if let client { fields.add(name: "Cookie", value: client) }
    jar.attach(to: &fields)
    return fields.value(of: "Cookie")
}

struct CookieListTests {
    private let jar = CookieList([
        (name: "a", value: "jar"), (name: "b", value: "jar"), (name: "a", value: "far"),
        (name: "", value: "bare"),
    ])

    @Test(
        arguments: [
            (nil, "a=jar; b=jar; a=far; bare"), ("", "a=jar; b=jar; a=far; bare"),
            ("a=own", "a=own; b=jar; bare"), ("c=own", "c=own; a=jar; b=jar; a=far; bare"),
            (" b = own ; a= ; ", "b = own ; a= ; bare"), ("own", "own; a=jar; b=jar; a=far"),
            ("A=own;", "A=own; a=jar; b=jar; a=far; bare"), ("=own", "=own; a=jar; b=jar; a=far"),
            ("a=x;b=y;z", "a=x;b=y;z"),
        ] as [(String?, String)]
    )
    func `a name of the client's is the client's`(client: String?, expected: String) {
        #expect(fieldValue(of: client, with: jar) == expected)
    }

    @Test func `bytes beyond UTF-8 go back as they came`() {
        var fields = FieldSection()
        CookieList([(name: OctetText.text([0xE4]), value: OctetText.text([0xFF, 0x41]))])
            .attach(to: &fields)
        let value = fields.lines.first.map { fields.storage[$0.value.range] }
        #expect(value.map(Array.init) == [0xE4, 0x3D, 0xFF, 0x41])
    }

    @Test func `without cookies the client's field stays, and there is none of nothing`() {
        let empty = CookieList()
        #expect(empty.isEmpty && fieldValue(of: nil, with: empty) == nil)
        #expect(fieldValue(of: "a=1", with: empty) == "a=1")
    }

    @Test func `pieces of HTTP2 become one line at the place of the first`() {
        var fields = FieldSection()
        fields.add(name: "A", value: "1")
        fields.add(name: "cookie", value: "a=own")
        fields.add(name: "B", value: "2")
        fields.add(name: "cookie", value: "c=own")
        jar.attach(to: &fields)
        #expect(fields.pairs.map(\.name) == ["A", "Cookie", "B"])
        #expect(fields.value(of: "cookie") == "a=own; c=own; b=jar; bare")
        #expect(fields.value(of: .cookie) == "a=own; c=own; b=jar; bare")
    }

    @Test func `a request without cookies gets the field, and none where there are none`() {
        var fields = FieldSection()
        fields.add(name: "A", value: "1")
        CookieList().attach(to: &fields)
        #expect(fields.pairs.count == 1)
        jar.attach(to: &fields)
        #expect(fields.values(of: "Cookie") == ["a=jar; b=jar; a=far; bare"])
    }

    @Test func `what is about the connection is not the client's cookie, and bytes stay bytes`()
        throws
    {
        var fields = FieldSection()
        fields.add(name: "Cookie", value: "b=hop")
        fields.lines[0].isHopByHop = true
        fields.add(name: "Cookie", value: "x=1")
        let place = fields.lines[1].value
        fields.storage[place.upperBound - 1] = 0xFF
        jar.attach(to: &fields)
        #expect(fields.lines.count == 2 && fields.text(fields.lines[0].value) == "b=hop")
        let own = try #require(fields.lines.last)
        let value = fields.storage[own.value.range]
        #expect(value.prefix(5).elementsEqual([0x78, 0x3D, 0xFF, 0x3B, 0x20]))
    }
}
