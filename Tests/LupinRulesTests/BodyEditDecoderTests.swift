// What the steps `body` and `json` and the answers of `respond` may say.
import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct BodyEditDecoderTests {
    private func step(_ text: String, _ side: String = "response") throws -> RequestStep? {
        let body = "rules: [{match: a.dev, \(side): [\(text)]}]"
        let rule = try #require(try configuration(body, environment: ["E": "v"]).rules.rules.first)
        return side == "request" ? rule.steps.first : rule.responseSteps.first
    }

    @Test(arguments: ["request", "response"])
    func `a replacement is read on both sides`(side: String) throws {
        let step = try step("{body: {replace: {from: /a(.)/, to: \"$1\"}}}", side)
        #expect(step == .edit(.replace(try BodyPattern("/a(.)/"), with: "$1")))
        #expect(step?.summary == "body replace")
    }

    @Test func `values of the rules file become JSON`() throws {
        let text = "{/a: true, /b: \"true\", /c: 1.0, /d: x, /e: [1, {k: null}], /f: \"${env:E}\"}"
        guard case .edit(.json(let edit))? = try step("{json: {set: \(text), remove: [/g]}}") else {
            Issue.record("no edit")
            return
        }
        let values = edit.set.map { String(decoding: $0.value, as: UTF8.self) }
        #expect(values == ["true", "\"true\"", "1.0", "\"x\"", "[1,{\"k\":null}]", "\"v\""])
        #expect(edit.remove.map(\.source) == ["/g"])
    }

    @Test(arguments: [
        ("response: [{body: {replace: {from: a}}}]", "\"replace\" has no \"to\""),
        ("response: [{body: {}}]", "\"body\" changes nothing"),
        ("response: [{body: {replace: {from: /a/, to: $1}}}]", "names no group"),
        ("response: [{json: {set: {a: 1}}}]", "\"a\" is not a JSON pointer"),
        ("response: [{json: {}}]", "\"json\" changes nothing"),
        ("cache: {modify: [{json: {remove: [/a]}}]}", "json"),
        ("respond: {file: a.json, folder: b}", "\"file\" and \"folder\" exclude each other"),
        ("respond: {body: x}", "\"respond\" has no \"status\""),
        ("respond: {body: {file: a.json}}", "write file: a.json in place of body"),
        ("respond: {body: {folder: mock}}", "write folder: mock in place of body"),
        ("respond: {body: [x]}", "write \"blocked\""),
        ("respond: {status: 204, file: a.json}", "a 204 has no body"),
        ("respond: {status: 200, body: \"${token:t}\"}", "is not allowed here"),
        ("respond: {status: 200, body: \"${file:t}\"}", "is not allowed here"),
        ("request: [{set: {X-A: \"${query:q}\"}}]", "only the body of respond knows the query"),
    ])
    func `what is wrong is said`(rule: String, sentence: String) {
        let messages = errors("rules: [{match: a.dev, \(rule)}]")
        #expect(messages.contains(sentence), "\(messages)")
    }

    @Test func `a file or a folder needs no status, and is 200`() throws {
        let rules = try configuration("rules: [{match: a.dev, respond: {folder: mock}}]").rules
            .rules
        #expect(rules.first?.respond?.status == 200)
        guard case .folder(let path)? = rules.first?.respond?.content else {
            Issue.record("no folder")
            return
        }
        #expect(path.hasSuffix("mock"))
    }
}
