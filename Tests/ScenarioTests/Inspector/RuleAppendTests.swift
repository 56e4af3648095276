// A rule that is made in the inspector is shown first, then stands in the file and acts.
import Foundation
import LupinTestKit
import Testing

struct RuleAppendTests {
    private let rules = """
        \(ProxyFixture.adminSocket)rules:
          # The first one.
          - match: {path: /a}
            respond: {status: 403, body: "no a"}

        log: {level: exchange}

        """
    private let snippet = #"- match: {path: /b}\n  respond: {status: 418, body: \"no b\"}"#

    private func file(_ proxy: ProxyFixture) throws -> String {
        try String(contentsOfFile: "\(proxy.directory)/lupin.yaml", encoding: .utf8)
    }

    @Test func `after a preview it is appended, and acts`() async throws {
        try await ProxyFixture.run(rules, watchesRules: true) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try proxy.client().get(origin.url("/b")).status == 204)
            let before = try file(proxy)
            let preview = try #require(
                RecordLine(
                    try proxy.admin(
                        "POST",
                        "/v1/rules/preview",
                        json: "{\"snippet\":\"\(snippet)\"}"
                    ).bodyText
                )
            )
            #expect(preview["file"] == "\(proxy.directory)/lupin.yaml")
            #expect(preview.list("errors") == [])
            #expect(preview["line"] == "7")
            #expect(
                preview.list("added")
                    == ["  - match: {path: /b}", "    respond: {status: 418, body: \"no b\"}"]
            )
            #expect(preview.list("before").last == "    respond: {status: 403, body: \"no a\"}")
            #expect(preview.list("after").first == "")
            #expect(try file(proxy) == before)
            let digest = try #require(preview["digest"])
            let answer = try proxy.admin(
                "POST",
                "/v1/rules/append",
                json: "{\"snippet\":\"\(snippet)\",\"digest\":\"\(digest)\"}"
            )
            #expect(answer.status == 200, "\(answer.bodyText)")
            #expect(try proxy.client().get(origin.url("/b")).status == 418)
            #expect(try proxy.client().get(origin.url("/a")).status == 403)
            let after = try file(proxy)
            #expect(after.contains("  # The first one.\n"))
            #expect(after.hasSuffix("no b\"}\n\nlog: {level: exchange}\n"))
            let listed = try proxy.adminJSON("/v1/rules/list")
            #expect(listed.count("rules") == 2)
            #expect(listed["rules.1.line"] == "7")
        }
    }

    @Test func `a file that has changed meanwhile stays as it is`() async throws {
        try await ProxyFixture.run(rules, watchesRules: true) { proxy in
            let before = try file(proxy)
            for digest in ["", "0123", String(repeating: "0", count: 64)] {
                let answer = try proxy.admin(
                    "POST",
                    "/v1/rules/append",
                    json: "{\"snippet\":\"\(snippet)\",\"digest\":\"\(digest)\"}"
                )
                #expect(answer.status == 409)
            }
            #expect(try file(proxy) == before)
        }
    }

    @Test(arguments: [
        "- match: {path: /b}\\n  respnd: {status: 418}", "match: {path: /b}", "", "- [",
        "- match: {path: /b}\\nlog: off",
    ])
    func `a rule with a mistake is told and not taken`(snippet: String) async throws {
        try await ProxyFixture.run(rules, watchesRules: true) { proxy in
            let before = try file(proxy)
            let preview = try proxy.admin(
                "POST",
                "/v1/rules/preview",
                json: "{\"snippet\":\"\(snippet)\"}"
            )
            let line = try #require(RecordLine(preview.bodyText))
            #expect(line.count("errors") > 0, "\(preview.bodyText)")
            let digest = line["digest"] ?? ""
            let answer = try proxy.admin(
                "POST",
                "/v1/rules/append",
                json: "{\"snippet\":\"\(snippet)\",\"digest\":\"\(digest)\"}"
            )
            #expect(answer.status == 422, "\(answer.bodyText)")
            #expect(try file(proxy) == before)
        }
    }

    @Test func `without a rules file there is nothing to append to`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let answer = try proxy.admin(
                "POST",
                "/v1/rules/preview",
                json: "{\"snippet\":\"\(snippet)\"}"
            )
            #expect(answer.status == 409)
        }
    }
}
