// Where a stand-in is found in a request, and what stands there afterwards.
import LupinCore
import LupinPolicy
import Testing

struct StandInExchangeTests {
    private static let usual: StandInLocations = [.fields, .query]
    private static let text = "ghp_0123456789abcdefghijklmnop"
    private static let standIn = StandIn(token: "github", text: text)

    private func head(
        _ fields: [(String, String)],
        _ target: String = "/"
    ) -> RequestHead {
        var head = RequestHead()
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        head.pathAndQuery = head.fields.store(target)
        return head
    }

    private static func basic(_ pair: String) -> String {
        "Basic " + Base64Text.encode(Array(pair.utf8))
    }

    private static let values: [(name: String, value: String, changed: String)] = [
        ("Authorization", text, "S3cret+/ä"),
        ("Authorization", "Bearer \(text)", "Bearer S3cret+/ä"),
        ("authorization", "token \(text)", "token S3cret+/ä"),
        ("X-Api-Key", "k=\(text);v=1", "k=S3cret+/ä;v=1"),
        ("X-Auth-Token", "\(text),\(text)", "S3cret+/ä,S3cret+/ä"),
        ("Authorization", "Token token=\"\(text)\"", "Token token=\"S3cret+/ä\""),
        ("Private-Token", text, "S3cret+/ä"),
        ("Cookie", "a=b; t=\(text)", "a=b; t=S3cret+/ä"),
        ("Cookie", "t=ghp%5f0123456789abcdefghijklmno%70", "t=S3cret%2B%2F%C3%A4"),
        ("Authorization", basic("me:\(text)"), basic("me:S3cret+/ä")),
        ("Authorization", basic("\(text):x-oauth-basic"), basic("S3cret+/ä:x-oauth-basic")),
        (
            "Authorization", "bAsIc  " + basic("me:\(text)").dropFirst(6),
            "bAsIc  " + basic("me:S3cret+/ä").dropFirst(6)
        ),
    ]

    @Test(arguments: values)
    func `it is exchanged in every form that a field has`(
        name: String,
        value: String,
        changed: String
    ) {
        var head = head([("X-Before", "1"), (name, value), ("X-After", "2")], "/a?b=c")
        #expect(Self.standIn.isExchangeable(in: head, at: Self.usual))
        #expect(Self.standIn.place(in: head) != nil)
        let result = head.exchange(Self.standIn, for: "S3cret+/ä", at: Self.usual)
        #expect(result.fields == [name])
        #expect(!result.target)
        #expect(head.fields.values(of: name) == [changed])
        #expect(head.fields.pairs.map(\.name) == ["X-Before", name, "X-After"])
        #expect(head.pathText == "/a?b=c")
        #expect(Self.standIn.place(in: head) == nil)
    }

    @Test(arguments: [
        "X-Request-Id", "Accept-Language", "Referer", "User-Agent", "Origin", "X", "X-Trace",
        "If-None-Match", "Forwarded", "Accept", "Content-Type",
    ])
    func `a field that carries no credentials keeps it`(name: String) {
        for value in [Self.text, "Bearer \(Self.text)", Self.basic("me:\(Self.text)")] {
            var head = head([(name, value)])
            #expect(!Self.standIn.isExchangeable(in: head, at: Self.usual))
            #expect(Self.standIn.place(in: head, outside: Self.usual) != nil)
            #expect(head.exchange(Self.standIn, for: "secret", at: Self.usual).fields.isEmpty)
            #expect(head.fields.value(of: name) == value)
        }
    }

    private struct Stray {
        var name = "X-Foo"
        var value = ""
        var target = "/"
        var allowed: StandInLocations = []
        let told: String
    }

    private static let strays = [
        Stray(target: "/?k=\(text)", told: "in the query, and no rule exchanges it in "),
        Stray(value: text, told: "in the field X-Foo, and no rule exchanges it in "),
        Stray(target: "/?k=\(text)", allowed: .fields, told: "in: [fields, query]} in one of them"),
        Stray(target: "/\(text)", allowed: usual, told: "[github], in: [fields, query, path]} in"),
        Stray(name: "X-Key", value: text, allowed: .path, told: "[github], in: [fields, path]} in"),
        Stray(target: "/?k=a\(text)", allowed: usual, told: "in the query, where no rule can "),
        Stray(value: text, allowed: usual, told: "into Authorization or another field that "),
    ]

    @Test(arguments: strays.indices)
    func `where it strays is told, and only what would help`(index: Int) throws {
        let stray = Self.strays[index]
        let (allowed, told) = (stray.allowed, stray.told)
        let head = head([(stray.name, stray.value)], stray.target)
        let place = Self.standIn.place(in: head, outside: allowed)
        let refusal = try #require(place).refusal(of: Self.standIn, exchangedIn: allowed)
        #expect(refusal.contains(told), "\(refusal)")
        #expect(refusal.contains("stand_ins: {") == (place?.remedy != nil && !allowed.isEmpty))
    }

    @Test func `the token's own field carries it, whatever its name is`() {
        let standIn = StandIn(token: "github", text: Self.text, field: "X-Org")
        var head = head([("x-org", Self.text), ("X-Other", Self.text)])
        #expect(standIn.standsAlone(in: head))
        #expect(head.exchange(standIn, for: "secret", at: .fields).fields == ["x-org"])
        #expect(head.fields.pairs.map(\.value) == ["secret", Self.text])
        #expect(standIn.place(in: head, outside: .fields) != nil)
    }

    /// A server that repeats so many bytes and no more would show the rest of the credential.
    @Test(arguments: [
        "Bearer a\(text)", "a\(text)", "Bearer \(text)a", basic("me:a\(text)"),
        basic("\(text)a:me"), "t=aaaa\(text); b=c", "%20\(text)", "Token token=\"a\(text)\"",
    ])
    func `where other characters stand next to it, it is left alone`(value: String) {
        var head = head([("Authorization", value)], "/?q=aaa\(Self.text)&r=\(Self.text)a")
        #expect(!Self.standIn.isExchangeable(in: head, at: Self.usual))
        #expect(!Self.standIn.standsAlone(in: head))
        #expect(Self.standIn.place(in: head, outside: Self.usual) != nil)
        let result = head.exchange(Self.standIn, for: "secret", at: Self.usual)
        #expect(result.fields.isEmpty && !result.target)
    }

    @Test func `base64 without padding is understood, and gets it`() {
        let digits = Self.basic("mee:\(Self.text)").prefix { $0 != "=" }
        var head = head([("Authorization", String(digits))])
        _ = head.exchange(Self.standIn, for: "s", at: Self.usual)
        #expect(head.fields.value(of: "Authorization") == Self.basic("mee:s"))
    }

    @Test func `the base64 of Basic reveals the credential, whoever the user is`() {
        var head = head([("Authorization", Self.basic("u:\(Self.text)")), ("X-Key", Self.text)])
        let result = head.exchange(Self.standIn, for: "secret", at: .fields)
        #expect(result.fields == ["Authorization", "X-Key"])
        let base64 = Base64Text.encode(Array("u:secret".utf8))
        #expect(result.secrets == [base64])
    }

    @Test(
        arguments: [
            ("/a?t=\(text)", "/a?t=S%26cret%2B"),
            ("/a?x=1&t=ghp%5F0123456789abcdefghijklmnop&y=2", "/a?x=1&t=S%26cret%2B&y=2"),
            ("/a?\(text)?\(text)", "/a?S%26cret%2B?S%26cret%2B"),
        ]
    )
    func `in the query it is exchanged percent-encoded`(target: String, changed: String) {
        var head = head([("X", "1")], target)
        let result = head.exchange(Self.standIn, for: "S&cret+", at: Self.usual)
        #expect(result.target)
        #expect(result.fields.isEmpty)
        #expect(head.pathText == changed)
        #expect(head.fields.value(of: "X") == "1")
    }

    @Test(
        arguments: [
            ("/bot\(text)/send?a=1", "/botS%26cret:%2F/send?a=1"),
            ("/a/ghp%5F0123456789abcdefghijklmnop", "/a/S%26cret:%2F"),
        ]
    )
    func `in the path it is exchanged where that is allowed`(target: String, changed: String) {
        var head = head([], target)
        let result = head.exchange(Self.standIn, for: "S&cret:/", at: .path)
        #expect(result.target && result.fields.isEmpty)
        #expect(head.pathText.replacing("S%26cret%3A%2F", with: "S%26cret:%2F") == changed)
    }

    @Test func `in fields alone nothing else is exchanged`() {
        var head = head([("X-Key", Self.text)], "/\(Self.text)?t=\(Self.text)")
        let result = head.exchange(Self.standIn, for: "secret", at: .fields)
        #expect(result.fields == ["X-Key"] && !result.target)
        #expect(head.pathText == "/\(Self.text)?t=\(Self.text)")
    }

    @Test(arguments: ["https://x/?t=UyZjcmV0K3NlY3JldA==", "https://x/?t=S%2526cret%252Bsecret"])
    func `a Location that repeats the credential in another form is masked`(location: String) {
        var fields = FieldSection()
        fields.add(name: "Location", value: location)
        fields.restore(Self.standIn, inLocationFor: "S&cret+secret")
        #expect(fields.value(of: "Location")?.contains("***") == true)
    }

    @Test func `the path is left as it is, though the stand-in is noticed there`() {
        var head = head([], "/\(Self.text)?a=1")
        #expect(!Self.standIn.isExchangeable(in: head, at: Self.usual))
        #expect(Self.standIn.place(in: head) != nil)
        let result = head.exchange(Self.standIn, for: "secret", at: Self.usual)
        #expect(result.fields.isEmpty && !result.target)
        #expect(head.pathText == "/\(Self.text)?a=1")
    }

    @Test(arguments: ["Host", "Proxy-Authorization"])
    func `fields that are not for the origin keep it`(name: String) {
        var head = head([(name, Self.text)])
        #expect(Self.standIn.place(in: head) == nil)
        _ = head.exchange(Self.standIn, for: "secret", at: Self.usual)
        #expect(head.fields.value(of: name) == Self.text)
    }

    @Test(
        arguments: [
            "", String(text.dropLast()), String(text.dropFirst()), text.uppercased(), "Basic",
            "Basic ", "Basic \(text.dropLast())", "Basic ====", "ghp%5", "ghp%", "%67hp_%",
        ]
    )
    func `what only looks like it is left alone`(value: String) {
        var head = head([("X-Key", value)], "/?\(value)")
        #expect(Self.standIn.place(in: head) == nil)
        let result = head.exchange(Self.standIn, for: "secret", at: Self.usual)
        #expect(result.fields.isEmpty && !result.target)
    }

    @Test func `only one line of its own keeps its form`() {
        let bearer = ("Authorization", "Bearer \(Self.text)")
        #expect(Self.standIn.standsAlone(in: head([bearer])))
        let two = head([bearer, ("Authorization", "Bearer mine")])
        #expect(!Self.standIn.standsAlone(in: two))
        let other = head([("Authorization", "Bearer mine"), ("X-Key", Self.text)])
        #expect(!Self.standIn.standsAlone(in: other))
    }

    @Test func `a Location that repeats the credential gets the stand-in back`() {
        var fields = FieldSection()
        fields.add(name: "Location", value: "/a?t=S%26cret%2b&u=S&cret+")
        fields.add(name: "X", value: "S&cret+")
        fields.restore(Self.standIn, inLocationFor: "S&cret+")
        #expect(fields.value(of: "Location") == "/a?t=\(Self.text)&u=\(Self.text)")
        #expect(fields.value(of: "X") == "S&cret+")
    }
}
