// `lupin exec --record` and `--replay`, as the commands that run under them see it.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct TapeCommandTests {
    /// A user with rules, an origin by http, one by https, and a tape.
    private final class Studio {
        let folder: Folder
        let plain: ScriptedOrigin
        let secure: ScriptedOrigin
        private let authority: TestAuthority

        init(_ rules: String = "") throws {
            folder = try Folder()
            authority = try TestAuthority()
            plain = try ScriptedOrigin(Studio.answer)
            secure = try ScriptedOrigin(
                security: try authority.server("127.0.0.1", ["http/1.1"]),
                Studio.answer
            )
            try write(rules: rules)
        }

        deinit { stopOrigins() }

        func stopOrigins() {
            plain.stop()
            secure.stop()
        }

        func write(rules: String) throws {
            let roots = try folder.write(
                "roots.pem",
                String(decoding: authority.pem, as: UTF8.self)
            )
            let text = "lupin: 1\nupstream: {tls: {roots: [\(roots)]}}\n\(rules)"
            _ = try folder.write("lupin.yaml", text)
        }

        var tape: String { "\(folder.path)/tape.har" }
        var tapeText: String { (try? String(contentsOfFile: tape, encoding: .utf8)) ?? "" }

        /// Numbers the requests, so that no two answers are the same by chance.
        private static let answer: ScriptedOrigin.Script = { connection in
            var count = 0
            while let request = try connection.nextRequest() {
                count += 1
                switch request.target {
                case "/chunks":
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Kind: chunks\r\n\r\n"
                            + "3\r\none\r\n4\r\n two\r\n0\r\n\r\n"
                    )
                case "/none": try connection.reply(204)
                case "/broken":
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
                    return connection.close()
                case "/old":
                    try connection.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
                case "/coded":
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nContent-Encoding: lz4\r\nContent-Length: 1\r\n\r\n."
                    )
                case _ where request.method == "HEAD":
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n")
                case let target where target.hasPrefix("/auth"): try connection.reply(204)
                case let target:
                    let text = "\(count): \(request.method) \(target) \(request.bodyText)"
                    try connection.reply(200, "X-Kind: text", body: text)
                }
            }
        }

        func exec(
            _ option: String,
            _ script: String,
            _ more: String...,
            tape other: String? = nil,
            temporary: String? = nil
        ) throws -> Lupin.Result {
            try Lupin.run(
                ["exec", "--all", option, other ?? tape, "--rules", "\(folder.path)/lupin.yaml"]
                    + more
                    + ["--", "sh", "-c", script],
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": folder.path,
                    "TMPDIR": temporary ?? folder.path,
                    "XDG_CONFIG_HOME": "\(folder.path)/config",
                ]
            )
        }
    }

    /// What is left in standard error that lupin says of the tape.
    private func remarks(_ result: Lupin.Result) -> [Substring] {
        result.errors.split(separator: "\n").filter { $0.contains("tape") }
    }

    @Test func `what was recorded is replayed, and the origins may be gone`() throws {
        let studio = try Studio()
        let (http, https) = (studio.plain.url(""), "https://\(studio.secure.authority)")
        let script = """
            set -e
            for url in \(http)/a \(http)/b \(http)/a \(https)/a \(http)/chunks \(http)/none; do
              curl -s -w ' %{http_code} %{size_download} %header{x-kind}\\n' "$url"
            done
            curl -s -o /dev/null -w '%{http_code} %header{etag}\\n' \(http)/old
            curl -sI \(http)/h | grep -i content-length
            curl -s -d '{"a": 1}' \(https)/p; echo
            curl -s -T - -H 'Transfer-Encoding: chunked' \(http)/up < /etc/hostname; echo
            curl -s --http2 -w ' %{http_version}\\n' \(https)/two
            exit 7
            """
        let recorded = try studio.exec("--record", script)
        #expect(recorded.code == 7, "\(recorded.errors)")
        #expect(remarks(recorded) == ["lupin: 11 exchanges on the tape \(studio.tape)"])
        let mode = try FileManager.default.attributesOfItem(atPath: studio.tape)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        studio.stopOrigins()
        for _ in 1...2 {
            let replayed = try studio.exec("--replay", script)
            #expect(replayed.output == recorded.output)
            #expect(replayed.code == 7)
            #expect(remarks(replayed) == [])
        }
        #expect(recorded.output.contains("one two 200 7 chunks\n"))
        #expect(recorded.output.contains(" 204 0 \n304 \"a\"\n"))
        #expect(recorded.output.contains("Content-Length: 77"))
    }

    @Test(arguments: [("none", ": No such file or directory; set TMPDIR"), ("open", "; chmod +t ")])
    func `a folder that is not fit for temporary files is named, with a way out`(
        name: String,
        words: String
    ) throws {
        let studio = try Studio()
        let open = "\(studio.folder.path)/open"
        try FileManager.default.createDirectory(
            atPath: open,
            withIntermediateDirectories: false
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: open)
        let place = "\(studio.folder.path)/\(name)"
        let result = try studio.exec("--record", "true", temporary: place)
        #expect(result.code != 0)
        #expect(result.errors.contains("temporary directory in \(place): "), "\(result.errors)")
        #expect(result.errors.contains(words), "\(result.errors)")
    }

    @Test func `what is no whole answer of a server is told, and played as it was`() throws {
        let studio = try Studio()
        let port = try ReservedPort()
        let script = """
            curl -s \(studio.plain.url("/broken")); echo " $?"
            curl -s -o /dev/null -w '%{http_code} %header{proxy-status}' \
              http://127.0.0.1:\(port.number)/
            """
        let recorded = try studio.exec("--record", script)
        #expect(recorded.output.hasPrefix("abc 18\n502 lupin; error=connection_refused"))
        #expect(
            remarks(recorded) == [
                "lupin: 2 exchanges on the tape \(studio.tape)",
                "lupin: warning: 1 response of the tape broke off, and will break off in a replay",
                "lupin: warning: 1 answer on the tape is lupin's own error, and no server's",
            ]
        )
        studio.stopOrigins()
        #expect(try studio.exec("--replay", script).output == recorded.output)
    }

    @Test func `a program in Python gets the same too`() throws {
        let studio = try Studio()
        let script = """
            import urllib.request as r
            for url in ["\(studio.plain.url("/x"))", "https://\(studio.secure.authority)/y"]:
                with r.urlopen(url) as f: print(f.status, f.read(), f.headers["X-Kind"])
            """
        let command = "python3 -c '\(script)'"
        let recorded = try studio.exec("--record", command)
        #expect(recorded.code == 0 && recorded.output.contains("GET /y"), "\(recorded.errors)")
        studio.stopOrigins()
        #expect(try studio.exec("--replay", command).output == recorded.output)
    }

    @Test func `a request that is not on the tape gets 502 and what differs`() throws {
        let studio = try Studio()
        let url = studio.plain.url("/x")
        func script(_ time: Int) -> String {
            "curl -s -w '%{http_code}' '\(url)?ts=\(time)&b=2' -H 'Date: \(time)'; exit 3"
        }
        let recorded = try studio.exec("--record", script(1))
        studio.stopOrigins()
        let missed = try studio.exec("--replay", script(2))
        #expect(missed.code == 3)
        #expect(missed.output.contains(#"query.ts: "1" on the tape, "2" now"#))
        #expect(missed.output.hasSuffix("502"))
        #expect(remarks(missed) == ["lupin: 1 request was not on the tape \(studio.tape)"])
        try studio.write(rules: "tape: {ignore: [query.ts, header.Date]}\n")
        #expect(try studio.exec("--replay", script(2)).output == recorded.output)
        try studio.write(rules: "tape: {ignore: [query.ts], match: [header.Date]}\n")
        let strict = try studio.exec("--replay", script(2)).output
        #expect(strict.contains(#"header.date: "1" on the tape, "2" now"#))
    }

    @Test func `secrets are not on the tape, and others fit in their place`() throws {
        let rules = """
            tokens: {t: {bearer: "${env:T}", plain_http: true}}
            log: {redact: {json: [pin]}}
            rules: [{match: {path: /auth/**}, request: [{auth: t}]}]

            """
        let studio = try Studio(rules.replacing("${env:T}", with: "planted-geheim"))
        let url = studio.plain.url("/auth/x")
        func script(_ secret: String) -> String {
            """
            curl -s -o /dev/null -w '%{http_code}' '\(url)?access_token=\(secret)' \
            -d '{"pin": "\(secret)", "echo": "planted-geheim"}' -H 'Cookie: a=\(secret)'
            """
        }
        #expect(try studio.exec("--record", script("pocket-geheim")).output == "204")
        let received = studio.plain.receivedText
        #expect(received.contains("Bearer planted-geheim") && received.contains("pocket-geheim"))
        #expect(!studio.tapeText.contains("geheim") && studio.tapeText.contains("REDACTED"))
        studio.stopOrigins()
        // The variable of the token is not set: nothing needs it.
        try studio.write(rules: rules)
        let replayed = try studio.exec("--replay", script("other"))
        #expect(replayed.output == "204", "\(replayed.errors)")
    }

    @Test func `a tape that would not be whole is not written`() throws {
        let studio = try Studio()
        _ = try studio.folder.write("tape.har", "old")
        let result = try studio.exec(
            "--record",
            "curl -s -o /dev/null \(studio.plain.url("/coded"))"
        )
        #expect(result.code == 1)
        #expect(result.errors.contains("was not written: the body of the response for "))
        #expect(result.errors.contains("can't undo the content coding lz4"))
        #expect(studio.tapeText == "old")
        #expect(try studio.exec("--record", "exit 5").code == 5)
        #expect(studio.tapeText.contains(#""entries":[]"#))
    }

    @Test func `what can't be played or written is said before the command runs`() throws {
        let studio = try Studio()
        #expect(try studio.exec("--replay", "echo ran").output == "")
        _ = try studio.folder.write("tape.har", #"{"log":{}}"#)
        let broken = try studio.exec("--replay", "echo ran")
        #expect(broken.code == 1 && broken.output == "")
        #expect(broken.errors.contains("cannot play \(studio.tape): "))
        let missing = "\(studio.folder.path)/missing/x.har"
        let nowhere = try studio.exec("--record", "echo ran", tape: missing)
        #expect(nowhere.code == 1 && nowhere.output == "")
        #expect(try studio.exec("--replay", "true", "--record", "x").code == 64)
        #expect(try studio.exec("--replay", "true", "--proxy", "http://a:1").code == 64)
    }

    @Test func `the user's exceptions hide nothing from a tape`() throws {
        let studio = try Studio()
        let result = try studio.exec(
            "--record",
            "echo $no_proxy; curl -s \(studio.plain.url("/x"))"
        )
        #expect(result.output.hasPrefix("\n") && result.output.contains("GET /x"))
        #expect(remarks(result) == ["lupin: 1 exchange on the tape \(studio.tape)"])
    }
}
