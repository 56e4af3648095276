// Which credentials log in to a connection, and which are for their message alone.
import LupinCore
import Testing

struct ConnectionLoginTests {
    @Test(
        arguments: [
            ("NTLM TlRM", .ntlm), ("ntlm\tTlRM", .ntlm), ("NTLM", .ntlm),
            ("Negotiate x", .negotiate),
            ("NEGOTIATE, x", .negotiate), ("Kerberos x", .kerberos), ("Nego2 x", .nego2),
            ("Basic dTpw", nil), ("Digest username=\"ntlm\"", nil), ("Bearer ntlm", nil), ("", nil),
            ("NTLMv2 x", nil), (" NTLM x", nil),
        ] as [(String, ConnectionLogin?)]
    )
    func `the scheme decides`(value: String, login: ConnectionLogin?) {
        #expect(ConnectionLogin(credentials: value.utf8.span) == login)
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
            (nil, "NTLM two", nil), ("Basic dTpw", "Basic two", nil),
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
    }
}
