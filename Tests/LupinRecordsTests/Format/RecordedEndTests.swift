// That a record tells why its exchange ended so: for every kind of failure, and for every decision.
import LupinCore
import LupinPolicy
import LupinRecords
import LupinTestKit
import Testing

struct RecordedEndTests {
    private func lines(_ change: (inout ExchangeRecord) -> Void) throws -> [String] {
        var record = makeFullRecord()
        record.attempts = []
        change(&record)
        let line = jsonLine(of: record, redactor: makeRedactor())
        return RecordedEnd(try #require(parseJSON(line))).lines
    }

    /// What is said of each kind of error, with the status that it has by default.
    static let sentences: [(ErrorKind, String)] = [
        (
            .dnsTimeout,
            "The name server did not answer in time for h. Check the network, or try again."
        ),
        (.dnsError, "The name h could not be resolved. Check the spelling and the network."),
        (
            .destinationNotFound,
            "A tape is played instead of h, and it has no usable answer to this."
        ),
        (
            .destinationUnavailable,
            "No connection to h came about. Is the server running, and can it be reached?"
        ),
        (
            .destinationIPProhibited,
            "lupin does not connect to the address of h. Where the rules file does not say "
                + "otherwise, `access.deny_targets` forbids link-local addresses and lupin's own."
        ),
        (
            .destinationIPUnroutable,
            "There is no route to the address of h. Check the network or the VPN."
        ),
        (
            .connectionRefused,
            "h refused the connection. Is the server running, and is the port right?"
        ),
        (.connectionTerminated, "h closed the connection before it answered."),
        (
            .connectionTimeout,
            "h could not be reached in time. Check the network, or raise `timeouts.connect`."
        ),
        (
            .connectionReadTimeout,
            "h stopped sending. If it may be silent for long, raise `timeouts.idle`."
        ),
        (
            .connectionWriteTimeout,
            "h stopped reading the request. If it may be busy for long, raise `timeouts.idle`."
        ),
        (
            .connectionLimitReached,
            "All connections lupin may open are in use. "
                + "Raise `limits.connections` or the system's `ulimit -n`, or try again."
        ),
        (.tlsProtocolError, "TLS with h failed."),
        (
            .tlsCertificateError,
            "The certificate of h is not trusted, so nothing was sent. "
                + "If this server is yours, write a `trust` rule for it."
        ),
        (
            .tlsAlertReceived,
            "h broke off TLS by an alert."
        ),
        (
            .httpRequestError,
            "The request is not valid HTTP: it was not passed on, or not in whole."
        ),
        (.httpRequestDenied, "lupin does not allow this request for h."),
        (
            .httpResponseIncomplete,
            "The response of h broke off before its end."
        ),
        (
            .httpResponseHeaderSectionSize,
            "The response of h has a larger header than `limits.header_bytes` allows, or more "
                + "fields than 1000 and than `limits.header_fields` allows."
        ),
        (
            .httpResponseHeaderSize,
            "The response of h has a larger header than `limits.header_bytes` allows, or more "
                + "fields than 1000 and than `limits.header_fields` allows."
        ),
        (.httpResponseBodySize, "The response of h is larger than `limits.body` allows."),
        (
            .httpResponseTrailerSectionSize,
            "The response of h has larger trailers than `limits.trailer_bytes` allows."
        ),
        (
            .httpResponseTrailerSize,
            "The response of h has larger trailers than `limits.trailer_bytes` allows."
        ),
        (
            .httpResponseTransferCoding,
            "h sent a body whose end cannot be told (transfer coding)."
        ),
        (
            .httpResponseContentCoding,
            "h sent a body that cannot be decoded (content coding)."
        ),
        (.httpResponseTimeout, "h took the request and did not answer in time."),
        (.httpUpgradeFailed, "h did not switch protocols as the client asked, or did so unasked."),
        (.httpProtocolError, "h sent something that is not valid HTTP."),
        (.proxyInternalResponse, "A rule of lupin answered this request for h."),
        (
            .proxyInternalError,
            "lupin itself failed on this request for h. The log has the details under this id; "
                + "please report it."
        ),
        (
            .proxyConfigurationError,
            "The rules file asks for something that cannot be done for h. Run `lupin check`."
        ),
        (
            .proxyLoopDetected,
            "The request for h came back to lupin itself. "
                + "Check `upstream.proxy` and the proxy variables of the server."
        ),
        (
            .tunnelNameDenied,
            "What the client showed inside its tunnel to h is not allowed, so nothing of it went "
                + "there."
        ),
    ]

    @Test func `every kind has its sentence`() {
        #expect(Self.sentences.map(\.0) == ErrorKind.allCases)
    }

    @Test(arguments: sentences.indices)
    func `a failure is told in words, with its detail`(row: Int) throws {
        let (kind, sentence) = Self.sentences[row]
        let lines = try lines { record in
            record.outcome = .error
            record.origin = Host("h").map { Origin(scheme: .http, host: $0, port: 80) }
            record.response?.status = kind.defaultStatus
            record.error = LupinError(kind, detail: "what happened")
        }
        #expect(lines.first == "failed; lupin answered \(kind.defaultStatus) after 743ms")
        #expect(lines.suffix(2) == ["why: \(sentence)", "  what happened"])
    }

    @Test(arguments: sentences.indices)
    func `the tool and the terminal tell the same failure, and the id that explains it`(
        row: Int
    ) throws {
        let (kind, sentence) = Self.sentences[row]
        var record = makeFullRecord()
        record.outcome = .error
        record.origin = Host("h").map { Origin(scheme: .http, host: $0, port: 80) }
        record.request = makeRequest("/")
        record.response?.status = kind.defaultStatus
        record.attempts = []
        record.error = LupinError(kind, host: "h", detail: "what happened")
        let error = try #require(record.error)
        for form in ErrorBody.Form.allCases {
            let body = ErrorBody.text(for: error, as: form, id: record.id, redactor: makeRedactor())
            switch form {
            case .text:
                #expect(
                    body == """
                        \(sentence)
                        what happened

                        lupin: \(kind.token); `lupin explain 6f1c0e0b` tells more

                        """
                )
            case .json: #expect(parseJSON(body)?["error"]?.string == sentence)
            case .html: #expect(body.contains("<code>lupin explain 6f1c0e0b</code>"))
            }
        }
        var bytes: [UInt8] = []
        var text = SummaryText(isColoured: false)
        text.append(RecordSummary(record, dropped: 0, redactor: makeRedactor()), to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "22:41:07.123 \(kind.defaultStatus) 6f1c0e0b GET       5.0KiB  743ms http://h/ "
                + "curl [everyone, github] error \(kind.token): what happened\n"
        )
    }

    @Test func `a tunnel that breaks is none that was not answered`() throws {
        let lines = try lines { record in
            record.outcome = .truncated
            record.origin = Host("h").map { Origin(scheme: .https, host: $0, port: 443) }
            record.tunnel = TunnelRecord()
            record.error = LupinError(.connectionTerminated, detail: "Connection reset by peer")
        }
        #expect(
            lines.suffix(2) == ["why: h broke off the connection.", "  Connection reset by peer"]
        )
    }

    @Test func `attempts, waits and decisions stand in their order`() throws {
        let lines = try lines { record in
            var first = AttemptRecord()
            first.error = LupinError(.connectionRefused, detail: "refused")
            first.decision = .retry
            first.reason = "nothing was sent"
            first.delayMicroseconds = 200_000
            first.peer = .v4(0x7F00_0001)
            first.peerPort = 80
            var second = AttemptRecord()
            second.cause = .retry
            second.status = 200
            second.timing.total = 30_000
            record.attempts = [first, second]
            record.redirects = [RedirectRecord(status: 302, location: "http://b.example/")]
        }
        #expect(
            lines == [
                "delivered whole, status 200 after 743ms", "followed 302 to http://b.example/",
                "attempt 1 to 127.0.0.1:80: connection_refused: refused",
                "  then retry after 200ms: nothing was sent", "attempt 2 (retry): status 200, 30ms",
            ]
        )
    }

    @Test func `a tunnel, a bypass, a validation and a refused certificate are told`() throws {
        let tunnel = try lines { record in
            record.mode = .tunnel
            record.tunnel = TunnelRecord()
            record.tunnel?.sentBytes = 512
            record.tunnel?.receivedBytes = 2048
            record.tunnel?.closedBy = .client
            record.bypass = BypassRecord(
                sinceMicroseconds: 0,
                untilMicroseconds: sampleStart,
                cause: "unknown_ca"
            )
        }
        #expect(
            tunnel.first
                == "tunnel: 512B to the origin, 2.0KiB to the client, closed by the client "
                + "after 743ms"
        )
        #expect(
            tunnel[1] == "rules bypassed until 2026-11-20T22:41:07.123456Z: the client had refused "
                + "lupin's certificate (unknown_ca)"
        )
        let redirected = try lines { $0.client.isRedirected = true }
        #expect(redirected[1] == "the client ignored the proxy variables, and was led to lupin")
        let standIns = try lines { record in
            record.note(exchangedStandIn: "github")
            record.note(standInElsewhere: "nexus")
            record.note(standInElsewhere: "nexus")
        }
        let elsewhere = """
            it had the stand-in for token nexus where no rule of it exchanges it; see `lupin help \
            credentials`, "Where a stand-in becomes the credential"
            """
        #expect(
            standIns.suffix(2) == [
                "the stand-in for token github became the credential", elsewhere,
            ]
        )
        let validated = try lines { record in
            record.validation = ValidationRecord(condition: "/ok is missing", action: .fail)
        }
        #expect(validated.last == "validate: /ok is missing (then: fail)")
        let untrusted = """
            {"outcome":"error","url":{"domain":"h.example","port":8443},\
            "trust":{"policy":"acme","verdict":"fail","leaf":"sha256/AAAA",\
            "checks":[{"is":"pins","ok":false,"note":"no pin matches"}]}}
            """
        #expect(
            RecordedEnd(try #require(parseJSON(untrusted))).lines.suffix(4) == [
                "the server's certificate failed trust policy acme", "  ✗ pins: no pin matches",
                "  the server showed sha256/AAAA; if it is the right one, add that to `pins`",
                "  `lupin pin h.example:8443` prints the pins of all its certificates",
            ]
        )
    }

    @Test func `a tunnel that was refused for what is inside is told as such`() throws {
        let refused = try lines { record in
            record.mode = .tunnel
            record.outcome = .denied
            record.error = LupinError(.tunnelNameDenied, detail: "It asks for evil.test.")
            record.tunnel = TunnelRecord()
        }
        #expect(refused.first == "refused inside the tunnel after 743ms")
        #expect(refused.last == "  It asks for evil.test.")
    }

    @Test(
        arguments: [
            (403, nil, "no tunnel: refused with 403 after 743ms"),
            (407, "NTLM", "no tunnel yet after 743ms"),
        ] as [(UInt16, String?, String)]
    )
    func `a CONNECT that got no tunnel delivered nothing`(
        status: UInt16,
        step: String?,
        first: String
    ) throws {
        let lines = try lines {
            $0.request?.method = .connect
            $0.response = ResponseHead(status: status)
            $0.loginStep = step
        }
        #expect(lines.first == first)
        #expect(
            lines.contains { $0.hasPrefix("a step of the client's login (NTLM)") } == (step != nil)
        )
    }

    @Test func `a client that left is told as such, not as a wrong request`() throws {
        let left = try lines { record in
            record.outcome = .aborted
            record.error = LupinError(.httpRequestError, detail: "The client closed it.")
            var attempt = AttemptRecord()
            attempt.peer = .v4(0x7F00_0001)
            attempt.peerPort = 443
            record.attempts = [attempt]
        }
        #expect(
            left == [
                "the client left after 743ms", "attempt 1 to 127.0.0.1:443",
                "why: The client closed it.",
            ]
        )
    }

    @Test func `an answer of a rule is told with the rule and its line`() throws {
        let answered = try lines { record in
            record.rules.steps = [
                CannedResponse(status: 204).step(of: "rule \"no\" (line 9)", answering: .connect)
            ]
        }
        #expect(
            answered == [
                "delivered whole, status 200 after 743ms",
                "lupin itself answered: respond 403 by the rule \"no\" (line 9)",
            ]
        )
    }

    @Test(arguments: [true, false])
    func `a server that has shown no certificate does not ask for one`(isShown: Bool) throws {
        var record = makeFullRecord()
        record.error = LupinError(.tlsAlertReceived)
        let verdict = TrustPolicy.system(host: true).evaluate(ScriptedTrust())
        record.trust = TrustRecord(policy: "system", verdict: verdict, leaf: nil)
        if isShown { record.trust?.leaf = "sha256/AAAA" }
        let line = jsonLine(of: record, redactor: makeRedactor())
        let keys = RecordedEnd(try #require(parseJSON(line))).decidingKeys
        #expect(keys.contains("client_cert") == isShown)
        #expect(keys.contains("tls") == !isShown)
    }

    /// Failures about which the rules file has nothing to say.
    private static let undecided: Set<ErrorKind> = [
        .httpResponseTransferCoding, .httpRequestError,
    ]

    @Test(arguments: ErrorKind.allCases)
    func `each kind says which keys decide, and all of them exist`(kind: ErrorKind) {
        let rules = Set(RuleKey.allCases.map(\.rawValue) + ["auth"])
        let settings = SettingsTable.settings.map(\.name)
        let statuses: [UInt16] = [400, 403, 404, 405, 407, 408, 413, 414, 417, 421, 429, 431]
        for status in statuses + [500, 501, 502, 503, 504, 505] {
            for key in kind.decidingKeys(status: status) {
                let name = key.hasSuffix(".") ? String(key.dropLast()) : key
                let isKnown =
                    rules.contains(key)
                    || settings.contains { $0 == name || $0.hasPrefix(name + ".") }
                #expect(isKnown, "\(kind): \(key)")
            }
        }
        let usual = kind.decidingKeys(status: kind.defaultStatus)
        #expect(usual.isEmpty == Self.undecided.contains(kind))
    }

    private func keys(
        _ kind: ErrorKind,
        _ detail: String = "",
        _ change: (inout ExchangeRecord) -> Void = { _ in }
    ) throws -> [String] {
        var record = makeFullRecord()
        record.error = LupinError(kind, detail: detail)
        record.rules.steps = []
        record.redirects = []
        record.authentication = nil
        change(&record)
        let line = jsonLine(of: record, redactor: makeRedactor())
        return RecordedEnd(try #require(parseJSON(line))).decidingKeys
    }

    @Test func `a name that no DNS knows leads to what is remembered of DNS`() throws {
        #expect(try keys(.dnsError).contains("upstream.dns.ttl"))
        #expect(try keys(.dnsTimeout).contains("timeouts.dns"))
    }

    @Test(arguments: ErrorKind.allCases)
    func `what a step sent elsewhere leads to that step, and what was followed to redirect`(
        kind: ErrorKind
    ) throws {
        let moved = try keys(kind) { $0.rules.steps = ["set x-a", "url host=other.example"] }
        #expect(moved.contains(RecordedEnd.targetKey) == (kind.defaultSide != .downstream))
        #expect(try !keys(kind).contains(RecordedEnd.targetKey))
        #expect(try !keys(kind).contains("redirect") || kind == .proxyInternalError)
    }

    @Test(arguments: ["missing", "failed", "excessive", "used"])
    func `what failed for want of a token leads to that token`(action: String) throws {
        let line = """
            {"outcome":"error","http":{"response":{"status_code":502}},\
            "error":{"type":"proxy_internal_error"},"auth":{"token":"github","action":"\(action)"}}
            """
        let keys = RecordedEnd(try #require(parseJSON(line))).decidingKeys
        #expect(keys.contains("tokens.github") == (action != "used"))
        #expect(keys.contains("request") == (action == "used"))
    }

    @Test(arguments: [
        (407, 407, "refused by the parent proxy with 407"),
        (502, 502, "refused by the parent proxy with 502"),
        (503, 502, "refused by the parent proxy with 503; lupin answered 502"),
        (407, 502, "refused by the parent proxy with 407; lupin answered 502"),
    ])
    func `whatever a parent proxy refuses with is told alike`(
        given: Int,
        answer: Int,
        summary: String
    ) throws {
        let line = """
            {"outcome":"error","http":{"response":{"status_code":\(answer)}},\
            "error":{"type":"destination_unavailable","parent":"p.test:3128",\
            "parent_status":\(given)}}
            """
        #expect(RecordedEnd(try #require(parseJSON(line))).lines.first == summary)
    }

    @Test(arguments: [ErrorKind.httpRequestDenied, .proxyConfigurationError])
    func `what a parent proxy refuses leads to the parent's settings alone`(kind: ErrorKind) throws
    {
        var error = LupinError(kind, side: .upstream, status: 407)
        error = error.blaming("p.test:3128", status: 407)
        #expect(error.parent != nil)
        let named = try keys(kind) { record in
            record.error = error
            record.response?.status = 407
        }
        #expect(named == ["proxy", "upstream.proxy"])
    }

    @Test func `a variable that names no proxy leads to the setting instead of it`() throws {
        let detail =
            "all_proxy names no proxy that lupin can use (a SOCKS parent proxy); write "
            + "the URL of an HTTP proxy, or direct, into `upstream.proxy`."
        #expect(try keys(.proxyConfigurationError, detail) == ["upstream.proxy"])
    }

    @Test func `a setting that the reason names decides`() throws {
        let denied = "access.connect_ports does not list port 22."
        #expect(try keys(.httpRequestDenied, denied).contains("access.connect_ports"))
        let late = "The tunnel was silent for timeouts.tunnel_idle."
        #expect(try keys(.connectionTerminated, late).contains("timeouts.tunnel_idle"))
        #expect(try !keys(.connectionTerminated, "timeouts.tunnel_idles").contains("timeouts"))
    }
}
