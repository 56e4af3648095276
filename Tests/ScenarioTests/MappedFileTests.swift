// Rules that answer with a file or a folder: as a web server does, and with nothing else.
import Foundation
import LupinTestKit
import Testing

struct MappedFileTests {
    private static let long = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    private static let files: [String: [UInt8]] = [
        "users.json": Array("[1,2]".utf8), "secret.txt": Array("outside".utf8), "long.bin": long,
    ]

    private func run(
        _ rule: String,
        access: String = "",
        identify users: LocalUsers? = nil,
        _ body: @Sendable @escaping (ProxyFixture) async throws -> Void
    ) async throws {
        try await ProxyFixture.run(
            "\(access)\nrules: [\(rule)]",
            files: Self.files,
            identify: users?.identify
        ) { proxy in
            let folder = "\(proxy.directory)/mock"
            for path in ["js", ".git", "empty"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(path)",
                    withIntermediateDirectories: true
                )
            }
            for (name, text) in [
                ("index.html", "<p>home"), ("js/main.js", "run()"), (".git/config", "hidden"),
            ] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            for (name, target) in [("out", "../secret.txt"), ("within", "js/main.js")] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(folder)/\(name)",
                    withDestinationPath: target
                )
            }
            try await body(proxy)
        }
    }

    @Test func `a file is the body, of its type, as it is now`() async throws {
        try await run("{match: {host: a.example}, respond: {file: DIR/users.json}}") { proxy in
            let client = try proxy.client()
            let first = try client.get("http://a.example/any")
            #expect(first.status == 200 && first.bodyText == "[1,2]")
            #expect(first["Content-Type"] == "application/json")
            #expect(first["Proxy-Status"]?.contains("answered by the rule") == true)
            #expect(first["Age"] == nil)
            let path = "\(proxy.directory)/users.json"
            try Data("[1,2,3]".utf8).write(to: URL(fileURLWithPath: path))
            let second = try client.get("http://a.example/any")
            #expect(second.bodyText == "[1,2,3]" && second["ETag"] != first["ETag"])
            let other = try proxy.client()
            try other.send("POST", "http://a.example/any", body: "x")
            #expect(try other.response().bodyText == "[1,2,3]")
            try FileManager.default.removeItem(atPath: path)
            let none = try client.get("http://a.example/any")
            #expect(none.status == 502 && none.bodyText.contains("No such file"))
            #expect(!none.bodyText.contains(proxy.directory))
            #expect(try proxy.records(4)[3]["error.type"] == "proxy_internal_error")
        }
    }

    @Test func `conditions and ranges hold as on a server`() async throws {
        try await run("{match: {host: a.example}, respond: {file: DIR/long.bin}}") { proxy in
            let client = try proxy.client()
            let url = "http://a.example/"
            let whole = try client.get(url)
            #expect(whole.body == Self.long && whole["Accept-Ranges"] == "bytes")
            let tag = try #require(whole["ETag"])
            let date = try #require(whole["Last-Modified"])
            #expect(try client.get(url, "If-None-Match: \(tag)").status == 304)
            #expect(try client.get(url, "If-Modified-Since: \(date)").status == 304)
            #expect(try client.get(url, "If-Match: \"other\"").status == 412)
            #expect(try client.get(url, "If-Match: \(tag)").status == 200)
            let part = try client.get(url, "Range: bytes=100000-200000", "If-Range: \(tag)")
            #expect(part.status == 206 && part.body == Array(Self.long[100_000...200_000]))
            #expect(part["Content-Range"] == "bytes 100000-200000/300000")
            #expect(try client.get(url, "Range: bytes=400000-").status == 416)
            let several = try client.get(url, "Range: bytes=0-0,299999-299999")
            #expect(several["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
            try client.send("HEAD", url)
            let head = try client.response(to: "HEAD")
            #expect(head["Content-Length"] == "300000" && head.body.isEmpty)
        }
    }

    @Test(.waitsForPrograms)
    func `a file that was sent is closed`() throws {
        let place = try Folder()
        _ = try place.write("a.txt", String(repeating: "a", count: 200_000))
        let rule = "{match: {host: a.example}, respond: {file: a.txt}}"
        let text = "lupin: 1\nlog: off\nlisten: [{address: 127.0.0.1:0}]\nrules: [\(rule)]\n"
        let running = try RunningLupin("--rules", try place.write("lupin.yaml", text))
        let client = try ScriptedClient(to: .loopback(port: running.port))
        #expect(try client.get("http://a.example/").body.count == 200_000)
        let before = running.descriptors
        for _ in 0..<20 { _ = try client.get("http://a.example/") }
        #expect(running.descriptors < before + 10)
    }

    @Test func `a status of the rule's own is kept, and ranges don't change it`() async throws {
        let rule = "{match: {host: a.example}, respond: {status: 503, file: DIR/users.json}}"
        try await run(rule) { proxy in
            let response = try proxy.client().get("http://a.example/", "Range: bytes=0-1")
            #expect(response.status == 503 && response.bodyText == "[1,2]")
            #expect(response["ETag"] == nil)
        }
    }

    private static let folder =
        "{match: {host: a.example, path: /app/**}, respond: {folder: DIR/mock}}"

    @Test(arguments: [
        ("/app/js/main.js", 200, "run()"), ("/app/", 200, "<p>home"), ("/app", 301, ""),
        ("/app/within", 200, "run()"), ("/app/js", 301, ""), ("/app/empty/", 404, ""),
        ("/app/none", 404, ""), ("/app/js/main.js/", 404, ""), ("/app/out", 404, ""),
        // Some servers read the latter as a path outside the rule's.
        ("/app/.git/config", 404, ""), ("/app/..%2fsecret.txt", 400, ""),
        ("/app/js/main.js/x", 404, ""), ("/app/%00", 404, ""),
    ])
    func `the path behind the rule's own names the file`(
        path: String,
        status: Int,
        body: String
    ) async throws {
        try await run(Self.folder) { proxy in
            let response = try proxy.client().get("http://a.example\(path)")
            #expect(response.status == status)
            if status == 200 { #expect(response.bodyText == body) }
            if status == 301 { #expect(response["Location"] == "\(path)/") }
            #expect(!response.bodyText.contains("outside"))
            #expect(!response.bodyText.contains("hidden"))
        }
    }

    @Test func `a redirect that is followed leads into a folder of another host`() async throws {
        let rules = """
            {name: follow, match: {path: /start}, redirect: {follow: true}},
            {name: mock, match: [{host: other.example, path: /**}, \
            {host: a.example, path: /app/**}], respond: {folder: DIR/mock}}
            """
        try await run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/start"))
            let connection = try origin.accept()
            _ = try connection.request()
            try connection.send(
                head(
                    "HTTP/1.1 302 Found",
                    "Location: http://a.example/app/js/main.js",
                    "Content-Length: 0"
                )
            )
            #expect(try client.response().bodyText == "run()")
        }
    }

    @Test func `a folder is only read, and comes inside https too`() async throws {
        try await run(Self.folder) { proxy in
            let client = try proxy.client()
            try client.send("POST", "http://a.example/app/", body: "x")
            let refused = try client.response()
            #expect(refused.status == 405 && refused["Allow"] == "GET, HEAD")
            let inside = try proxy.client().connectSecurely("a.example:443")
            let page = try inside.get("https://a.example/app/")
            #expect(page.bodyText == "<p>home")
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
        }
    }

    @Test(arguments: ["owner", "any"])
    func `what its owner alone may read is for nobody else, unless a rule names it`(
        access: String
    ) async throws {
        let users = LocalUsers()
        let rules = "\(Self.folder), {match: b.example, respond: {file: DIR/mock/js/main.js}}"
        let setting = "access: {credentials: \(access)}"
        try await run(rules, access: setting, identify: users) { proxy in
            let path = "\(proxy.directory)/mock/js/main.js"
            let manager = FileManager.default
            try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let (own, stranger) = (try proxy.client(), try users.stranger(proxy))
            #expect(try own.get("http://a.example/app/js/main.js").bodyText == "run()")
            // The mode is that of the file, also by a link.
            for name in ["js/main.js", "within"] {
                let answer = try stranger.get("http://a.example/app/\(name)")
                #expect(answer.status == (access == "any" ? 200 : 403))
                #expect(answer.bodyText.contains("chmod") == (access == "owner"))
                #expect(!answer.bodyText.contains(proxy.directory))
            }
            #expect(try stranger.get("http://b.example/").bodyText == "run()")
            #expect(try stranger.get("http://a.example/app/").bodyText == "<p>home")
            // A page of another site asks as the owner.
            let evil = "Origin: https://evil.example"
            for mark in [evil, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
                let answer = try own.get("http://a.example/app/js/main.js", mark)
                #expect(answer.status == 403 && answer.bodyText.contains("cross_site"))
            }
            for mark in ["Origin: http://a.example", "Sec-Fetch-Site: same-origin"] {
                let answer = try own.get("http://a.example/app/js/main.js", mark)
                #expect(answer.bodyText == "run()")
            }
            #expect(try own.get("http://b.example/", evil).bodyText == "run()")
            #expect(try own.get("http://a.example/app/", evil).bodyText == "<p>home")
            try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            #expect(try own.get("http://a.example/app/js/main.js", evil).bodyText == "run()")
            #expect(try stranger.get("http://a.example/app/js/main.js").bodyText == "run()")
        }
    }
}
