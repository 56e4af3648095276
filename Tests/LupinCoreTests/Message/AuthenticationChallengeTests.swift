// Which challenges are read from what servers write, right and wrong.

import LupinCore
import Testing

struct AuthenticationChallengeTests {
    @Test(arguments: [
        "Digest realm=\"r\" nonce=\"n\" qop=\"auth\"", "Digest realm=r nonce=n qop=auth",
        "Digest realm=\"r\"\tnonce=n, qop=\"auth\"",
        "Basic realm=\"x\" Digest realm=r nonce=n qop=auth",
    ])
    func `commas may be left out`(value: String) {
        let challenge = AuthenticationChallenge.challenges(in: value).last
        #expect(challenge?.scheme == "Digest")
        #expect(challenge?["realm"] == "r")
        #expect(challenge?["nonce"] == "n")
        #expect(challenge?["qop"] == "auth")
    }

    @Test func `blanks inside an unquoted value stay`() {
        let value = "Basic realm=My own Realm , charset=UTF-8"
        let challenge = AuthenticationChallenge.challenges(in: value).first
        #expect(challenge?["realm"] == "My own Realm")
        #expect(challenge?["charset"] == "UTF-8")
    }

    typealias Challenge = AuthenticationChallenge

    /// Challenges in short: `scheme token68 name=value|…`, with `;` between them.
    private func short(_ value: String) -> String { short(Challenge.challenges(in: value)) }

    private func short(_ challenges: [Challenge]) -> String {
        challenges.map { challenge in
            let parameters = challenge.parameters.map { "\($0.name)=\($0.value)" }
            let rest = [
                challenge.token68.map { "<\($0)>" } ?? "", parameters.joined(separator: "|"),
            ]
            return ([challenge.scheme] + rest.filter { !$0.isEmpty }).joined(separator: " ")
        }
        .joined(separator: "; ")
    }

    @Test(
        arguments: [
            ("Basic realm=\"x\"", "Basic realm=x"),
            ("Basic", "Basic"), ("", ""), (" , ,, ", ""),
            // RFC 9110 §11.6.1.
            (
                "Basic realm=\"simple\", Newauth realm=\"apps\", type=1,"
                    + " title=\"Login to \\\"apps\\\"\"",
                "Basic realm=simple; Newauth realm=apps|type=1|title=Login to \"apps\""
            ),
            ("Negotiate, NTLM, Basic realm=x", "Negotiate; NTLM; Basic realm=x"),
            ("Negotiate YII=, Basic realm=x", "Negotiate <YII=>; Basic realm=x"),
            ("NTLM TlRMTVNTUAACAA==", "NTLM <TlRMTVNTUAACAA==>"),
            (",Basic realm=\"a\",,, Bearer,", "Basic realm=a; Bearer"),
            ("Digest realm = \"a\" ,\tnonce=\t\"b\"", "Digest realm=a|nonce=b"),
            ("Digest qop=\"auth, auth-int\", nonce=n", "Digest qop=auth, auth-int|nonce=n"),
            ("Bearer realm=\"a, Basic realm=b\"", "Bearer realm=a, Basic realm=b"),
            ("Digest\trealm=a", "Digest realm=a"),
            ("Digest , realm=a", "Digest realm=a"),
            ("Basic realm=\"\"", "Basic realm="),
        ]
    )
    func `challenges are told apart from their parameters`(value: String, result: String) {
        #expect(short(value) == result)
    }

    @Test(
        arguments: [
            // Never closed: the parameter is dropped.
            ("Digest nonce=\"a\", realm=\"b", "Digest nonce=a"),
            ("Basic realm=\"a\\", "Basic"),
            // Values that should be quoted.
            ("Basic realm=My Realm", "Basic realm=My Realm"),
            ("Basic realm=a/b:c, x=1", "Basic realm=a/b:c|x=1"),
            // Parameters of nobody, names of nothing.
            ("realm=x, Basic realm=y", "Basic realm=y"),
            ("=x, Basic realm=y", "Basic realm=y"),
            ("Basic =x, Bearer realm=y", "Bearer realm=y"),
            ("Basic realm, x=1", "Basic <realm> x=1"),
            // Commas may be left out, so another word is another challenge.
            ("Basic realm=\"a\" rubbish \", \", x=1", "Basic realm=a; rubbish x=1"),
            ("Bas(ic realm=x, Bearer", "Bas; Bearer"),
            ("\"Basic realm=x\", Bearer", "Bearer"),
            ("Basic\u{0}realm=x", "Basic"),
            ("Bäsic, Bearer", "B; Bearer"),
        ]
    )
    func `of a malformed value what can be read is read`(value: String, result: String) {
        #expect(short(value) == result)
    }

    @Test func `several fields are one list`() {
        var fields = FieldSection()
        fields.add(name: "WWW-Authenticate", value: "Basic realm=\"a\"")
        fields.add(name: "Proxy-Authenticate", value: "Digest realm=\"p\"")
        fields.add(name: "www-authenticate", value: "Bearer scope=\"x y\"")
        #expect(short(Challenge.challenges(in: fields)) == "Basic realm=a; Bearer scope=x y")
        #expect(short(Challenge.challenges(in: fields, .proxyAuthenticate)) == "Digest realm=p")
    }

    @Test func `names and schemes have no case and the first value counts`() throws {
        let all = Challenge.challenges(in: "DIGEST Realm=a, REALM=b")
        let challenge = try #require(all.first)
        #expect(challenge["rEALM"] == "a")
        #expect(challenge["nonce"] == nil)
        #expect(challenge.isScheme("digest"))
        #expect(all.offers("Digest"))
        #expect(!all.offers("Basic"))
    }

    @Test func `a list without end is cut`() {
        let schemes = (0..<1000).map { "S\($0)" }.joined(separator: ",")
        #expect(Challenge.challenges(in: schemes).count == 32)
        let parameters = (0..<1000).map { "p\($0)=1" }.joined(separator: ",")
        #expect(Challenge.challenges(in: "S " + parameters).first?.parameters.count == 64)
    }

    @Test(
        arguments: [
            ("Bearer error=\"insufficient_scope\", scope=\"admin\"", true),
            ("bearer realm=x, error=insufficient_scope", true),
            ("Basic realm=x, Bearer error=\"insufficient_scope\"", true),
            ("Bearer error=\"invalid_token\"", false),
            ("Bearer error=invalid_token, Bearer error=insufficient_scope", false),
            ("Bearer", false), ("", false), ("Digest error=\"insufficient_scope\"", false),
        ]
    )
    func `rights that are not enough are told apart from a bad token`(value: String, is: Bool) {
        #expect(Challenge.challenges(in: value).isInsufficientScope == `is`)
    }

    @Test func `no cut of a value makes the reader trip`() {
        let value = "Basic realm=\"a\\\"b, c\" , Negotiate YII== ,Digest x = \"y\",, z=w q, \"\\"
        let scalars = Array(value.unicodeScalars)
        for start in scalars.indices {
            for end in start...scalars.count {
                let part = String(String.UnicodeScalarView(scalars[start..<end]))
                #expect(Challenge.challenges(in: part).count <= 8)
            }
        }
    }
}
