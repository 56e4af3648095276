// What is kept of exchanges that a rule or a host has captured.
import Foundation
import LupinTestKit
import Synchronization
import Testing

struct CaptureTests {
    @Test func `both bodies are kept, with their heads`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(
                        200,
                        "Content-Type: text/plain",
                        "X-Got: \(request.body.count)",
                        body: "answer"
                    )
                }
            }
            let client = try proxy.client()
            try client.send("POST", origin.url("/a"), ["Content-Type: a/b"], body: "question")
            #expect(try client.response().bodyText == "answer")
            let id = try #require(try proxy.captured()["record.id"])
            let note = try proxy.admin("PUT", "/v1/exchanges/\(id)/note", json: "{\"marked\":true}")
            #expect(note.status == 200)
            let detail = try proxy.captured(id)
            let request = ["bytes": "8", "kept": "8", "type": "a/b"]
            #expect(detail.side("request") == request)
            #expect(detail.side("response") == ["bytes": "6", "kept": "6", "type": "text/plain"])
            #expect(detail.side("sent") == [:] && detail.side("received") == [:])
            #expect(try proxy.body("request", of: detail) == "question")
            #expect(try proxy.body("response", of: detail) == "answer")
            #expect(try proxy.body("sent", of: detail) == nil)
            #expect(detail.text.contains(#"["X-Got","8"]"#))
            #expect(detail["note.marked"] == "1")
            let files = try FileManager.default.contentsOfDirectory(atPath: proxy.capturePath)
            #expect(files.contains("exchanges.sqlite"))
            #expect(try client.get(origin.url("/b")).bodyText == "answer")
            let found = try proxy.admin("GET", "/v1/exchanges?filter=body~quest").bodyText
            #expect(found.contains("/a") && !found.contains("/b"))
            #expect(try proxy.admin("GET", "/v1/exchanges?filter=body:quest").status == 400)
        }
    }

    @Test func `who asks right behind the end of an exchange sees all of it`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "answer") }
            }
            let client = try proxy.client()
            for index in 0..<20 {
                #expect(try client.get(origin.url("/\(index)")).bodyText == "answer")
                let path = "/v1/exchanges/last?filter=path:/\(index)"
                try eventually("the end of the exchange") {
                    (try? proxy.admin("GET", path).status) == 200
                }
                #expect(try proxy.adminJSON(path).side("response")["kept"] == "6")
            }
        }
    }

    @Test(arguments: ["a=b\n&it's $HOME", "\u{0}\r\n%"])
    func `lupin curl sends the body that was captured`(body: String) async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 X\r\n\r\n")
            try proxy.client().send("POST", origin.url("/a"), ["Content-Type: a/b"], body: body)
            _ = try proxy.captured()
            let id = try #require(try proxy.record()["id"])
            let result = try Lupin.run("curl", "--socket", proxy.adminPath, id)
            #expect(result.code == 0 && !result.output.contains("not recorded"), "\(result.errors)")
            // What curl would send.
            let script = """
                curl() { while [ $# -gt 1 ]; do case "$1$2" in
                  --data-raw*) printf %s "$2";; --data-binary@-) cat;; esac; shift; done; }
                \(result.output)
                """
            let shown = try Lupin.run(program: "/bin/sh", ["-c", script])
            #expect(shown.output == body, "\(result.output) \(shown.errors)")
        }
    }

    @Test func `without capture there is no file`() async throws {
        let rules = ProxyFixture.captureFolder + "rules: [{match: {path: /**}, capture: false}]\n"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 X\r\n\r\n")
            #expect(try proxy.client().get(origin.url()).status == 204)
            let id = try #require(try proxy.record()["id"])
            #expect(try proxy.admin("GET", "/v1/exchanges/\(id)").status == 200)
            _ = try proxy.adminJSON("/v1/exchanges")
            #expect(try proxy.adminJSON("/v1/capture")["exchanges"] == "0")
            #expect(!FileManager.default.fileExists(atPath: proxy.capturePath))
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd", "gzip, br"])
    func `codings are undone`(codings: String) async throws {
        let plain = Array("{\"plain\":true}".utf8)
        let coded =
            switch codings {
            case "gzip": Coded.gzip(plain)
            case "deflate": Coded.deflate(plain)
            case "br": CompressedBody.brotli(plain)
            case "zstd": CompressedBody.zstd(plain)
            default: CompressedBody.brotli(Coded.gzip(plain))
            }
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let body = request.target == "/cut" ? Array(coded.dropLast(3)) : coded
                    try connection.send(
                        head(
                            "HTTP/1.1 200 X",
                            "Content-Encoding: \(codings)",
                            "Content-Length: \(body.count)"
                        )
                    )
                    for byte in body { try connection.send([byte]) }
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body == coded)
            let detail = try proxy.captured()
            let facts = [
                "bytes": "\(coded.count)", "kept": "\(plain.count)", "coding": codings,
            ]
            #expect(detail.side("response") == facts)
            #expect(try proxy.body("response", of: detail) == "{\"plain\":true}")
            _ = try client.get(origin.url("/cut"))
            #expect(try proxy.captured(1).side("response")["truncated"] == "coding")
        }
    }

    @Test func `codings that can't be undone, or are too many, are withheld`() async throws {
        let many = Array(repeating: "gzip", count: 6).joined(separator: ", ")
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                for coding in ["compress", many, "exi"] {
                    try connection.request()
                    try connection.reply(200, "Content-Encoding: \(coding)", body: "secret")
                }
            }
            let client = try proxy.client()
            for index in 0..<3 {
                #expect(try client.get(origin.url()).bodyText == "secret")
                let detail = try proxy.captured(index)
                let facts = detail.side("response")
                #expect(facts["kept"] == "0" && facts["withheld"] != nil)
                #expect(facts["coding"]?.utf8.count ?? 0 < 100)
                #expect(facts["withheld"]?.utf8.count ?? 0 < 150)
                #expect(try proxy.body("response", of: detail) == nil)
            }
        }
    }

    @Test func `a body is cut at the rule's limit, and no secret shows at the cut`() async throws {
        let rules =
            ProxyFixture.captureFolder + """
                tokens:
                  api: {bearer: "planted-s3cret-token", header: {name: X-T}, plain_http: true}
                rules: [{match: {path: /**}, capture: {bodies: 64B}, request: [{auth: api}]}]

                """
        try await ProxyFixture.run(rules) { proxy in
            let filler = String(repeating: ".", count: 50)
            let origin = try proxy.origin(
                answering: "HTTP/1.1 200 X\r\nContent-Length: 76\r\n\r\n"
                    + filler + "planted-s3cret-token......"
            )
            #expect(try proxy.client().get(origin.url()).body.count == 76)
            let detail = try proxy.captured()
            #expect(detail.side("response")["truncated"] == "limit")
            #expect(detail.side("response")["bytes"] == "76")
            let kept = try #require(try proxy.body("response", of: detail))
            #expect(kept.hasPrefix(filler + "REDACTED.") && !kept.contains("plant"))
        }
    }

    @Test func `what is beyond the limit passes whole, and is counted`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: {bodies: 64KiB}}]\n"
        let body = LongBody.bytes(4 << 20)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.body == body)
                try connection.reply(body: String(repeating: "a", count: 4 << 20))
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: \(body.count)"])
            try client.send(body)
            #expect(try client.response().body.count == 4 << 20)
            let detail = try proxy.captured()
            for side in ["request", "response"] {
                let facts = detail.side(side)
                #expect(facts["bytes"] == "\(4 << 20)" && facts["kept"] == "65536")
                #expect(facts["truncated"] == "limit")
            }
        }
    }

    @Test func `a writer that is behind loses bodies first, then exchanges, and says so`()
        async throws
    {
        // Less than an exchange with its heads, and less than a fourth of one.
        for (room, isKept) in [(1500, true), (100, false)] {
            try await ProxyFixture.run(
                ProxyFixture.capturing,
                environment: [ProxyFixture.captureQueue: "\(room)"]
            ) { proxy in
                let origin = try proxy.origin(
                    answering: "HTTP/1.1 200 X\r\nContent-Length: 4\r\n\r\nbody"
                )
                #expect(try proxy.client().get(origin.url()).bodyText == "body")
                let id = try #require(try proxy.record()["id"])
                guard isKept else {
                    try eventually("a warning") { !proxy.warnings.isEmpty }
                    #expect(proxy.warnings.first?.contains("lacks exchanges, 1 so far") == true)
                    let detail = try proxy.adminJSON("/v1/exchanges/\(id)")
                    #expect(detail["bodies.0.side"] == nil, "\(detail)")
                    return
                }
                let facts = try proxy.captured(id).side("response")
                #expect(facts["truncated"] == "writer" && facts["kept"] == "0")
                #expect(facts["bytes"] == "4")
            }
        }
    }

    @Test func `of a body that there is no room for the beginning is kept`() async throws {
        try await ProxyFixture.run(
            ProxyFixture.capturing,
            environment: [ProxyFixture.captureQueue: "6000"]
        ) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            _ = try connection.request()
            let begun = [UInt8](repeating: 0x61, count: 1000)
            let rest = [UInt8](repeating: 0x62, count: 100_000)
            try connection.send("HTTP/1.1 200 X\r\nContent-Length: 101000\r\n\r\n")
            try connection.send(begun)
            _ = try client.stream.socket.receive(until: "\r\n\r\n")
            #expect(try client.stream.socket.receive(exactly: 1000) == begun)
            try connection.send(rest)
            #expect(try client.stream.socket.receive(exactly: rest.count) == rest)
            let id = try #require(try proxy.record()["id"])
            let facts = try proxy.captured(id).side("response")
            #expect(facts["truncated"] == "writer" && facts["bytes"] == "101000")
            let kept = try #require(facts["kept"].flatMap { Int($0) })
            #expect((1000...6000).contains(kept))
        }
    }

    @Test func `an exchange that is lost in many parts counts once`() async throws {
        // A worker hands over 1 MiB at a time.
        let (part, count) = ([UInt8](repeating: 0x78, count: 256 << 10), 1100)
        try await ProxyFixture.run(
            ProxyFixture.captureFolder + "rules: [{match: {}, capture: {bodies: 1GiB}}]\n",
            environment: [ProxyFixture.captureQueue: "10"]
        ) { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.requestHead()
                let length = part.count * count
                try connection.send("HTTP/1.1 200 X\r\nContent-Length: \(length)\r\n\r\n")
                for _ in 0..<count { try connection.send(part) }
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.socket.receive(until: "\r\n\r\n")
            for _ in 0..<count { _ = try client.stream.socket.receive(exactly: part.count) }
            try eventually("a warning") { !proxy.warnings.isEmpty }
            _ = try proxy.record()
            let warnings = proxy.warnings.filter { $0.contains("lacks exchanges") }
            #expect(warnings.count == 1 && warnings[0].contains("1 so far"), "\(warnings)")
        }
    }

    @Test func `a body that breaks off says so`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send("HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf")
                connection.close()
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try? client.response()
            let detail = try proxy.captured()
            #expect(detail.side("response") == ["bytes": "4", "kept": "4", "truncated": "end"])
            #expect(try proxy.body("response", of: detail) == "half")
        }
    }

    @Test func `what rules edit is kept as it was and as it went on`() async throws {
        let edits = "[{body: {replace: {from: one, to: three}}}]"
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: true, "
            + "request: \(edits), response: \(edits)}]\n"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request().bodyText == "three up")
                try connection.reply(body: "one down")
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "one up")
            #expect(try client.response().bodyText == "three down")
            let detail = try proxy.captured()
            let sides = ["request", "sent", "received", "response"]
            let bodies = try sides.map { try proxy.body($0, of: detail) }
            #expect(bodies == ["one up", "three up", "one down", "three down"])
        }
    }

    @Test func `an upload that is sent again is kept once`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: true, retry: standard}]\n"
        let requests = Mutex(0)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let number = requests.withLock { count in
                        count += 1
                        return count
                    }
                    try connection.reply(number == 1 ? 503 : 200, body: "\(number)")
                    #expect(request.bodyText == "upload")
                }
            }
            let client = try proxy.client()
            try client.send("PUT", origin.url(), body: "upload")
            #expect(try client.response().bodyText == "2")
            let detail = try proxy.captured()
            #expect(try proxy.body("request", of: detail) == "upload")
            #expect(try proxy.body("response", of: detail) == "2")
            #expect(detail.side("request") == ["bytes": "6", "kept": "6"])
        }
    }

    @Test func `events are seen while they come`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let far = try origin.accept()
            try far.request()
            try far.send(
                head(
                    "HTTP/1.1 200 X",
                    "Content-Type: text/event-stream",
                    "Transfer-Encoding: chunked"
                ) + "b\r\ndata: one\n\n\r\n"
            )
            var id = ""
            try eventually("the event") {
                let live = try? proxy.adminJSON("/v1/exchanges/live")
                id = live?["exchanges.0.id"] ?? ""
                let body = try? proxy.admin("GET", "/v1/exchanges/\(id)/bodies/response")
                return body?.bodyText == "data: one\n\n"
            }
            #expect(try proxy.adminJSON("/v1/exchanges/\(id)").side("response")["kept"] == "11")
            try far.send("b\r\ndata: two\n\n\r\n0\r\n\r\n")
            #expect(try client.response().bodyText == "data: one\n\ndata: two\n\n")
            let kept = try proxy.body("response", of: try proxy.captured())
            #expect(kept == "data: one\n\ndata: two\n\n")
        }
    }

    @Test func `a host is captured at run time, also behind a reload, until it is taken back`()
        async throws
    {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 X", "Content-Length: 2") + "ok"
            )
            let client = try proxy.client()
            func isCaptured(_ index: Int) throws -> Bool {
                #expect(try client.get(origin.url()).bodyText == "ok")
                return try proxy.captured(index).side("response")["kept"] == "2"
            }
            let hosts = "{\"hosts\":[\"127.0.0.1\"]}"
            let on = try proxy.admin("PUT", "/v1/capture", json: hosts)
            #expect(on.status == 200 && on.bodyText.contains(#""hosts":["127.0.0.1"]"#))
            #expect(try isCaptured(0))
            _ = try await proxy.reload(ProxyFixture.captureFolder + "upstream: {via: false}\n")
            #expect(try isCaptured(1))
            #expect(try proxy.admin("PUT", "/v1/capture", json: "{\"hosts\":[]}").status == 200)
            #expect(try !isCaptured(2))
            for wrong in ["{}", "{\"hosts\":[1]}", "{\"hosts\":[\"a b\"]}", "{\"hosts\":\"a\"}"] {
                #expect(try proxy.admin("PUT", "/v1/capture", json: wrong).status == 400)
            }
            let cleared = try proxy.admin("DELETE", "/v1/capture")
            #expect(RecordLine(cleared.bodyText)?["exchanges"] == "0")
        }
    }

    @Test func `a reload turns the capture off`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 X", "Content-Length: 2") + "ok"
            )
            let client = try proxy.client()
            _ = try client.get(origin.url())
            #expect(try proxy.captured(0).side("response")["kept"] == "2")
            _ = try await proxy.reload(ProxyFixture.captureFolder)
            _ = try client.get(origin.url())
            #expect(try proxy.captured(1).side("response") == [:])
            #expect(try proxy.captured(0).side("response")["kept"] == "2")
        }
    }

    @Test func `answers from the cache are kept as well`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: true, cache: standard}]\n"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 X",
                    "Cache-Control: max-age=60",
                    "Content-Length: 2"
                ) + "ok"
            )
            let client = try proxy.client()
            for index in 0..<3 {
                #expect(try client.get(origin.url()).bodyText == "ok")
                let detail = try proxy.captured(index)
                #expect(try proxy.body("response", of: detail) == "ok")
            }
            #expect(origin.connections.count == 1)
        }
    }
}
