// Which protocols of Upgrade go on (RFC 9110 §7.8), and what a server may choose of them.
import LupinCore
import Testing

struct UpgradeListTests {
    private static func list(_ values: String...) -> UpgradeList {
        var fields = FieldSection()
        for value in values { fields.add(name: "Upgrade", value: value) }
        return UpgradeList(fields)
    }

    @Test(arguments: [
        ("websocket", "websocket"), ("WebSocket , x/1.2", "WebSocket, x/1.2"), ("", ""),
        ("h2c", ""), ("H2C/1", ""), ("h2", ""), ("HTTP/2.0", ""), ("http", ""), ("TLS/1.2", ""),
        ("h3, h2cc, https", "h3, h2cc, https"), ("a\", h2c, \"b", ""), ("\"a\", b", "b"),
        ("a b", ""), ("a/", ""), ("/a", ""), ("a/b/c", ""), (", a,, b,", "a, b"),
    ])
    func `tokens with a version go on, and HTTP never does`(value: String, text: String) {
        #expect(Self.list(value).text == text)
        #expect(Self.list(value).isEmpty == text.isEmpty)
    }

    @Test func `all lines count`() {
        #expect(Self.list("a", "h2c", "b/1").text == "a, b/1")
    }

    @Test(arguments: [
        ("x", true), ("X/2", true), ("y, x", true), ("z", false), ("x, z", false), ("", false),
        ("x, h2c", false), ("x, \"y\"", false),
    ])
    func `a choice is what was wished for, in any version and nothing else`(
        choice: String,
        isOne: Bool
    ) {
        #expect(Self.list(choice).isChoice(of: Self.list("x/1", "Y")) == isOne)
    }

    @Test func `a request asks for an upgrade of its own connection only`() {
        var fields = FieldSection()
        fields.add(name: "Upgrade", value: "x")
        #expect(fields.requestedUpgrade == nil)
        fields.add(name: "Connection", value: "a\", upgrade, \"b")
        #expect(fields.requestedUpgrade?.isOnly("x") == true)
        fields.set(name: "Upgrade", value: "h2c")
        #expect(fields.requestedUpgrade == nil)
    }
}
