// `lupin log`: the last exchanges of a running lupin or of a file, filtered, in short lines.
import Foundation
import LupinTestKit
import Testing

struct LogCommandTests {
    private func log(_ proxy: ProxyFixture, _ arguments: String...) throws -> [Substring] {
        let result = try Lupin.run(["log", "--socket", proxy.adminPath] + arguments)
        #expect(result.code == 0, "\(result.errors)")
        return result.output.split(separator: "\n")
    }

    @Test func `it asks the running lupin for the last ones, and shows those under way`()
        async throws
    {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            for path in ["/1", "/2", "/3"] {
                try client.send("GET", origin.url(path))
                let connection = try origin.accept()
                try connection.request()
                try connection.send(
                    head("HTTP/1.1 204 None", "Connection: close")
                )
                #expect(try client.response().status == 204)
                connection.close()
            }
            try client.send("GET", origin.url("/4"))
            let last = try origin.accept()
            try last.request()
            let lines = try log(proxy, "-n", "2")
            #expect(lines.count == 3)
            #expect(lines[0].contains(" 204 ") && lines[0].hasSuffix("/2"))
            #expect(lines[1].hasSuffix("/3"))
            let pattern = /… [0-9a-f]{8} GET http:.*\/4: waiting [0-9.]+m?s for the response head/
            #expect(lines[2].wholeMatch(of: pattern) != nil, "\(lines[2])")
            let id = try #require(lines[1].split(separator: " ").dropFirst(2).first)
            let explained = try Lupin.run("explain", "--socket", proxy.adminPath, String(id))
            #expect(explained.code == 0)
            #expect(explained.output.contains("\nend\n  delivered whole, status 204 after "))
            #expect(explained.output.contains("\ntimeline\n  attempt 1\n"))
            #expect(explained.output.contains(/\n    wait +[0-9]+ms  █+\n/))
            let live = try Lupin.run(
                "explain",
                "--socket",
                proxy.adminPath,
                String(lines[2].split(separator: " ")[1])
            )
            #expect(live.code == 1)
            #expect(live.errors.contains("lupin: the exchange is under way: … "))
            try last.send(head("HTTP/1.1 204 None"))
            #expect(try client.response().status == 204)
        }
    }

    @Test func `filters are words or options, and all must hold`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 404 No", "Content-Length: 0"))
            let client = try proxy.client()
            try client.get(origin.url())
            try client.get("http://127.0.0.1:1/")
            try proxy.settle()
            #expect(try log(proxy).count == 2)
            #expect(try log(proxy, "status:404").count == 1)
            #expect(try log(proxy, "--status", "4xx", "host:127.0.*").count == 1)
            #expect(try log(proxy, "outcome:error").count == 1)
            #expect(try log(proxy, "status:404", "outcome:error").isEmpty)
            #expect(try log(proxy, "status:404 or error:connection_*").count == 2)
            #expect(try log(proxy, "--status", "4xx", "host:x or", "port:1").isEmpty)
            #expect(try log(proxy, "-n", "1", "status:404").count == 1)
            #expect(try log(proxy, "-n", "0").isEmpty)
            let last = try Lupin.run("curl", "--socket", proxy.adminPath, "last", "status:404")
            #expect(last.output.contains(origin.url()))
            let wrong = try Lupin.run("explain", "--socket", proxy.adminPath, "last", "statu:1")
            #expect(wrong.code == 64)
            #expect(
                wrong.errors.hasPrefix(
                    """
                    Error: there is no key "statu"; did you mean status? `lupin help filters` \
                    lists all
                      statu:1
                      ^^^^^

                    """
                )
            )
            let refused = try proxy.admin("GET", "/v1/exchanges?filter=port%3Ax")
            #expect(refused.status == 400)
            #expect(
                refused.bodyText
                    == #"{"error":"at character 6 of the filter: \"x\" is not a number"}"# + "\n"
            )
            let json = try log(proxy, "--json", "outcome:error")
            #expect(RecordLine(String(json[0]))?["error.type"] == "connection_refused")
        }
    }

    @Test func `a long history comes whole, in order, and from a place on`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(204) }
            }
            let client = try proxy.client()
            for i in 0..<600 { #expect(try client.get(origin.url("/\(i)")).status == 204) }
            try proxy.settle()
            func lines(_ query: String) throws -> [RecordLine] {
                let reply = try proxy.admin("GET", "/v1/exchanges?format=lines&limit=1000\(query)")
                return reply.bodyText.split(separator: "\n").compactMap { RecordLine(String($0)) }
            }
            let all = try lines("")
            #expect(all.compactMap { $0["url.path"] } == (0..<600).map { "/\($0)" })
            let id = try #require(all[590]["id"])
            #expect(try lines("&after=\(id)").count == 9)
            let rest = try proxy.admin("GET", "/v1/exchanges?format=lines&after=\(id)")
            #expect(rest["Lupin-Last"] == all[599]["id"])
            #expect(try log(proxy, "-n", "5", "path:/1").count == 1)
            let reply = try proxy.admin("GET", "/v1/exchanges/last:7?filter=path%3A/1*")
            #expect(reply.bodyText.contains("\"path\":\"/193\""))
            #expect(try proxy.admin("GET", "/v1/exchanges/last:1?host=a").status == 400)
        }
    }

    @Test func `after a restart the log begins with what was captured before`() async throws {
        let folder = try Folder()
        let rules =
            ProxyFixture.adminSocket + """
                capture: {path: \(folder.path)}
                rules: [{match: {path: /**}, capture: true}]

                """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 None\r\n\r\n")
            #expect(try proxy.client().get(origin.url("/before")).status == 204)
            _ = try proxy.captured(try #require(try proxy.record()["id"]))
        }
        try await ProxyFixture.run(rules) { proxy in
            let lines = try log(proxy, "--json")
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            let before = try #require(RecordLine(String(line)))
            #expect(before["url.path"] == "/before")
            // Whoever follows goes on from there.
            let reply = try proxy.admin("GET", "/v1/exchanges?format=lines")
            #expect(reply["Lupin-Last"] == before["id"])
            let origin = try proxy.origin(answering: "HTTP/1.1 204 None\r\n\r\n")
            #expect(try proxy.client().get(origin.url("/after")).status == 204)
            try proxy.settle()
            let id = try #require(before["id"])
            let rest = try proxy.admin("GET", "/v1/exchanges?format=lines&after=\(id)").bodyText
            #expect(rest.contains("/after") && !rest.contains("/before"))
        }
    }

    @Test(.waitsForPrograms)
    func `a name that looks like a filter may be a file`() throws {
        let folder = try Folder()
        _ = try folder.write("log=prod", "")
        let found = try Lupin.run(["log", "log=prod"], in: folder.path)
        #expect(found.code == 0 && found.errors.isEmpty)
        #expect(try Lupin.run(["log", "log=none"], in: folder.path).code == 64)
    }

    @Test(.waitsForPrograms)
    func `a log that isn't there is no mistake of the command line`() throws {
        let missing = try Lupin.run("log", "/absent/log")
        #expect(missing.code == 1)
        #expect(missing.errors.hasPrefix("lupin: error: cannot open /absent/log: "))
        #expect(!missing.errors.contains("Usage"))
        let word = try Lupin.run("log", "orders")
        #expect(word.errors.hasSuffix("; to look for it in URLs, write url~orders\n"))
        let folder = try Folder()
        let rules = try folder.write("lupin.yaml", "lupin: 1\n")
        let unnamed = try Lupin.run("log", "--rules", rules)
        #expect(unnamed.code == 1 && !unnamed.errors.contains("Usage"), "\(unnamed)")
    }

    @Test(.waitsForPrograms)
    func `without a running lupin the records that exec left are read, and said to be`() throws {
        let folder = try Folder()
        let environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path,
        ]
        let state = "\(folder.path)/.local/state/lupin"
        try FileManager.default.createDirectory(
            atPath: state,
            withIntermediateDirectories: true
        )
        _ = try folder.write(
            ".local/state/lupin/exec.jsonl",
            """
            {"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange",\
            "id":"6f1c0e0b000000000000000000000000","outcome":"ok","mode":"http",\
            "client":{"address":"127.0.0.1"},"http":{"request":{"method":"GET"},\
            "response":{"status_code":204}},"url":{"full":"http://a.example/left",\
            "scheme":"http","domain":"a.example","port":80,"path":"/left"}}

            """
        )
        for command in [["log"], ["explain", "last"], ["curl", "last"]] {
            let result = try Lupin.run(command, environment: environment)
            #expect(result.code == 0, "\(command) \(result.errors)")
            #expect(result.output.contains("a.example"), "\(command) \(result.output)")
            let said =
                "lupin: no lupin answers; this is what lupin exec left in \(state)/exec.jsonl\n"
            #expect(result.errors.contains(said), "\(command) \(result.errors)")
        }
        // Who names a socket wants that lupin.
        let other = try Lupin.run(
            ["explain", "--socket", "\(folder.path)/none", "last"],
            environment: environment
        )
        #expect(other.code == 1)
    }

    @Test(.waitsForPrograms)
    func `a file is read instead, all of it or its end`() throws {
        let folder = try Folder()
        let lines = (0..<60).map { i in
            """
            {"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange",\
            "id":"\(i + 10)000000000000000000000000000000","outcome":"ok",\
            "url":{"full":"http://a.example/\(i)","domain":"a.example"}}

            """
        }
        let file = try folder.write("log.jsonl", lines.joined())
        let all = try Lupin.run("log", file)
        // The day comes first, since it is not today.
        #expect(all.output.hasPrefix("--- 2026-11-20\n"))
        #expect(all.output.split(separator: "\n").count == 61)
        let some = try Lupin.run("tail", "-n", "3", file, "host:*.example")
        let urls = some.output.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("http") }
        }
        #expect(urls == (57..<60).map { "http://a.example/\($0)"[...] })
    }

    @Test(arguments: [
        ["a", "b"], ["-n", "-1"], ["status:9xx"], ["--host", "b", "(status:200"], ["outcome:bad"],
        ["host:a", "or"], ["hots:a"],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        #expect(try Lupin.run(["log"] + arguments).code == 64)
    }
}
