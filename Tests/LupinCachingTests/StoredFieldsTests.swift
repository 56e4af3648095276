// Which fields are kept and which a 304 replaces.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct StoredFieldsTests {
    private func kept(
        _ pairs: CacheFields,
        policy: CachePolicy = .standard
    ) -> [String] {
        let section = fields(pairs)
        let directives = ResponseDirectives(section, targeted: policy.targeted)
        return section.stored(directives, policy: policy, receivedAt: noon).pairs.map(\.name)
    }

    private static let dated = ("Date", date())

    @Test(arguments: [
        "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
        "Trailer", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
    ])
    func `what is about the way is not kept`(name: String) {
        #expect(kept([Self.dated, (name, "x"), ("A", "1")]) == ["Date", "A"])
    }

    @Test func `what Connection, no-cache and private list is not kept`() {
        let pairs = [
            Self.dated, ("Connection", "a, B"), ("Cache-Control", "no-cache=\"c\", private=d"),
            ("a", "1"), ("b", "2"), ("C", "3"), ("D", "4"), ("e", "5"),
        ]
        #expect(kept(pairs) == ["Date", "Cache-Control", "e"])
        #expect(kept(pairs, policy: .privateMode) == ["Date", "Cache-Control", "D", "e"])
    }

    @Test func `cookies for one user stay behind in a shared cache`() {
        let pairs = [Self.dated, ("Set-Cookie", "a=b")]
        #expect(kept(pairs) == ["Date"])
        #expect(kept(pairs, policy: .privateMode) == ["Date", "Set-Cookie"])
        let forAll = pairs + [("Cache-Control", "public")]
        #expect(kept(forAll) == ["Date", "Set-Cookie", "Cache-Control"])
        let ignoring = CachePolicy.changed { $0.ignored = .cookies }
        #expect(kept(forAll, policy: ignoring) == ["Date", "Cache-Control"])
    }

    @Test func `a response without Date gets one`() {
        let section = fields([("A", "1")])
        let copy = section.stored(.init(), policy: .standard, receivedAt: noon)
        #expect(copy.value(of: .date) == date())
    }

    @Test func `bytes that are no text are kept as they are`() {
        var section = FieldSection()
        section.add(name: "X", value: "ab")
        section.storage[section.lines[0].value.lowerBound] = 0xFF
        let copy = section.stored(.init(), policy: .standard, receivedAt: noon)
        #expect(copy.storage[copy.lines[0].value.range] == [0xFF, 0x62])
    }

    // MARK: Updates

    private func updated(_ old: CacheFields, _ new: CacheFields) -> FieldSection {
        let newer = fields(new)
        return fields(old).updated(
            by: newer,
            ResponseDirectives(newer, targeted: []),
            policy: .standard,
            receivedAt: noon + 50
        )
    }

    @Test(arguments: [
        "Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo", "Content-Type",
        "Content-MD5", "Content-Location", "Content-Security-Policy", "X-Frame-Options",
        "X-XSS-Protection", "Cache-Control", "Expires", "Clear-Site-Data", "Set-Cookie2", "ETag",
        "Last-Modified", "Vary", "Date",
    ])
    func `a 304 replaces the field`(name: String) {
        let section = updated(
            [(name, "a"), ("K", "1"), (name, "b")],
            [(name.lowercased(), "c"), (name, "d")]
        )
        #expect(section.values(of: name) == ["c", "d"] && section.values(of: "k") == ["1"])
    }

    @Test(arguments: ["Content-Length", "Content-Encoding", "Content-Range"])
    func `a 304 leaves what describes the stored bytes`(name: String) {
        #expect(updated([(name, "a")], [(name, "b")]).values(of: name) == ["a"])
        #expect(updated([], [(name, "b")]).values(of: name) == [])
    }

    @Test func `an old Age and Date do not survive`() {
        let section = updated([("Age", "500"), ("Date", date(-500))], [])
        #expect(section.values(of: "Age") == [] && section.values(of: "Date") == [date(50)])
        #expect(updated([("Age", "5")], [("Age", "2")]).values(of: "Age") == ["2"])
    }
}
