// That a secret is read when it is used, and is not shown however what holds it is printed.

import LupinCore
import LupinPolicy
import Testing

struct SecretTextTests {
    private static let files: [String: [UInt8]] = [
        "/a": Array("alpha\n".utf8), "/b": Array("beta\r\n".utf8), "/c": [0xFF],
    ]

    private func text(_ parts: SecretText.Part...) throws(TokenFailure) -> String {
        try SecretText(parts).text { path throws(TokenFailure) in
            guard let bytes = Self.files[path] else {
                throw TokenFailure(.file(path: path, reason: "there is no such file"))
            }
            return bytes
        }
    }

    @Test func `texts and files are put together`() throws {
        #expect(try text(.text("x-"), .file(path: "/a"), .text("-y")) == "x-alpha-y")
        #expect(try text(.file(path: "/b")) == "beta")
    }

    @Test func `a file that is no text fails with its path`() {
        #expect(throws: TokenFailure(.file(path: "/c", reason: "it is not UTF-8 text"))) {
            try text(.file(path: "/c"))
        }
        #expect(throws: TokenFailure(.file(path: "/d", reason: "there is no such file"))) {
            try text(.text("a"), .file(path: "/d"))
        }
    }

    @Test(
        arguments: [
            ("", ""), ("\n", ""), ("\r\n", ""), ("a\n\n", "a\n"), ("a\r", "a\r"), ("a ", "a "),
            ("\u{FEFF}a\n", "a"), ("\u{FEFF}", ""), ("a\u{FEFF}", "a\u{FEFF}"),
        ]
    )
    func `a byte order mark and one line end are dropped from a file`(
        content: String,
        text: String
    ) {
        #expect(SecretText.text(ofFile: Array(content.utf8)) == text)
    }

    @Test func `only a text without files is constant`() {
        #expect(SecretText([.text("a"), .text("b")]).constant == "ab")
        let mixed = SecretText([.text("a"), .file(path: "/b")])
        #expect(mixed.constant == nil)
        #expect(mixed.paths == ["/b"])
    }

    @Test func `nothing that holds a secret shows it`() throws {
        let secret = SecretText("hunter2")
        #expect("\(secret)" == "SecretText")
        let pair = try UserPassword(user: "ann", password: "hunter2")
        let credential = Credential(.token("hunter2"), obtainedAt: 0)
        var state = CredentialState(settings: RefreshSettings(), isRefreshable: false)
        state.refreshed(credential)
        var source = OAuth2Source(
            grant: .refreshToken,
            url: try #require(HTTPURL("https://id.example/")),
            clientID: "lupin",
            clientSecret: secret
        )
        source.refreshToken = secret
        source.parameters = [.init(name: "a", value: .text(secret))]
        let request = try OAuth2Exchange(source).request { _ throws(TokenFailure) in [] }
        let json = Array("{\"access_token\": \"hunter2\", \"refresh_token\": \"hunter2\"}".utf8)
        let response = try OAuth2Exchange(source).response(status: 200, body: json, now: 0)
        let values: [Any] = [
            secret, secret.parts, pair, credential, state, state.request(now: 0), source, request,
            response, TokenDefinition(name: "a", line: 1, source: .bearer(secret)),
            TokenSource.basic(user: secret, password: secret, preemptive: true),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("hunter2"))
                // The bytes of a request would be read as easily.
                #expect(!text.contains("104, 117"))
            }
        }
    }
}
