// Which failures pass by themselves, and what people read.

import LupinCore
import LupinPolicy
import Testing

struct TokenFailureTests {
    @Test(
        arguments: [
            (.missing, true), (.file(path: "/a", reason: "x"), true),
            (.unusable(reason: "x"), true),
            (.command(program: "a", .cannotStart(reason: "x")), true),
            (.command(program: "a", .exit(code: 1)), false),
            (.command(program: "a", .timeout), false),
            (.command(program: "a", .outputTooLong), true),
            (.command(program: "a", .outputNotText), true),
            (.unreachable(host: "a", reason: "x"), false),
            (.untrusted(host: "a", reason: "x"), false),
            (.redirected(host: "a", status: 302, target: "/x"), true),
            (.malformed(host: "a", status: 200, reason: "x"), false), (.excessive, false),
            (.refused(host: "a", status: 400, error: "invalid_grant"), true),
            (.refused(host: "a", status: 500, error: "invalid_client"), true),
            (.refused(host: "a", status: 400, error: "temporarily_unavailable"), false),
            (.refused(host: "a", status: 400, error: "something_else"), true),
            (.refused(host: "a", status: 429, error: nil), false),
            (.refused(host: "a", status: 408, error: nil), false),
            (.refused(host: "a", status: 425, error: nil), false),
            (.refused(host: "a", status: 503, error: nil), false),
            (.refused(host: "a", status: 401, error: nil), true),
            (.refused(host: "a", status: 302, error: nil), true),
        ] as [(TokenFailure.Kind, Bool)]
    )
    func `some failures pass and some stay`(kind: TokenFailure.Kind, isPermanent: Bool) {
        #expect(TokenFailure(kind).isPermanent == isPermanent)
    }

    @Test func `a sentence says how often the token server was asked`() {
        var failure = TokenFailure(.unreachable(host: "login.example", reason: "refused"))
        #expect(!failure.sentence(token: "t").contains("times"))
        failure.tries = 3
        #expect(failure.sentence(token: "t").hasSuffix("try again. lupin has asked 3 times."))
    }

    @Test func `a sentence names the token, the host, the status and the code`() {
        let failure = TokenFailure(.refused(host: "id.dev", status: 400, error: "invalid_grant"))
        #expect(
            failure.sentence(token: "me")
                == "The credential \"me\" is not available: id.dev refused to issue it"
                + " (400, invalid_grant)."
                + " The refresh token was used up or withdrawn: get a new one."
        )
        var other = failure
        other.grant = .clientCredentials
        let advice = other.sentence(token: "me")
        #expect(advice.contains("nothing for client_credentials: check `client`"))
        #expect(!advice.contains("refresh"))
        let silent = TokenFailure(.refused(host: "id.dev", status: 503, error: nil))
        #expect(silent.sentence(token: "me").hasSuffix("(503). Try again shortly."))
    }

    @Test(
        arguments: [
            .missing, .file(path: "/a", reason: "it is a directory"),
            .command(program: "vault", .exit(code: 2)), .command(program: "vault", .timeout),
            .unreachable(host: "id.dev", reason: "connection refused"),
            .untrusted(host: "id.dev", reason: "it is self-signed"),
            .redirected(host: "id.dev", status: 302, target: "https://login.dev/"),
            .malformed(host: "id.dev", status: 200, reason: "is empty"), .excessive,
            .unusable(reason: "does not fit"),
        ] as [TokenFailure.Kind]
    )
    func `every failure has a sentence`(kind: TokenFailure.Kind) {
        let sentence = TokenFailure(kind).sentence(token: "me")
        #expect(sentence.contains("\"me\""))
        #expect(sentence.hasSuffix("."))
        #expect(!sentence.contains(".."))
    }
}
