// What `lupin explain` says of retries and of downloads that break off.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ExplainRetryTests {
    private static let rules = """
        lupin: 1
        retry:
          mine: {limit: 3, non_idempotent: with-idempotency-key}
        rules:
          - name: everybody
            match: {}
            retry: none
            resume: true
          - name: packages
            match: packages.example
            retry: standard
          - name: api
            match: api.example
            retry: {use: mine, status: [503]}
            resume: false
            request:
              - default: {Idempotency-Key: "${id}"}
          - name: own
            match: own.example
            respond: {status: 200}
          - name: upload
            match: upload.example
            retry: safe
            request: [{compress: {with: gzip}}]

        """

    private func explain(_ arguments: String...) throws -> String { try explain(arguments) }

    private func explain(_ arguments: [String]) throws -> String {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", Self.rules)
        let result = try Lupin.run(["explain", "--rules", file] + arguments)
        #expect(result.code == 0)
        return result.output
    }

    /// The lines below `retry`.
    private func section(_ output: String) -> [String] {
        let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
        guard let begin = lines.firstIndex(of: "retry") else { return [] }
        return lines[(begin + 1)...].prefix { !$0.isEmpty }.map(String.init)
    }

    @Test func `the policy, its rule and what it means are told`() throws {
        let lines = try section(explain("https://packages.example/a.deb"))
        #expect(lines.first == "  standard, by the rule \"packages\" (lupin.yaml:11)")
        #expect(lines.contains("    GET may be repeated"))
        let packages = "20% of the requests to packages.example in 10s, at least 100"
        #expect(lines.contains("    budget: \(packages)"))
        #expect(
            lines.last == "  resume: on by the rule \"everybody\": a download that breaks off is "
                + "finished by Range, where its length and a strong validator are known"
        )
        let post = try section(explain("-X", "POST", "https://packages.example/"))
        #expect(post.contains { $0.hasPrefix("    POST only where nothing was processed: ") })
        #expect(post.last == "  resume: on by the rule \"everybody\", but only GET is resumed")
    }

    @Test func `a policy in place, and a field that a step adds, are told`() throws {
        let lines = try section(explain("-X", "POST", "https://api.example:8443/"))
        #expect(lines.first == "  mine@14, by the rule \"api\" (lupin.yaml:14)")
        #expect(lines.contains("    POST may be repeated: it carries Idempotency-Key"))
        #expect(lines.contains { $0.contains("or status 503, 429 with Retry-After") })
        #expect(lines.contains { $0.contains("requests to api.example:8443 in 10s") })
        #expect(lines.last == "  resume: off")
    }

    @Test func `a body that is compressed is kept in a file, too`() throws {
        func kept(_ fields: String...) throws -> [String] {
            let arguments = fields.flatMap { ["-H", $0] }
            let output = try explain(["-X", "PUT", "https://upload.example/"] + arguments)
            return section(output).filter { $0.contains(" kept") }
        }
        let memory = "    of a body 256KiB are kept in memory"
        let rest = "a larger one is sent again only if nothing of it was sent"
        #expect(try kept() == ["\(memory), and 64MiB beyond in a file; \(rest)"])
        #expect(try kept("Content-Encoding: gzip") == ["\(memory); \(rest)"])
        #expect(try kept("Content-Length: 1000000") == ["    its body of 1000000 bytes is kept"])
    }

    @Test func `where nothing is sent again, that is told`() throws {
        let lines = try section(explain("http://other.example/"))
        #expect(
            lines.prefix(2) == [
                "  none, by the rule \"everybody\" (lupin.yaml:7)", "    nothing is sent again",
            ]
        )
        // Nothing goes upstream where lupin answers itself.
        #expect(try section(explain("http://own.example/")).isEmpty)
    }

    @Test func `programs read the same`() throws {
        let output = try explain("--json", "-X", "POST", "https://packages.example/")
        let json = try JSONSerialization.jsonObject(with: Data(output.utf8))
        let object = try #require(json as? [String: Any])
        let retry = try #require(object["retry"] as? [String: Any])
        #expect(retry["policy"] as? String == "standard")
        #expect(retry["rule"] as? String == "packages" && retry["line"] as? Int == 11)
        #expect(retry["repeats"] as? String == "unprocessed" && retry["limit"] as? Int == 2)
        #expect(retry["status"] as? [Int] == [408, 500, 502, 503, 504])
        #expect((retry["errors"] as? [String])?.first == "dns")
        let waits = try #require(retry["waits"] as? [[String: Int]])
        #expect(waits == [["min": 0, "max": 500], ["min": 0, "max": 1000]])
        let resume = try #require(object["resume"] as? [String: Any])
        #expect(resume["on"] as? Bool == true && resume["acts"] as? Bool == false)
        #expect(resume["rule"] as? String == "everybody" && resume["line"] as? Int == 8)
    }

    @Test func `a running lupin adds what budget and circuit say now`() throws {
        let origin = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil { try connection.reply(503) }
        }
        defer { origin.stop() }
        let folder = try Folder()
        let text = """
            lupin: 1
            listen: [{address: 127.0.0.1:0}]
            rules:
              - name: own
                match: {host: 127.0.0.1}
                retry:
                  use: standard
                  circuit: {failures: 2, open: 5m}
                  backoff: {base: 2, scale: 1ms, max: 2ms, jitter: none}

            """
        let file = try folder.write("lupin.yaml", text)
        let running = try RunningLupin("--rules", file)
        let url = origin.url("/")
        let asked = ["explain", "--rules", file, url]
        let environment = ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": running.runtime.path]
        let before = try Lupin.run(asked, environment: environment).output
        #expect(!before.contains("circuit now"))
        let client = try ScriptedClient(to: .loopback(port: running.port))
        #expect(try client.get(url).status == 503)
        let lines = section(try Lupin.run(asked, environment: environment).output)
        #expect(lines.contains { $0.hasPrefix("    circuit now: open until 2") })
        #expect(lines.contains { $0.hasPrefix("    budget now: 9") && $0.contains("of 100") })
        let json = try Lupin.run(asked + ["--json"], environment: environment).output
        #expect(json.contains("\"circuit_open_until\":\"2"))
        #expect(json.contains("\"budget_left\":9"))
    }

    @Test func `a running lupin says where it compresses no more`() throws {
        let origin = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                try connection.reply(request["content-encoding"] == nil ? 200 : 415)
            }
        }
        defer { origin.stop() }
        let folder = try Folder()
        let text = """
            lupin: 1
            listen: [{address: 127.0.0.1:0}]
            rules:
              - match: {host: 127.0.0.1}
                request: [{compress: {with: gzip, min: 1B}}]

            """
        let file = try folder.write("lupin.yaml", text)
        let running = try RunningLupin("--rules", file)
        let url = origin.url("/")
        let environment = ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": running.runtime.path]
        let asked = ["explain", "--rules", file, "-X", "POST", url]
        let line = "compression now: off until 2"
        #expect(try !Lupin.run(asked, environment: environment).output.contains(line))
        let client = try ScriptedClient(to: .loopback(port: running.port))
        try client.send("POST", url, body: "some text")
        #expect(try client.response(to: "POST").status == 200)
        for words in [asked, ["explain", "--all", "--rules", file, "last"]] {
            #expect(try Lupin.run(words, environment: environment).output.contains(line))
        }
        let json = try Lupin.run(asked + ["--json"], environment: environment).output
        #expect(json.contains("\"uncompressed_until\":\"2"))
    }
}
