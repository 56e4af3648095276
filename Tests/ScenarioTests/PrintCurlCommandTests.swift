// `lupin curl`: from a log and from what a running lupin answers to a command that a shell takes.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct PrintCurlCommandTests {
    private static let id = "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b"

    private static let record = """
        {"schema":1,"event":"exchange","id":"\(id)","mode":"http","http":{"request":\
        {"method":"GET","header":{"x-env":["it's $HOME"],"x-api-key":["REDACTED.12ab"]}}},\
        "url":{"full":"http://a.example/x?y","scheme":"http","domain":"a.example","port":80,\
        "path":"/x"},"network":{"protocol":{"name":"http","version":"1.1"}},\
        "attempts":[{"n":1,"protocol":"1.1"}]}
        """

    @Test func `a shell makes of the command what the record says`() throws {
        let folder = try Folder()
        let log = try folder.write("log.jsonl", "{\"id\":\"other\"}\nno json\n\(Self.record)\n")
        let result = try Lupin.run("curl", "--log", log, Self.id)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("# set before: X_API_KEY\ncurl -X GET \\\n"))
        let script = "curl() { printf '<%s>' \"$@\"; }; X_API_KEY='k y'\n\(result.output)"
        let shown = try Lupin.run(program: "/bin/sh", ["-c", script])
        #expect(
            shown.output
                == "<-X><GET><--http1.1><-H><x-env: it's $HOME><-H><x-api-key: k y>"
                + "<http://a.example/x?y>"
        )
    }

    @Test(arguments: [["6f1c"], ["last"], ["last", "host:a.example"]])
    func `an exchange is named by some digits or by its place, too`(words: [String]) throws {
        let folder = try Folder()
        let older = Self.record.replacing("6f1c", with: "7a00").replacing(
            "a.example",
            with: "b.dev"
        )
        let log = try folder.write("log.jsonl", "\(older)\n\(Self.record)\n")
        let result = try Lupin.run(["curl", "--log", log] + words)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.contains("http://a.example/x?y"))
    }

    /// Other programs write the same JSON with blanks.
    @Test(arguments: [[id], ["6f1c"], ["last"]])
    func `a log with blanks in its JSON is read, too`(words: [String]) throws {
        let folder = try Folder()
        let spaced = Self.record.replacing("\":", with: "\" : ").replacing(",\"", with: ", \"")
        let log = try folder.write("log.jsonl", "{\"id\": \"other\"}\n\(spaced)\r\n")
        let rules = try folder.write("lupin.yaml", "lupin: 1\n")
        let printed = try Lupin.run(["curl", "--log", log] + words)
        #expect(printed.code == 0, "\(printed.errors)")
        #expect(printed.output.contains("http://a.example/x?y"))
        let explained = try Lupin.run(["explain", "--rules", rules, "--log", log] + words)
        #expect(explained.code == 0, "\(explained.errors)")
        #expect(explained.output.contains("a.example"))
    }

    @Test func `digits that begin two ids name both`() throws {
        let folder = try Folder()
        let other = Self.record.replacing("2a9d4b7f", with: "00000000")
        let log = try folder.write("log.jsonl", "\(other)\n\(Self.record)\n")
        let result = try Lupin.run("curl", "--log", log, "6f1c0e0b")
        #expect(result.code == 1)
        let first = Self.id.replacing("2a9d4b7f", with: "00000000")
        #expect(
            result.errors
                == "lupin: the digits begin more than one id: \(first), \(Self.id)\n"
        )
    }

    @Test func `a running lupin is asked by its socket`() throws {
        let folder = try Folder()
        let body = """
            {"record":\(Self.record),"request":{"method":"GET","target":"/x?y",\
            "fields":[["Host","a.example"],["Accept","*/*"]]},"sent":{"method":"GET",\
            "target":"/z","fields":[["Host","a.example"],["Accept","b"]]}}
            """
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = try LocalAnswer(in: folder.path, answer: Array(answer.utf8))
        let result = try Lupin.run("curl", "--adapted", "--socket", server.path, Self.id)
        #expect(result.code == 0, "\(result.errors)")
        #expect(
            result.output.hasSuffix(
                "  -H 'Accept: b' \\\n  -H 'User-Agent:' \\\n  http://a.example/z\n"
            )
        )
        #expect(server.question.hasPrefix("GET /v1/exchanges/\(Self.id) HTTP/1.1\r\n"))
    }

    @Test func `what lupin refuses is told`() throws {
        let folder = try Folder()
        let body = "{\"error\":\"no exchange of this id is under way or remembered\"}"
        let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let server = try LocalAnswer(in: folder.path, answer: Array(answer.utf8))
        let result = try Lupin.run("curl", "--socket", server.path, Self.id)
        #expect(result.code == 1 && result.output == "")
        #expect(result.errors == "lupin: no exchange of this id is under way or remembered\n")
    }

    @Test func `nobody at the socket and nothing in the log end with 1`() throws {
        let folder = try Folder()
        let nobody = try Lupin.run("curl", "--socket", "\(folder.path)/no.sock", Self.id)
        #expect(nobody.code == 1)
        #expect(nobody.errors.hasPrefix("lupin: no lupin answers at \(folder.path)/no.sock: "))
        #expect(nobody.errors.hasSuffix("; --log reads a log\n"))
        let log = try folder.write("log.jsonl", "{\"id\":\"\(Self.id)\"}\n")
        let nothing = try Lupin.run("curl", "--log", log, Self.id)
        #expect(nothing.code == 1)
        #expect(nothing.errors == "lupin: \(log) has no such exchange\n")
    }

    @Test(arguments: [
        ["short"], [id, "--attempt", "1"], [id, "--adapted", "--original"],
        [id, "--adapted", "--attempt", "0"], [id, "--log", "-", "--socket", "x"], [],
        ["last", "next"], ["6f1"],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        #expect(try Lupin.run(["curl"] + arguments).code == 64)
    }
}
