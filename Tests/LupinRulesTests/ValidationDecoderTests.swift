// What `validate:` of a rule may say, and what is said of anything else.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct ValidationDecoderTests {
    private func policy(
        _ text: String,
        environment: [String: String] = [:]
    ) throws -> ValidationPolicy {
        let body = "rules: [{match: a.dev, validate: \(text)}]"
        let rules = try configuration(body, environment: environment).rules.rules
        return try #require(rules.first?.validation)
    }

    private func scalar(_ text: String) throws -> JSONScalar? {
        try policy("{json: {/a: \(text)}}", environment: ["X": "1", "Y": "y"]).json.first?.values
            .first
    }

    // MARK: What is read

    @Test func `every key arrives`() throws {
        let policy = try policy(
            """
            {status: [200-299, 404], content_type: accept, header: {X-A: ["a*", /b/], ETag: "*"}, \
            size: {min: 1, max: 10MiB}, json: {/success: true, "": null}, then: retry}
            """
        )
        #expect(policy.status == StatusSet([200...299, 404...404]))
        #expect(policy.contentType == .accept)
        #expect(policy.headers.map(\.name) == ["X-A", "ETag"])
        #expect(policy.headers.first?.values.map(\.source) == ["a*", "/b/"])
        #expect(policy.size == .init(min: 1, max: 10 << 20))
        #expect(policy.json.map(\.pointer.source) == ["/success", ""])
        #expect(policy.json.map(\.values) == [[.bool(true)], [.null]])
        #expect(policy.action == .retry)
    }

    @Test func `what is not written demands nothing`() throws {
        let policy = try policy("{status: 200-399}")
        #expect(policy.contentType == nil && policy.headers.isEmpty && policy.size == nil)
        #expect(policy.json.isEmpty && policy.action == .fail)
        #expect(try self.policy("off").isEmpty)
        #expect(try self.policy("standard") == .standard)
        #expect(try self.policy("{size: {max: 0}}").size == .init(min: 0, max: 0))
        #expect(try self.policy("{size: {min: 1KiB}}").size == .init(min: 1024, max: nil))
    }

    @Test func `media types may be listed`() throws {
        let json = try #require(MediaRange("application/json"))
        let text = try #require(MediaRange("text/*"))
        #expect(try policy("{content_type: application/json}").contentType == .listed([json]))
        let list = "{content_type: [application/json, text/*]}"
        #expect(try policy(list).contentType == .listed([json, text]))
    }

    @Test func `plain words and numbers are what JSON takes them for`() throws {
        #expect(try scalar("true") == .bool(true))
        #expect(try scalar("false") == .bool(false))
        #expect(try scalar("null") == .null)
        #expect(try scalar("0") == JSONNumber("0.0").map { .number($0) })
        #expect(try scalar("-1.5e3") == JSONNumber("-1500").map { .number($0) })
        for text in ["yes", "x", "0x10", "1_000", "01", "2024-01-01", "+1"] {
            #expect(try scalar(text) == .string(text))
        }
        for text in ["true", "null", "0", ""] {
            #expect(try scalar("\"\(text)\"") == .string(text))
        }
        // What is filled in is a text, quoted or not.
        #expect(try scalar("\"${env:X}\"") == .string("1"))
        let block = "rules:\n  - match: a.dev\n    validate:\n      json:\n        /a: ${env:X}"
        let rules = try configuration(block, environment: ["X": "1"]).rules.rules
        #expect(rules.first?.validation?.json.first?.values == [.string("1")])
        #expect(try scalar("\"a${env:Y}\"") == .string("ay"))
    }

    @Test(arguments: ["{any: [true, \"true\", 1]}", "[true, \"true\", 1]"])
    func `of several values any is right`(text: String) throws {
        let one = try #require(JSONNumber("1"))
        let values = try policy("{json: {/a: \(text)}}").json.first?.values
        #expect(values == [.bool(true), .string("true"), .number(one)])
    }

    @Test func `a demand needs clear text, and none needs nothing`() throws {
        for (text, expected) in [("off", false), ("standard", true), ("{status: 200}", true)] {
            let body = "rules: [{match: a.dev, validate: \(text)}]"
            #expect(try configuration(body).rules.rules.first?.needsClearText == expected)
        }
    }

    // MARK: What is refused

    @Test(arguments: [
        (
            "true", "34: expected standard, off or a map, found \"true\"  [E-TYPE]",
            "write standard or {status: 200-399}"
        ),
        (
            "json", "34: expected standard, off or a map, found \"json\"  [E-TYPE]",
            "write {content_type: application/json}"
        ),
        (
            "{}", "34: \"validate\" demands nothing  [E-RANGE]",
            "write standard, {status: 200-399}, or off for nothing"
        ),
        (
            "{then: log}", "35: \"validate\" demands nothing  [E-RANGE]",
            "write standard, {status: 200-399}, or off for nothing"
        ),
        (
            "{stauts: 200}", "35: unknown key \"stauts\" in \"validate\"  [E-KEY]",
            "did you mean \"status\"?"
        ),
        (
            "{status: 200, then: ignore}", "54: unknown value \"ignore\"  [E-NAME]",
            "allowed: fail, retry, log"
        ),
        ("{status: 2xx}", "43: \"2xx\" is not a number  [E-TYPE]", "write 200-299"),
        ("{status: ok}", "43: \"ok\" is not a number  [E-TYPE]", "write a number from 100 to 599"),
        (
            "{status: 600}", "43: status 600 is out of range  [E-RANGE]",
            "allowed: 100 to 599"
        ),
        ("{status: 300-200}", "43: the range 300-200 is empty  [E-RANGE]", "write 200-300"),
        (
            "{status: 200-}", "43: \"\" is not a number  [E-TYPE]",
            "write a number from 100 to 599"
        ),
        (
            "{status: []}", "43: expected a status or a range, found an empty list  [E-TYPE]",
            "write 200-399"
        ),
        (
            "{content_type: json}", "49: \"json\" is not a media type  [E-TYPE]",
            "write application/json, text/* or accept"
        ),
        (
            "{content_type: acept}", "49: \"acept\" is not a media type  [E-TYPE]",
            "did you mean \"accept\"? write application/json, text/* or accept"
        ),
        (
            "{content_type: [a/b, accept]}",
            "55: \"accept\" is a word for itself and not one of several types  [E-TYPE]",
            "write content_type: accept"
        ),
        (
            "{content_type: a/b;c=d}", "49: parameters of a media type are not compared  [E-TYPE]",
            "write a/b"
        ),
    ])
    func `a wrong status or type is told`(text: String, first: String, hint: String?) {
        expect(text, first, hint)
    }

    @Test(arguments: [
        ("{header: {\"X A\": b}}", "44: \"X A\" is not a field name  [E-HEADER]", nil),
        (
            "{header: {X-A: []}}", "49: expected a value, found an empty list  [E-TYPE]",
            "write \"*\" for any value"
        ),
        (
            "{header: X-A}", "43: expected names and values, found \"X-A\"  [E-TYPE]",
            "write {X-Request-Id: \"*\"}"
        ),
        ("{header: {X-A: \"/(/\"}}", "51: `(` is not closed  [E-REGEX]", nil),
        ("{size: {min: 2}}", "47: \"2\" has no unit  [E-TYPE]", "write 2KiB"),
        ("{size: {max: 1KB}}", "47: \"1KB\" has an unknown unit  [E-TYPE]", "write 1KiB"),
        (
            "{size: {min: 2KiB, max: 1KiB}}",
            "41: max is less than min: no body is good  [E-RANGE]",
            "write the smaller one as min"
        ),
        (
            "{size: {mim: 1KiB}}", "42: unknown key \"mim\" in \"size\"  [E-KEY]",
            "did you mean \"min\"?"
        ),
        (
            "{size: 1KiB}", "41: expected min and max, found \"1KiB\"  [E-TYPE]",
            "write {min: 1B, max: 10MiB}"
        ),
        (
            "{json: {success: true}}", "42: \"success\" is not a JSON pointer  [E-TYPE]",
            "write /success"
        ),
        (
            "{json: {$.data.ok: true}}", "42: \"$.data.ok\" is not a JSON pointer  [E-TYPE]",
            "write /data/ok"
        ),
        (
            "{json: {/a~b: true}}", "42: \"/a~b\" is not a JSON pointer  [E-TYPE]",
            "~ is written ~0, and / in a name ~1"
        ),
        (
            "{json: {/a: True}}", "46: \"True\" is no value of JSON  [E-TYPE]",
            "write true, or \"True\" for the string"
        ),
        (
            "{json: {/a: [[1]]}}",
            "47: expected a string, a number, true, false or null, found a list  [E-TYPE]",
            "write /a/b: 1"
        ),
        (
            "{json: {/a: {any: []}}}",
            "52: expected values, found an empty list  [E-TYPE]",
            "write {any: [true, \"true\"]}"
        ),
        (
            "{json: {}}", "41: expected pointers and values, found a map  [E-TYPE]",
            "write {/success: true}"
        ),
    ])
    func `a wrong field, size or value is told`(text: String, first: String, hint: String?) {
        expect(text, first, hint)
    }

    private func expect(_ text: String, _ first: String, _ hint: String?) {
        let problems = decode("rules: [{match: a.dev, validate: \(text)}]").errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:2:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `values of a body are few`() throws {
        func text(_ count: Int) -> String {
            "{json: {\((0..<count).map { "/\($0): 1" }.joined(separator: ", "))}}"
        }
        #expect(try policy(text(32)).json.count == 32)
        let problems = decode("rules: [{match: a.dev, validate: \(text(33))}]").errors
        #expect(problems.map(\.message) == ["33 values are too many"])
        #expect(problems.map(\.code) == [.range])
    }

    @Test func `every problem of a map is told at once`() {
        let text = "{status: x, header: {X: [], \"Y Z\": a}, json: {a: ~}, size: {min: x, max: y}}"
        let problems = decode("rules: [{match: a.dev, validate: \(text)}]").errors
        #expect(problems.count == 7)
    }
}
