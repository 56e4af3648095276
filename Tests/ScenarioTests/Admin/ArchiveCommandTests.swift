// `lupin har export`: what ran through a lupin, as a file for developer tools.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ArchiveCommandTests {
    private func urls(_ result: Lupin.Result) throws -> [String] {
        #expect(result.code == 0, "\(result.errors)")
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let log = try #require((json as? [String: Any])?["log"] as? [String: Any])
        let entries = try #require(log["entries"] as? [[String: Any]])
        return entries.compactMap { ($0["request"] as? [String: Any])?["url"] as? String }
    }

    @Test func `the last exchanges come with their heads, without secrets`() async throws {
        let rules = """
            tokens: {api: {bearer: "planted-geheim", plain_http: true}}
            rules:
              - {match: {path: /private}, request: [{auth: api}]}

            """
        try await ProxyFixture.run(ProxyFixture.adminSocket + rules) { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 OK",
                    "Content-Type: text/plain",
                    "Set-Cookie: sid=planted-geheim",
                    "X-Echo: planted-geheim",
                    "Content-Length: 0"
                )
            )
            let client = try proxy.client()
            try client.get(origin.url("/private?code=planted-geheim"), "Authorization: Basic Zzo=")
            try client.get(origin.url("/open"), "X-Shown: yes")
            try proxy.settle()
            let all = try Lupin.run("har", "export", "--socket", proxy.adminPath)
            #expect(try urls(all).count == 2)
            #expect(!all.output.contains("geheim") && !all.output.contains("Zzo="))
            #expect(all.output.contains(#"{"name":"X-Shown","value":"yes"}"#))
            #expect(all.output.contains(#""mimeType":"text/plain""#))
            let some = try Lupin.run("har", "export", "--socket", proxy.adminPath, "path:/open")
            #expect(try urls(some) == [origin.url("/open")])
            for (words, path) in [
                (["last"], "/open"), (["last:2"], "/private?code=REDACTED"),
                (["last", "path:/private"], "/private?code=REDACTED"),
            ] {
                let one = try Lupin.run(["har", "export", "--socket", proxy.adminPath] + words)
                let found = try urls(one)
                #expect(found.count == 1)
                #expect(found.first?.hasPrefix(origin.url(path)) == true, "\(found)")
            }
        }
    }

    @Test func `a log is read too`() throws {
        let folder = try Folder()
        let lines = [404, 200].map { status in
            """
            {"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange",\
            "id":"10000000000000000000000000000000","outcome":"ok",\
            "http":{"request":{"method":"GET"},"response":{"status_code":\(status)}},\
            "url":{"full":"http://a.example/\(status)","scheme":"http","domain":"a.example"}}

            """
        }
        let file = try folder.write("log.jsonl", lines.joined() + "garbage\n")
        let result = try Lupin.run("har", "export", "--log", file, "not status:2xx")
        #expect(try urls(result) == ["http://a.example/404"])
        let path = "\(folder.path)/some.har"
        let words = ["har", "export", "--log", file, "not status:2xx", "-o", path]
        for word in [path, "-"] {
            let written = try Lupin.run(words.dropLast() + [word])
            #expect(written.code == 0 && written.output == (word == "-" ? result.output : ""))
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == result.output)
        let script = "\"$0\" har export --log \"$1\" > /dev/full"
        let full = try Lupin.run(program: "/bin/sh", ["-c", script, Lupin.path, file])
        #expect(full.code == 1 && full.errors.contains("No space left"))
    }

    @Test func `one exchange of a log is named by its ID, or counted from the end`() throws {
        let lines = (1...3).map { number in
            """
            {"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange",\
            "id":"\(number)a\(number)b0000000000000000000000000000","outcome":"ok",\
            "http":{"request":{"method":"GET"},"response":{"status_code":200}},\
            "url":{"full":"http://a.example/\(number)","scheme":"http","domain":"a.example"}}

            """
        }
        let folder = try Folder()
        let file = try folder.write("log.jsonl", lines.joined())
        for (words, number) in [
            (["last"], 3), (["last:2"], 2), (["LAST", "host:a.example"], 3), (["1a1b"], 1),
        ] {
            let result = try Lupin.run(["har", "export", "--log", file] + words)
            #expect(try urls(result) == ["http://a.example/\(number)"])
        }
        let script = "\"$0\" har export --log - last:2 < \"$1\""
        let piped = try Lupin.run(program: "/bin/sh", ["-c", script, Lupin.path, file])
        #expect(try urls(piped) == ["http://a.example/2"])
        for words in [["last:9"], ["ffff"]] {
            let result = try Lupin.run(["har", "export", "--log", file] + words)
            #expect(result.code == 1 && result.errors.contains("no such exchange"))
        }
    }

    @Test(
        arguments: [
            (["hots:a"], 64), (["lupin.jsonl"], 64), (["--log", "/nonexistent/x"], 1),
            (["--socket", "/nonexistent/x"], 1), (["--socket", "a", "--log", "b"], 64),
        ] as [([String], Int32)]
    )
    func `what can't be done is said`(arguments: [String], code: Int32) throws {
        let result = try Lupin.run(["har", "export"] + arguments)
        #expect(result.code == code && result.output.isEmpty && !result.errors.isEmpty)
    }
}
