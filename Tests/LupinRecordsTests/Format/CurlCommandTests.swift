// A recorded request as a shell command: what is quoted how, what is left out, and what is hidden.

import LupinCore
import LupinRecords
import Testing

@Suite struct CurlCommandTests {
    private func command(
        _ fields: [(String, String)] = [],
        method: String = "GET",
        url: String = "http://a.dev/"
    ) -> CurlCommand {
        let all = [("User-Agent", "u"), ("Accept", "x")] + fields
        return CurlCommand(
            method: method,
            url: url,
            fields: all.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        )
    }

    private func line(_ name: String, _ value: [UInt8]) -> String {
        var command = command()
        command.fields.append((Array(name.utf8), value))
        return command.text.split(separator: "\n").dropFirst(3).first.map(String.init) ?? ""
    }

    @Test func `a request is a line for each field, and the URL last`() {
        var command = command([("X-Env", "dev")], method: "POST", url: "https://a.dev/b?c=d&e")
        command.version = "2"
        command.remarks = ["one\ntwo"]
        #expect(
            command.text == """
                # one two
                curl -X POST \\
                  --http2 \\
                  -H 'User-Agent: u' \\
                  -H 'Accept: x' \\
                  -H 'X-Env: dev' \\
                  'https://a.dev/b?c=d&e'
                """
        )
    }

    private static let quoted: [(String, String)] = [
        ("it's", #"-H 'X: it'\''s' \"#), ("$HOME `id` $(id)", #"-H 'X: $HOME `id` $(id)' \"#),
        (#"a\b"c!"#, #"-H 'X: a\b"c!' \"#), ("-v", "-H 'X: -v' \\"),
        ("@/etc/passwd", "-H 'X: @/etc/passwd' \\"),
        ("'\u{301}; id #", "-H 'X: '\\''\u{301}; id #' \\"),
        ("é", "-H 'X: é' \\"), ("", "-H 'X;' \\"), ("a\tb", #"-H "$(printf -- 'X: a\011b')" \"#),
    ]

    @Test(arguments: quoted.indices)
    func `a shell takes every value literally`(index: Int) {
        let (value, expected) = Self.quoted[index]
        #expect(line("X", Array(value.utf8)) == "  \(expected)")
    }

    @Test func `bytes that are no text come by printf`() {
        let value: [UInt8] = [0x63, 0x61, 0x66, 0xE9, 0x25, 0x27, 0x5C]
        #expect(line("X", value) == #"  -H "$(printf -- 'X: caf\351%%\047\134')" \"#)
    }

    @Test func `hidden values are variables, equal ones the same`() {
        let text = command(
            [
                ("Authorization", "Bearer REDACTED.12ab"), ("X-Api-Key", "REDACTED.0001"),
                ("X-Api-Key", "REDACTED.0002"), ("Path", "REDACTED.0003"),
            ],
            url: "http://a.dev/?a=b&code=REDACTED.41fe&x-y=REDACTED.41ff"
        ).text
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines[0] == "# set before: AUTHORIZATION X_API_KEY X_API_KEY_2 PATH_2 CODE X_Y")
        #expect(lines[4] == #"  -H 'Authorization: Bearer '"$AUTHORIZATION" \"#)
        #expect(lines[5] == #"  -H 'X-Api-Key: '"$X_API_KEY" \"#)
        #expect(lines[6] == #"  -H 'X-Api-Key: '"$X_API_KEY_2" \"#)
        #expect(lines[7] == #"  -H 'Path: '"$PATH_2" \"#)
        #expect(lines[8] == #"  'http://a.dev/?a=b&code='"$CODE"'&x-y='"$X_Y""#)
    }

    @Test func `a body is the last but the URL, and nothing in it means anything to a shell`() {
        var command = command(
            [("Content-Type", "a/b"), ("Content-Encoding", "gzip")],
            method: "PUT"
        )
        for (body, expected) in [
            ("a=b&c", "--data-raw 'a=b&c'"), ("@/etc/passwd", "--data-raw '@/etc/passwd'"),
            ("{\n\t\"a\": \"it's\"\n}\n", "--data-raw '{\n\t\"a\": \"it'\\''s\"\n}\n'"),
            ("$HOME `id`", "--data-raw '$HOME `id`'"), ("", "--data-raw ''"),
            ("t=REDACTED.12ab", "--data-raw 't='\"$BODY\""),
        ] {
            command.body = Array(body.utf8)
            #expect(command.text.contains("  \(expected) \\\n  http"), "\(command.text)")
            #expect(!command.text.contains("Content-Encoding"))
        }
        for (body, format) in [
            ([0, 0x25, 0x27, 0xFF], #"\000%%\047\377"#),
            (Array("a\u{202E}".utf8), #"a\342\200\256"#),
            (Array("a\r\nb".utf8), #"a\015\012b"#),
        ] as [([UInt8], String)] {
            command.body = body
            #expect(
                command.text.hasPrefix("printf -- '\(format)' | curl -X PUT "),
                "\(command.text)"
            )
            #expect(command.text.contains("  --data-binary @- \\\n"))
        }
    }

    @Test func `what is hidden in a body is a variable, however the body is written`() {
        var command = command([("X-Key", "REDACTED.12ab")], method: "PUT")
        command.body = Array("a=REDACTED.34cd\r\n%REDACTED.56ef\r\n".utf8)
        let lines = command.text.split(separator: "\n")
        #expect(lines[0] == "# set before: X_KEY BODY BODY_2", "\(command.text)")
        let printing = #"printf -- 'a=%s\015\012%%%s\015\012' "$BODY" "$BODY_2" | curl -X PUT \"#
        #expect(lines[1] == printing, "\(command.text)")
        command.url = "http://a.dev/?code=REDACTED.78aa"
        #expect(command.text.hasPrefix("# set before: X_KEY BODY BODY_2 CODE\n"))
    }

    @Test func `curl says itself no type of a body, and undoes codings that were asked for`() {
        var command = command([("Accept-Encoding", "gzip, br")], method: "POST")
        command.body = [0x61]
        #expect(command.text.contains("-H 'Content-Type:' "))
        #expect(command.text.contains("  -H 'Accept-Encoding: gzip, br' "))
        #expect(command.text.contains("  --compressed "))
        command.fields.removeLast()
        command.fields.append((Array("Accept-Encoding".utf8), Array("identity".utf8)))
        #expect(!command.text.contains("--compressed"))
    }

    @Test func `what belongs to the connection or the body stays out`() {
        let text = command([
            ("Host", "A.dev"), ("Connection", "close, X-Hop"), ("X-Hop", "1"),
            ("Content-Length", "3"), ("Transfer-Encoding", "chunked"), ("TE", "trailers"),
            ("Proxy-Authorization", "REDACTED.0000"), ("X-Stays", "1"),
        ]).text
        #expect(text.hasSuffix("-H 'X-Stays: 1' \\\n  http://a.dev/"))
        #expect(text.split(separator: "\n").count == 5)
        #expect(command([("Host", "b.dev")]).text.contains("-H 'Host: b.dev'"))
    }

    @Test func `curl adds nothing of its own and takes the URL as it is`() {
        var bare = CurlCommand(method: "HEAD", url: "http://a.dev/a/../[b]", fields: [])
        #expect(
            bare.text == """
                curl --head \\
                  --globoff \\
                  --path-as-is \\
                  -H 'User-Agent:' \\
                  -H 'Accept:' \\
                  'http://a.dev/a/../[b]'
                """
        )
        bare.hasAllFields = false
        #expect(!bare.text.contains("-H"))
    }

    @Test(arguments: [
        ("1.0", "--http1.0"), ("1.1", "--http1.1"), ("2", "--http2-prior-knowledge"),
    ])
    func `the version is that of the record`(version: String, flag: String) {
        var command = command()
        command.version = version
        #expect(command.text.contains("  \(flag) \\\n"))
    }
}
