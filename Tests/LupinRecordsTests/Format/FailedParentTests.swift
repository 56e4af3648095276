// That the parent proxy is named where it was the parent that failed, and what it answered.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct FailedParentTests {
    private static let rows: [(ErrorKind, status: UInt16?, rule: String?, String)] = [
        (
            .dnsError, nil, nil,
            "The name of the parent proxy p.test:3128 could not be resolved. "
                + "Check the spelling and the network."
        ),
        (
            .connectionRefused, nil, "corp",
            "The parent proxy p.test:3128 (rule \"corp\") refused the connection. "
                + "Is the server running, and is the port right?"
        ),
        (
            .connectionTerminated, nil, "corp",
            "The parent proxy p.test:3128 (rule \"corp\") closed the connection before it "
                + "answered."
        ),
        (
            .httpProtocolError, nil, nil,
            "The parent proxy p.test:3128 sent something that is not valid HTTP."
        ),
        (
            .destinationUnavailable, 403, "corp",
            "The parent proxy p.test:3128 (rule \"corp\") answered CONNECT with 403, so there is "
                + "no tunnel to h. Does it allow this host and port?"
        ),
        (
            .destinationUnavailable, 502, nil,
            "The parent proxy p.test:3128 answered CONNECT with 502, so there is no tunnel to h. "
                + "Can it reach the host? Try again."
        ),
        (
            .destinationUnavailable, 407, "corp",
            "The parent proxy p.test:3128 (rule \"corp\") wants to know who asks. lupin can ask "
                + "the client only where the rule \"corp\" matches by the host alone: let it, or "
                + "put user and password into `proxy` of the rule \"corp\"."
        ),
        (
            .destinationUnavailable, 407, nil,
            "The parent proxy p.test:3128 wants to know who asks: put user and password into the "
                + "client's proxy setting, or into `upstream.proxy`."
        ),
        (
            .proxyConfigurationError, 407, "corp",
            "The parent proxy p.test:3128 (rule \"corp\") did not accept the user and password "
                + "that stand in `proxy` of the rule \"corp\"."
        ),
        (
            .proxyConfigurationError, 407, nil,
            "The parent proxy p.test:3128 did not accept the user and password that stand in "
                + "`upstream.proxy`."
        ),
        (
            .httpRequestDenied, 407, nil,
            "The parent proxy p.test:3128 wants to know who asks: put user and password into the "
                + "client's proxy setting, or into `upstream.proxy`."
        ),
    ]

    @Test(arguments: rows.indices)
    func `page, record, explain and Proxy-Status name it`(row: Int) throws {
        let (kind, status, rule, sentence) = Self.rows[row]
        let error = LupinError(kind, host: "h", detail: "x", side: .upstream)
            .blaming("p.test:3128", status: status).naming(parentRule: rule)
        #expect(error.sentence == sentence)
        let field = ProxyStatus.value(for: error, redactor: makeRedactor())
        let received = status.map { "; received-status=\($0)" } ?? ""
        #expect(
            field == "lupin; error=\(kind.registeredToken); next-hop=\"p.test:3128\"\(received)"
                + "; details=\"x\""
        )
        var record = makeFullRecord()
        record.origin = Host("h").map { Origin(scheme: .http, host: $0, port: 80) }
        record.outcome = .error
        record.attempts = []
        record.error = error
        let line = try #require(parseJSON(jsonLine(of: record, redactor: makeRedactor())))
        #expect(line["error", "parent"]?.string == "p.test:3128")
        #expect(line["error", "parent_rule"]?.string == rule)
        #expect(line["error", "parent_status"]?.count == status.map(UInt64.init))
        #expect(RecordedEnd(line).lines.contains("why: \(sentence)"))
    }

    @Test(arguments: ErrorKind.allCases.filter(\.isOfResponse))
    func `what a response says may be the origin's word as well`(kind: ErrorKind) throws {
        let error = LupinError(kind, host: "h", detail: "x", side: .upstream, status: 502)
            .blaming("p.test:3128").naming(parentRule: "corp")
        #expect(error.sentence.contains("h (by the parent proxy p.test:3128) "))
        #expect(error.failedParent == nil)
        let field = ProxyStatus.value(for: error, redactor: makeRedactor())
        #expect(field.contains("next-hop=\"p.test:3128\""))
        for scheme in [Scheme.http, .https] {
            var attempt = AttemptRecord()
            attempt.via = "p.test:3128"
            var record = makeFullRecord()
            record.origin = Host("h").map { Origin(scheme: scheme, host: $0, port: 80) }
            record.outcome = .error
            record.response = ResponseHead(status: 502)
            record.attempts = [attempt]
            record.error = error
            let line = try #require(parseJSON(jsonLine(of: record, redactor: makeRedactor())))
            #expect(line["error", "parent"] == nil)
            let lines = RecordedEnd(line).lines
            // Inside a tunnel the parent sees nothing of it.
            #expect(lines.contains("why: \(error.sentence)") == (scheme == .http))
        }
    }

    @Test func `but a 407 is the parent's, whatever refuses it`() {
        let error = LupinError(.proxyInternalResponse, host: "h", side: .upstream, status: 502)
            .blaming("p.test:3128", status: 407)
        #expect(error.failedParent?.status == 407)
        #expect(error.sentence.hasPrefix("The parent proxy p.test:3128 wants to know who asks"))
    }

    /// What a parent says by a 407 to a client, and what the client is told.
    private static let challenges: [(credentials: String?, challenge: String, said: String)] = [
        (
            nil, "Basic realm=\"x\"",
            "wants to know who asks: put user and password into the client's proxy setting, or "
                + "into `proxy` of the rule \"corp\"."
        ),
        (
            nil, "Negotiate, NTLM",
            "wants to know who asks, by Negotiate, NTLM: lupin does not log in by that, so the "
                + "client has to."
        ),
        (
            "basic dTpw", "Basic realm=\"x\"",
            "did not accept the credentials that the client sent (Basic). Are they right?"
        ),
        (
            "Basic dTpw", "NTLM",
            "did not accept the credentials that the client sent (Basic). It offers only NTLM, "
                + "which the client has to speak."
        ),
        (
            "NTLM three", "NTLM",
            "did not accept the credentials that the client sent (NTLM). Are they right?"
        ),
        (
            "cGxhbnRlZA==", "Basic realm=\"x\"",
            "did not accept the credentials that the client sent. Are they right?"
        ),
        ("", "", "did not accept the credentials that the client sent. Are they right?"),
    ]

    @Test(arguments: challenges.indices)
    func `it refuses what a client sent, or asks for some`(row: Int) throws {
        let (credentials, challenge, said) = Self.challenges[row]
        var fields = FieldSection()
        fields.add(name: "Proxy-Authenticate", value: challenge)
        let error = LupinError(.httpRequestDenied, host: "h", side: .upstream, status: 407)
            .blaming(
                "p.test:3128",
                status: 407,
                challenge: ParentChallenge(to: credentials, in: fields)
            ).naming(parentRule: "corp")
        let sentence = "The parent proxy p.test:3128 (rule \"corp\") \(said)"
        #expect(error.sentence == sentence)
        var record = makeFullRecord()
        record.origin = Host("h").map { Origin(scheme: .http, host: $0, port: 80) }
        record.outcome = .error
        record.response = ResponseHead(status: 407)
        record.error = error
        let text = jsonLine(of: record, redactor: makeRedactor())
        let line = try #require(parseJSON(text))
        #expect(RecordedEnd(line).lines.contains("why: \(sentence)"))
        #expect(!error.sentence.contains("cGxhbnRlZA"))
    }

    @Test func `a login that takes messages needs a rule by the host alone`() {
        var fields = FieldSection()
        fields.add(name: "Proxy-Authenticate", value: "NTLM")
        let challenge = ParentChallenge(to: nil, in: fields)
        let error = LupinError(.destinationUnavailable, host: "h", side: .upstream)
            .blaming("p.test:3128", status: 407, challenge: challenge).naming(parentRule: "corp")
        let late = "only where the rule \"corp\" matches by the host alone."
        #expect(
            error.sentence.hasSuffix("so the client has to. lupin can ask the client \(late)")
        )
    }

    @Test func `a client whose password is for lupin can't log in to the parent`() {
        let error = LupinError(.httpRequestDenied, host: "h", side: .upstream, status: 502)
            .blaming("p.test:3128", status: 407)
        #expect(error.sentence.hasSuffix("are for lupin: put others into `upstream.proxy`."))
    }

    private static let wrong =
        "The parent proxy answered the user and password of the rules file with 407. "
        + "Are they right?"

    @Test(arguments: [
        ("Basic realm=\"x\"", true, wrong),
        ("", true, wrong),
        ("NTLM, Basic realm=\"x\"", false, wrong),
        ("Digest realm=\"x\", nonce=\"n\"", true, wrong),
        (
            "Digest realm=\"x\", nonce=\"n\"", false,
            "The parent proxy asks for Digest, and the body of the request was not kept: "
                + "send it again."
        ),
        (
            "Negotiate, NTLM", true,
            "The parent proxy offers only Negotiate, NTLM, by which lupin does not log in. "
                + "A client may do so itself, where the rules file has no user and password for "
                + "that proxy."
        ),
    ])
    func `why a parent did not let lupin in`(field: String, wasRepeated: Bool, reason: String) {
        let challenges = AuthenticationChallenge.challenges(in: field)
        #expect(FailedParent.reason(for: challenges, wasRepeated: wasRepeated) == reason)
    }

    @Test func `what is no failure of upstream's names no parent`() {
        #expect(LupinError(.httpRequestDenied).blaming("p.test:3128").parent == nil)
        #expect(LupinError(.connectionRefused).naming(parentRule: "corp").parent == nil)
    }

    @Test func `a sentence begins with a capital, and names the host where one is known`() {
        let error = LupinError(.httpProtocolError, detail: "x")
        #expect(error.sentence == "The server sent something that is not valid HTTP.")
        let origin = Host("a.test").map { Origin(scheme: .http, host: $0, port: 81) }
        let named = error.naming(origin)
        #expect(named.sentence == "a.test:81 sent something that is not valid HTTP.")
        let ours = LupinError(.proxyInternalError).naming(origin)
        #expect(ours.host == nil)
    }

    @Test func `an attempt by a parent says so on a kept connection, too`() throws {
        var attempt = AttemptRecord()
        attempt.status = 200
        attempt.version = .http11
        attempt.isReused = true
        attempt.peer = .v4(0x7F00_0001)
        attempt.peerPort = 3128
        attempt.via = "p.test:3128"
        var record = makeFullRecord()
        record.attempts = [attempt]
        let line = try #require(parseJSON(jsonLine(of: record, redactor: makeRedactor())))
        #expect(line["attempts"]?.list?.first?["via"]?.string == "p.test:3128")
        #expect(line["attempts"]?.list?.first?["reused"]?.bool == true)
    }
}
