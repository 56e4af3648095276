// Which fields a step may name.

import LupinCore
import LupinPolicy
import Testing

@Suite struct StepFieldNamesTests {
    @Test(arguments: [
        ("Host", "`url: {host: …}` changes it"), ("content-length", "frames the message"),
        ("Transfer-Encoding", "frames the message"), ("Connection", "is about one connection"),
        ("TE", "is about one connection"), ("Upgrade", "is about one connection"),
        (":authority", "is a pseudo-header; `url: {host: …}`"), ("", "a field name is missing"),
        ("X Y", "a space may not stand in one"), ("X:", "`:` may not"), ("X-é", "`é` may not"),
        ("X\r\n", "a line end may not"), ("Proxy-Authorization", "never for an origin"),
    ])
    func `a field that steps may not set says why`(name: String, message: String) throws {
        let problem = try #require(RequestStep.problem(withFieldName: name))
        #expect(problem.contains(message), "\(problem)")
        #expect(RequestStep.problem(withRemoval: name) == problem)
    }

    @Test(arguments: ["Authorization", "X-Request-Id", "cookie", "Via", "x_y!"])
    func `any other token may be set`(name: String) {
        #expect(RequestStep.problem(withFieldName: name) == nil)
    }

    @Test func `a glob may remove, and its letters are those of a name`() {
        #expect(RequestStep.problem(withRemoval: "X-Debug-*") == nil)
        #expect(RequestStep.problem(withRemoval: "*") == nil)
        #expect(RequestStep.problem(withRemoval: "X *")?.contains("a space") == true)
    }

    @Test(arguments: [
        ("a\nb", "a line end may not"), ("a\0", "NUL may not"),
        ("\u{7F}", "a control byte may not"),
        ("a\r\nb", "a line end may not"),
    ])
    func `control bytes stand in no value`(value: String, message: String) throws {
        let problem = try #require(RequestStep.problem(withFieldValue: value))
        #expect(problem.hasPrefix(message))
        #expect(RequestStep.problem(withFieldValue: "a\tb é") == nil)
    }
}
