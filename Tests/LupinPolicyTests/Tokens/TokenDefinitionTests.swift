// Which field carries a credential, and what a source says of itself.

import LupinCore
import LupinPolicy
import Testing

struct TokenDefinitionTests {
    private static let token = SecretText("abc")

    @Test func `each source has its usual field`() throws {
        let bearer = TokenField(for: .bearer(Self.token))
        #expect(bearer.name == "Authorization")
        #expect(try bearer.value(credential: "abc") == "Bearer abc")
        let pair = try UserPassword(user: "Aladdin", password: "open sesame")
        let basic = TokenField(
            for: .basic(user: Self.token, password: Self.token, preemptive: true)
        )
        // RFC 7617 §2.
        let value = try basic.value(credential: pair.base64)
        #expect(value == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    }

    @Test func `users and passwords are UTF-8`() throws {
        // RFC 7617 §2.1.
        let pair = try UserPassword(user: "test", password: "123\u{A3}")
        #expect(pair.base64 == "dGVzdDoxMjPCow==")
    }

    @Test func `a field of its own has the credential where it is named`() throws {
        let field = TokenField(name: "X-Api-Key", value: [.text("key "), .token, .text(";")])
        #expect(try field.value(credential: "abc") == "key abc;")
        #expect(try TokenField(name: "X-Api-Key").value(credential: "abc") == "abc")
    }

    @Test(arguments: ["a\r\nHost: b", "a\nb", "a\0", "\u{7F}", "a\u{1B}[0m"])
    func `a credential cannot end its field`(credential: String) {
        let field = TokenField(for: .bearer(Self.token))
        let failure = #expect(throws: TokenFailure.self) { try field.value(credential: credential) }
        guard case .unusable = failure?.kind else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(throws: TokenFailure.self) { try UserPassword(user: "a", password: credential) }
    }

    @Test func `nothing and too much are no credential`() {
        let field = TokenField(for: .bearer(Self.token))
        #expect(throws: TokenFailure(.missing)) { try field.value(credential: "") }
        let long = String(repeating: "a", count: TokenField.credentialBytesMax + 1)
        #expect(throws: TokenFailure(.unusable(reason: "is longer than 32KiB"))) {
            try field.value(credential: long)
        }
    }

    @Test func `a user has no colon and a password may`() throws {
        #expect(throws: TokenFailure(.unusable(reason: "has a colon in its user"))) {
            try UserPassword(user: "a:b", password: "c")
        }
        #expect(try UserPassword(user: "a", password: "b:c").password == "b:c")
    }

    @Test func `what a program prints is a credential without its line end`() throws {
        let source = CommandSource(arguments: ["vault"])
        #expect(try source.credential(output: Array("abc\n".utf8)) == "abc")
        #expect(
            CommandSource.complaint(in: Array("\r\n \n not signed in \nx".utf8)) == "not signed in"
        )
        #expect(CommandSource.complaint(in: Array("\n".utf8)) == nil)
        #expect(CommandSource.complaint(in: Array("a\u{1B}[2Jb".utf8))?.contains("\u{1B}") == false)
        let endless = [UInt8](repeating: 0x61, count: 4096)
        #expect(CommandSource.complaint(in: endless)?.count == 200)
        #expect(throws: TokenFailure(.missing)) { try source.credential(output: [0x0A]) }
        #expect(throws: TokenFailure(.command(program: "vault", .outputNotText))) {
            try source.credential(output: [0xC3])
        }
        let long = [UInt8](repeating: 0x61, count: TokenField.credentialBytesMax + 1)
        #expect(throws: TokenFailure(.command(program: "vault", .outputTooLong))) {
            try source.credential(output: long)
        }
    }

    @Test func `what is written in the file cannot be refreshed, a file and a server can`() throws {
        let file = SecretText([.file(path: "/a")])
        #expect(!TokenSource.bearer(Self.token).isRefreshable)
        #expect(TokenSource.bearer(file).isRefreshable)
        let half = TokenSource.basic(user: Self.token, password: file, preemptive: true)
        #expect(half.isRefreshable)
        #expect(half.paths == ["/a"])
        #expect(!TokenSource.digest(user: Self.token, password: Self.token).isRefreshable)
        #expect(TokenSource.command(CommandSource(arguments: ["a"])).isRefreshable)
        let url = try #require(HTTPURL("https://id.example/"))
        let oauth2 = OAuth2Source(grant: .clientCredentials, url: url, clientID: "a")
        #expect(TokenSource.oauth2(oauth2).isRefreshable)
    }

    @Test func `a client without a secret says its id in the body`() throws {
        let url = try #require(HTTPURL("https://id.example/"))
        let open = OAuth2Source(grant: .refreshToken, url: url, clientID: "a")
        #expect(open.clientAuthentication == .body)
        let secret = OAuth2Source(
            grant: .refreshToken,
            url: url,
            clientID: "a",
            clientSecret: Self.token
        )
        #expect(secret.clientAuthentication == .basic)
    }
}
