// Which credentials log in to a connection, and which are for their message alone.
import LupinCore
import Testing

struct ConnectionLoginTests {
    @Test(
        arguments: [
            ("NTLM TlRM", .ntlm), ("ntlm\tTlRM", .ntlm), ("NTLM", .ntlm),
            ("Negotiate x", .negotiate),
            ("NEGOTIATE, x", .negotiate), ("Kerberos x", .kerberos), ("Nego2 x", .nego2),
            ("CredSSP x", .credSSP), ("pku2u x", .pku2u), (" NTLM x", .ntlm),
            // Not the first of a list: some servers read past what they don't know.
            ("Basic eDp5, NTLM x", .ntlm), (", \tNTLM x", .ntlm), ("Basic eDp5,NTLM", .ntlm),
            ("Digest username=\"u\", nonce=\"n\", Negotiate x", .negotiate),
            ("Basic NTLM x", nil), ("Basic eDp5, xNTLM x", nil), (",", nil),
            ("Basic dTpw", nil), ("Digest username=\"ntlm\"", nil), ("Bearer ntlm", nil), ("", nil),
            ("NTLMv2 x", nil),
        ] as [(String, ConnectionLogin?)]
    )
    func `the scheme decides`(value: String, login: ConnectionLogin?) {
        #expect(ConnectionLogin(credentials: value.utf8.span) == login)
    }

    @Test(
        arguments: [
            ("Basic dTpw", .none), ("digest username=\"u\", realm=\"r\"", .none),
            ("BEARER abc", .none), ("", .none), ("NTLM x", .login), ("Basic dTpw, NTLM", .login),
            ("X-Corp one", .unknown(["X-Corp"])), ("Basic dTpw, Corp", .unknown(["Corp"])),
        ] as [(String, LoginOffer)]
    )
    func `credentials of an unknown scheme may log in`(value: String, offer: LoginOffer) {
        #expect(LoginOffer(credentials: value.utf8.span) == offer)
    }

    @Test(
        arguments: [
            (401, "WWW-Authenticate: X-Corp two", true),
            (401, "WWW-Authenticate: x-corp two=", true),
            (401, "WWW-Authenticate: Basic realm=x, X-Corp two", true),
            (407, "Proxy-Authenticate: X-Corp two", true),
            (403, "WWW-Authenticate: X-Corp two", false),
            (401, "WWW-Authenticate: X-Corp", false),
            (401, "WWW-Authenticate: X-Corp realm=two", false),
            (401, "WWW-Authenticate: Y-Corp two", false),
            (401, "WWW-Authenticate: Basic two", false),
            (200, "Persistent-Auth: true", true), (401, "persistent-auth: TRUE", true),
            (200, "Persistent-Auth: false", false), (200, "X-Persistent-Auth: true", false),
        ]
    )
    func `what a server says shows that its connection has a user`(
        status: UInt16,
        field: String,
        isShown: Bool
    ) throws {
        var head = ResponseHead(status: status)
        let parts = field.split(separator: ":", maxSplits: 1)
        head.fields.add(name: String(parts[0]), value: String(parts[1].dropFirst()))
        #expect(head.showsLogin(after: .unknown(["X-Corp"])) == isShown)
        // Without credentials of a scheme that may log in, only its word counts.
        #expect(head.showsLogin(after: .none) == (isShown && !field.lowercased().contains("corp")))
    }

    @Test(arguments: ["Basic", "Bearer", "Digest"])
    func `one with credentials for their message alone logs in to nothing`(scheme: String) {
        var head = ResponseHead(status: 401)
        head.fields.add(name: "WWW-Authenticate", value: "\(scheme) two")
        let offer = LoginOffer(credentials: "\(scheme) one".utf8.span)
        #expect(!head.showsLogin(after: offer))
    }

    @Test(arguments: ["Authorization", "Proxy-Authorization"])
    func `in a field to the origin, and in one to a parent that is sent`(name: String) {
        var head = RequestHead()
        head.fields.add(name: "Accept", value: "NTLM x")
        #expect(!head.logsInToConnection)
        head.fields.add(name: name, value: "Basic dTpw")
        #expect(!head.logsInToConnection)
        head.fields.add(name: name, value: "NTLM x")
        #expect(head.logsInToConnection)
        HopByHop.dropProxyAuthorization(&head.fields)
        #expect(head.logsInToConnection == (name == "Authorization"))
    }

    @Test(
        arguments: [
            ("NTLM one", "NTLM two", "NTLM"), ("ntlm one", "nTLM two", "NTLM"),
            ("Negotiate a", "Basic realm=x, Negotiate b==", "Negotiate"),
            ("NTLM three", "NTLM", nil), ("NTLM one", "Negotiate two", nil),
            (nil, "NTLM two", nil), ("credssp one", "CredSSP two", "CredSSP"),
            ("x-corp one", "X-Corp two", "X-Corp"), ("X-Corp one", "X-Corp", nil),
            ("Basic dTpw", "Basic two", nil),
            ("Digest username=\"u\"", "Digest realm=\"x\", nonce=\"n\", stale=true", "Digest"),
            ("Digest username=\"u\"", "Digest realm=\"x\", nonce=\"n\"", nil),
        ] as [(String?, String, String?)]
    )
    func `a login goes on where the server answers by its next message`(
        credentials: String?,
        challenge: String,
        scheme: String?
    ) {
        let challenges = AuthenticationChallenge.challenges(in: challenge)
        #expect(LoginStep.scheme(after: credentials, by: challenges) == scheme)
        if let scheme {
            #expect(LoginStep.isByConnection(scheme) == challenges.contains(where: \.asksForLogin))
        }
    }

    @Test(arguments: [
        ("NTLM", true), ("negotiate, Basic realm=x", true), ("X-Corp dHdv", true),
        ("X-Corp", false), ("Basic realm=x", false), ("Bearer", false),
        ("Digest realm=x, nonce=n", false), ("Basic dHdv", false),
    ])
    func `a challenge asks for a login by its scheme or its message`(text: String, asks: Bool) {
        let challenges = AuthenticationChallenge.challenges(in: text)
        #expect(challenges.contains(where: \.asksForLogin) == asks)
    }
}
