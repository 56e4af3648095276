// What `redirect:` of a rule may say, and what is said of anything else.

import LupinPolicy
import LupinRules
import Testing

struct RedirectDecoderTests {
    private func redirect(_ text: String) throws -> RedirectPolicy?? {
        let body = "rules: [{match: a.dev, \(text)}]"
        return try #require(try configuration(body).rules.rules.first).redirect
    }

    @Test func `pass, absent and follow are told apart`() throws {
        let pass: RedirectPolicy?? = .some(nil)
        #expect(try redirect("stop: true") == nil)
        #expect(try redirect("redirect: pass") == pass)
        #expect(try redirect("redirect: {follow: false, max: 3}") == pass)
        #expect(try redirect("redirect: {follow: true}") == .some(RedirectPolicy()))
    }

    @Test func `every key arrives`() throws {
        let text =
            "redirect: {follow: true, max: 50, deny: [\"*.apple.com\", b.dev], "
            + "cross_origin: keep-credentials}"
        let policy = try #require(try redirect(text) ?? nil)
        #expect(policy.maxCount == 50)
        #expect(policy.deny.map(\.source) == ["*.apple.com", "b.dev"])
        #expect(policy.crossOrigin == .keepCredentials)
        let one = try #require(try redirect("redirect: {follow: true, deny: b.dev}") ?? nil)
        #expect(one.deny.map(\.source) == ["b.dev"] && one.maxCount == 10)
        #expect(one.crossOrigin == .dropCredentials)
    }

    @Test(arguments: [
        (
            "follow", "2:34: expected pass or a map, found \"follow\"  [E-TYPE]",
            "write {follow: true, max: 10}"
        ),
        (
            "[pass]", "2:34: expected pass or a map, found a list  [E-TYPE]",
            "write {follow: true, max: 10}"
        ),
        (
            "{}", "2:24: \"redirect\" has no \"follow\"  [E-KEY]", "write {follow: true, max: 10}"
        ),
        (
            "{max: 5}", "2:24: \"redirect\" has no \"follow\"  [E-KEY]",
            "write {follow: true, max: 10}"
        ),
        ("{follow: yes}", "2:43: \"yes\" is not a boolean  [E-TYPE]", "write true"),
        (
            "{follow: true, max: 51}", "2:54: max 51 is out of range  [E-RANGE]",
            "allowed: 1 to 50"
        ),
        (
            "{follow: true, max: 0}", "2:54: max 0 is out of range  [E-RANGE]",
            "allowed: 1 to 50"
        ),
        (
            "{follow: true, deny: [\"http://b.dev\"]}",
            "2:56: a host has no scheme  [E-GLOB]", "write `scheme: http` beside it"
        ),
        (
            "{follow: true, cross_origin: drop}", "2:63: unknown value \"drop\"  [E-NAME]",
            "allowed: drop-credentials, keep-credentials"
        ),
        (
            "{follow: true, crossorigin: x}",
            "2:49: unknown key \"crossorigin\" in \"redirect\"  [E-KEY]",
            "did you mean \"cross_origin\"?"
        ),
    ])
    func `a wrong value is told with what to write`(text: String, first: String, hint: String) {
        let problems = decode("rules: [{match: a.dev, redirect: \(text)}]").errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `every problem of a map is told at once`() {
        let text = "rules: [{match: a.dev, redirect: {follow: on, max: x, deny: a b, to: y}}]"
        #expect(decode(text).errors.count == 4)
    }
}
