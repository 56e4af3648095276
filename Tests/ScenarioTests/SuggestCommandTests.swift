// From records to rules: what a first run used is what a second one may, and nothing else.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct SuggestCommandTests {
    /// A tunnel that carries a request of http.
    private static func tunnelledStatus(_ proxy: ProxyFixture, _ authority: String) throws -> Int {
        let client = try proxy.client()
        let response = try client.connect(authority)
        guard response.status == 200 else { return response.status }
        try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
        let status = try client.response().status
        client.close()
        return status
    }

    private static func decryptedStatus(
        _ proxy: ProxyFixture,
        _ authority: String,
        _ method: String = "GET"
    ) throws -> Int {
        let client = try proxy.client().connectSecurely(authority)
        try client.send("\(method) / HTTP/1.1\r\nHost: \(authority)\r\nContent-Length: 0\r\n\r\n")
        let status = try client.response(to: method).status
        client.close()
        return status
    }

    private static func plainStatus(
        _ proxy: ProxyFixture,
        _ authority: String,
        _ method: String = "GET"
    ) throws -> Int {
        let client = try proxy.client()
        try client.send(
            "\(method) http://\(authority)/ HTTP/1.1\r\nHost: \(authority)\r\n"
                + "Content-Length: 0\r\n\r\n"
        )
        let status = try client.response(to: method).status
        client.close()
        return status
    }

    @Test func `a second run may what a first one did, and no more`() async throws {
        let rules = """
            rules:
              - {name: inside, match: {host: origin.test}, request: [{set: {X-Inside: "1"}}]}
              - {name: none, match: {host: ads.test}, respond: {status: 403}}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let plain = try proxy.origin(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            let secure = try proxy.secureOrigin(name: "origin.test") { connection in
                while try connection.nextRequest() != nil { try connection.reply() }
            }
            let (inside, port) = (secure.authority("origin.test"), plain.address.port)
            #expect(try Self.plainStatus(proxy, plain.authority("plain.test")) == 200)
            #expect(try Self.tunnelledStatus(proxy, plain.authority("tunnel.test")) == 200)
            #expect(try Self.decryptedStatus(proxy, inside) == 200)
            #expect(try Self.tunnelledStatus(proxy, plain.authority("ads.test")) == 403)
            _ = try proxy.records(4)

            let suggested = try Lupin.run("suggest", "--log", proxy.logPath)
            #expect(suggested.code == 0 && suggested.errors == "")
            // Where rules refuse, HTTP in a CONNECT is no tunnel.
            let tunnelled = "match: {host: tunnel.test, port: \(port), method: [CONNECT, GET]}"
            #expect(suggested.output.contains(tunnelled))
            #expect(suggested.output.contains("#   ads.test:\(port) refused once: respond 403"))
            let folder = try Folder()
            let file = try folder.write("allow.yaml", suggested.output)
            #expect(try Lupin.run("check", file).code == 0)
            let checked = try Lupin.run("check", file, "--against", proxy.logPath)
            #expect(
                checked.output == """
                    \(file) against \(proxy.logPath): 4 exchanges
                    as before: 4 exchanges (1 forwarded, 2 decrypted, 1 refused)

                    """
            )
            #expect(checked.code == 0)

            let body = suggested.output.replacing("lupin: 1\n", with: "")
            _ = try await proxy.reload(body)
            #expect(try Self.plainStatus(proxy, plain.authority("plain.test")) == 200)
            #expect(try Self.tunnelledStatus(proxy, plain.authority("tunnel.test")) == 200)
            #expect(try Self.decryptedStatus(proxy, inside) == 200)
            // Other hosts, ports, methods and ways.
            #expect(try Self.plainStatus(proxy, plain.authority("plain.test"), "POST") == 403)
            #expect(try Self.tunnelledStatus(proxy, plain.authority("plain.test")) == 403)
            #expect(try Self.tunnelledStatus(proxy, "tunnel.test:1") == 403)
            #expect(try Self.decryptedStatus(proxy, inside, "POST") == 403)
            #expect(try Self.plainStatus(proxy, plain.authority("other.test")) == 403)
            #expect(try Self.tunnelledStatus(proxy, plain.authority("ads.test")) == 403)
        }
    }

    // MARK: The command line

    private static let log = [
        LoggedExchange("a.example"), .tunnel("b.example"), .tunnel("b.example"),
        .failed("c.example"),
    ].map(\.text).joined(separator: "\n")

    private static let refusal = """
        lupin: 1
        rules:
          - {name: block, match: b.example, respond: {status: 403}}

        """

    @Test func `check ends with 3 where something would be refused that was not`() throws {
        let folder = try Folder()
        let log = try folder.write("log.jsonl", Self.log + "\n{\"event\":\"exch")
        let file = try folder.write("lupin.yaml", Self.refusal)
        let result = try Lupin.run("check", file, "--against", log)
        #expect(result.code == 3)
        #expect(
            result.output == """
                \(file) against \(log): 4 exchanges
                refused, and was not: 2 exchanges
                  2  CONNECT b.example:443  by rule "block" (line 3); was tunnelled, \
                such as 6f1c0e0b
                as before: 2 exchanges (1 forwarded, 1 failed)

                """
        )
        #expect(result.errors == "lupin: warning: 1 line is no JSON and left out\n")
        let json = try Lupin.run("check", file, "--against", log, "--json")
        #expect(json.code == 3)
        let line = try #require(RecordLine(json.output))
        #expect(line["changes.refused"] == "2")
        #expect(line["groups.0.reason"] == #"by rule "block" (line 3)"#)
        #expect(line["broken"] == "1")
        #expect(line.list("logs") == [log])
        // A filter keeps what would be refused out of it.
        let filtered = try Lupin.run("check", file, "--against", log, "host:a.example")
        #expect(filtered.code == 0)
        #expect(filtered.output.contains("1 exchange\n"))
        // Two files, such as after a rotation.
        let both = try Lupin.run("check", file, "--against", log, "--against", log)
        #expect(both.output.contains("4 exchanges\n  4  CONNECT"))
    }

    @Test func `a bad file, a missing log and a wrong command line have codes of their own`() throws
    {
        let folder = try Folder()
        let log = try folder.write("log.jsonl", Self.log)
        let bad = try folder.write("bad.yaml", "lupin: 2\n")
        #expect(try Lupin.run("check", bad, "--against", log).code == 2)
        let missing = "\(folder.path)/none.jsonl"
        let good = try folder.write("lupin.yaml", Self.refusal)
        for result in [
            try Lupin.run("check", good, "--against", missing),
            try Lupin.run("suggest", "--log", missing),
        ] {
            #expect(result.code == 1)
            #expect(result.output == "")
            #expect(result.errors.contains("cannot open \(missing)"))
        }
        for arguments in [
            ["check", good, "--json"], ["check", good, "--since", "1h"],
            ["check", good, "--against", log, "other.yaml"], ["suggest", "log.jsonl"],
            ["check", good, "--against", log, "host:"], ["suggest", "--since", "yesterday"],
            ["suggest", "--log", log, "--rules", good],
        ] {
            let result = try Lupin.run(arguments)
            #expect(result.code == 64, "\(arguments): \(result)")
            #expect(result.output == "")
        }
    }

    @Test func `since counts from now, and standard input is a log, too`() throws {
        let folder = try Folder()
        let now = ISO8601DateFormatter().string(from: Date()).dropLast()
        let fresh = LoggedExchange("fresh.example").with { $0.time = "\(now).000000Z" }
        let log = try folder.write("log.jsonl", "\(Self.log)\n\(fresh.text)\n")
        let all = try Lupin.run("suggest", "--log", log).output
        #expect(all.contains("a.example") && all.contains("fresh.example"))
        for words in ["", "host:*.example", "host:fresh.example or host:a.example"] {
            let command = "'\(Lupin.path)' suggest --log - --since 1h \(words) < '\(log)'"
            let some = try Lupin.run(program: "/bin/sh", ["-c", command])
            #expect(some.code == 0, "\(some.errors)")
            #expect(!some.output.contains("a.example") && some.output.contains("fresh.example"))
        }
        let none = try Lupin.run("suggest", "--log", log, "host:x.example")
        #expect(none.code == 0)
        #expect(none.errors == "lupin: warning: no exchange in the log counts\n")
        #expect(none.output.contains("match: {}\n    respond: {status: 403}"))
    }

    @Test func `the log of the rules file is read where none is named`() throws {
        let folder = try Folder()
        let log = try folder.write("log.jsonl", Self.log)
        let file = try folder.write("lupin.yaml", "lupin: 1\nlog: {to: \(log)}\n")
        #expect(try Lupin.run("suggest", "--rules", file).output.contains("host: b.example"))
    }

    @Test func `a line that is too long is left out, not kept`() throws {
        let folder = try Folder()
        // As good as any other, but for its length.
        let long = LoggedExchange("long.example").with { $0.path = "/PATH" }.text
            .replacing("PATH", with: String(repeating: "x", count: 9 << 20))
        let log = try folder.write("log.jsonl", "\(Self.log)\n\(long)\n\(Self.log)\n\(long)")
        let result = try Lupin.run("suggest", "--log", log)
        #expect(result.output.contains("what 8 exchanges needed"))
        #expect(!result.output.contains("long.example"))
        #expect(result.errors == "lupin: warning: 2 lines are no JSON and left out\n")
    }

    @Test func `a log that names too much gives no file at all`() throws {
        let folder = try Folder()
        let lines = (0...10_000).map { LoggedExchange.tunnel("h\($0).example").text }
        let log = try folder.write("log.jsonl", lines.joined(separator: "\n"))
        let result = try Lupin.run("suggest", "--log", log)
        #expect(result.code == 1)
        #expect(result.output == "")
        #expect(result.errors.contains("more than 10000 targets"))
    }
}
