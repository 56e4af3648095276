// What `throttle:` of a rule may say, and what is said of anything else.

import LupinPolicy
import LupinRules
import Testing

struct ThrottleDecoderTests {
    private func throttle(_ text: String) throws -> ThrottleOverrides {
        let body = "rules: [{match: a.dev, \(text)}]"
        return try #require(try configuration(body).rules.rules.first).throttle
    }

    @Test func `none, one direction and both are told apart`() throws {
        #expect(try throttle("stop: true").isEmpty)
        #expect(try throttle("throttle: {}").isEmpty)
        #expect(try throttle("throttle: none") == ThrottleOverrides.none)
        #expect(try throttle("throttle: {down: 5MiB/s}") == ThrottleOverrides(down: .some(5 << 20)))
        let both = ThrottleOverrides(up: .some(nil), down: .some(64))
        #expect(try throttle("throttle: {up: none, down: 64/s}") == both)
        let most = ThrottleOverrides(up: .some(1 << 40))
        #expect(try throttle("throttle: {up: 1TiB/s}") == most)
    }

    @Test(arguments: [
        (
            "5MiB/s", "2:34: expected none or a map, found \"5MiB/s\"  [E-TYPE]",
            "write {down: 5MiB/s}"
        ),
        ("slow", "2:34: expected none or a map, found \"slow\"  [E-TYPE]", "write {down: 5MiB/s}"),
        ("[none]", "2:34: expected none or a map, found a list  [E-TYPE]", "write {down: 5MiB/s}"),
        ("{down: 5MiB}", "2:41: \"5MiB\" is not a rate  [E-TYPE]", "write 5MiB/s"),
        ("{down: 5}", "2:41: \"5\" is not a rate  [E-TYPE]", "write 5/s"),
        ("{down: 5MB/s}", "2:41: \"5MB\" has an unknown unit  [E-TYPE]", "write 5MiB/s"),
        ("{down: 0/s}", "2:41: a rate of 0 stops everything  [E-TYPE]", "write none"),
        (
            "{up: 2TiB/s}", "2:39: up 2TiB/s is out of range  [E-RANGE]",
            "allowed: 1/s to 1TiB/s, or none"
        ),
        (
            "{up: 9223372036854775807/s}",
            "2:39: up 9223372036854775807/s is out of range  [E-RANGE]",
            "allowed: 1/s to 1TiB/s, or none"
        ),
        ("{up: [1/s]}", "2:39: expected a rate or none, found a list  [E-TYPE]", "write 5MiB/s"),
        (
            "{donw: 1/s}", "2:35: unknown key \"donw\" in \"throttle\"  [E-KEY]",
            "did you mean \"down\"?"
        ),
    ])
    func `a wrong value is told with what to write`(text: String, first: String, hint: String) {
        let problems = decode("rules: [{match: a.dev, throttle: \(text)}]").errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `a throttle acts on a tunnel and decrypts nothing`() throws {
        let body = "rules: [{match: a.dev, throttle: {down: 1KiB/s}}]"
        #expect(try configuration(body).rules.rules.first?.needsClearText == false)
    }
}
