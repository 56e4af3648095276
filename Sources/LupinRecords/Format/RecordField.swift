// The fields of an exchange's line in the log: the path and the meaning of each.

package import LupinCore

/// A field of the exchange record, in the order in which fields are written.
///
/// The writer of lines (``RecordFormat``), their reader (``JSONValue``) and the documentation's
/// page RecordFields all use this table: a field that is not here does not exist.
///
/// Names are the paths of OpenTelemetry's HTTP conventions as nested objects.
package enum RecordField: UInt8, CaseIterable, LineField {
    case schema, timestamp, event, id, outcome
    case clientAddress, clientPort, program, pid, redirected, user
    case mode
    case method, originalMethod, requestSize, requestNames, requestValues, resendCount
    case status, responseSize, responseNames, responseValues
    case url, scheme, domain, port, path
    case protocolName, version, stream, reset, resetBy
    case clientIn, clientOut, upstreamOut, upstreamIn
    case rulesVersion, matched, steps
    case bypassReason, bypassSince, bypassUntil, bypassCause
    case token, tokenVersion, tokenAction, tokenWait
    case standInsExchanged, standInsElsewhere
    case cacheStatus
    case trustPolicy, trustVerdict, trustChecks, trustLeaf, trustEnd
    case isValid, failedCondition, validationAction, validationNote
    case redirects
    case lenient
    case loginStep
    case attempts
    case blocked, dns, tcp, tls, send, wait, receive, total
    case errorType, errorDetail, errorSide, errorParent, errorParentRule, errorParentStatus
    case errorParentRefused, errorParentOffers
    case tunnelSent, tunnelReceived, closedBy
    case tunnelName, tunnelProtocols, tunnelECH
    case dropped

    package var row: LineFieldRow {
        switch self {
        case .schema: .value("schema", "1; changes only when the meaning of a field does")
        case .timestamp: .text("ts", "when the exchange began, RFC 3339 in UTC")
        case .event: .text("event", "`exchange`, or `tunnel` for a CONNECT that stayed blind")
        case .id: .text("id", "128 bits in hexadecimal; `${id}` in rules")
        case .outcome:
            .text(
                "outcome",
                "`ok` (delivered whole, whatever its status), `error` (lupin made the response), "
                    + "`aborted` (the client left), `truncated` (upstream failed behind the head), "
                    + "`denied`"
            )
        case .clientAddress: .text("client.address", "where the request came from")
        case .clientPort: .value("client.port", "its port")
        case .program:
            .text("client.program", "the program, if a rule or `log: {program: true}` needs it")
        case .pid: .value("client.pid", "its process id")
        case .redirected:
            .value("client.redirected", "true if it ignored the proxy variables under --confine")
        case .user: .text("client.user", "the user name, if the listener wants a password")
        case .mode: .text("mode", "`http`, `intercept`, `tunnel` or `upgrade`")
        case .method: .text("http.request.method", "the method, or `_OTHER`")
        case .originalMethod:
            .text("http.request.method_original", "the method, if `method` is `_OTHER`")
        case .requestSize: .value("http.request.body.size", "bytes of the body as transferred")
        case .requestNames: .value("http.request.names", "names of the client's fields")
        case .requestValues:
            .value("http.request.header", "field values by name, as `log.headers` allows")
        case .resendCount: .value("http.request.resend_count", "attempts after the first")
        case .status: .value("http.response.status_code", "what the client got")
        case .responseSize: .value("http.response.body.size", "bytes of the body as transferred")
        case .responseNames: .value("http.response.names", "names of the response's fields")
        case .responseValues:
            .value("http.response.header", "field values by name, as `log.headers` allows")
        case .url: .text("url.full", "the client's URL, redacted; a tunnel has none")
        case .scheme: .text("url.scheme", "`http` or `https`")
        case .domain: .text("url.domain", "the host")
        case .port: .value("url.port", "the port")
        case .path: .text("url.path", "the path without the query")
        case .protocolName: .text("network.protocol.name", "`http`")
        case .version: .text("network.protocol.version", "the client's: `1.0`, `1.1` or `2`")
        case .stream: .value("network.stream", "the client's HTTP/2 stream")
        case .reset: .text("network.reset", "the error code that ended that stream early")
        case .resetBy: .text("network.reset_by", "who ended it: `client` or `proxy`")
        case .clientIn: .value("bytes.client_in", "from the client, with framing, without TLS")
        case .clientOut: .value("bytes.client_out", "to the client")
        case .upstreamOut: .value("bytes.upstream_out", "to the origin or its parent proxy")
        case .upstreamIn: .value("bytes.upstream_in", "from there")
        case .rulesVersion: .text("rules.version", "digest of the rules in force")
        case .matched: .value("rules.matched", "names of the rules that matched, in file order")
        case .steps: .value("rules.steps", "the steps of these rules that were applied")
        case .bypassReason:
            .text(
                "bypassed.reason",
                "`client_rejects`: tunnelled, although a rule needs clear text"
            )
        case .bypassSince: .text("bypassed.since", "when the client refused the certificate first")
        case .bypassUntil: .text("bypassed.until", "when its CONNECTs are decrypted again")
        case .bypassCause: .text("bypassed.because", "the TLS alert by which it refused")
        case .token: .text("auth.token", "the name under `tokens`; never the token")
        case .tokenVersion:
            .value("auth.version", "number of the credential under that name, from 1")
        case .tokenAction:
            .text(
                "auth.action",
                "`none`, `used`, `refreshed`, `waited`, `failed`, `excessive` or `missing`"
            )
        case .tokenWait: .value("auth.wait", "ms that the exchange waited for it")
        case .standInsExchanged:
            .value("stand_ins.exchanged", "tokens whose stand-ins became the credential")
        case .standInsElsewhere:
            .value(
                "stand_ins.elsewhere",
                "tokens whose stand-ins went as they were: no rule of the request names them"
            )
        case .cacheStatus: .text("cache.status", "lupin's member of Cache-Status (RFC 9211)")
        case .trustPolicy: .text("trust.policy", "the policy that judged the origin's certificates")
        case .trustVerdict: .text("trust.verdict", "`pass`, `fail`, `disabled` or `tunnel`")
        case .trustChecks: .value("trust.checks", "each check: `is`, `ok`, `match`, `note`")
        case .trustLeaf: .text("trust.leaf", "the pin of the origin's own key")
        case .trustEnd: .text("trust.not_after", "when its certificate ends")
        case .isValid: .value("validate.ok", "whether every condition of `validate:` holds")
        case .failedCondition: .text("validate.condition", "the condition that failed")
        case .validationAction: .text("validate.then", "what lupin did with the response")
        case .validationNote: .text("validate.note", "what could not be checked")
        case .redirects: .value("redirects", "those followed: `status`, `location`")
        case .lenient:
            .value(
                "lenient",
                "flaws of the response that were read over: "
                    + ResponseFlaw.allCases.map { "`\($0.word)`" }.joined(separator: ", ")
            )
        case .loginStep:
            .text(
                "login",
                "the scheme of a login to which this 401 or 407 is a step: the client goes on"
            )
        case .attempts: .value("attempts", "one object each, see below")
        case .blocked: .value("timing.blocked", "ms in lupin: queue, pool, token, back-off")
        case .dns: .value("timing.dns", "ms for looking up the name")
        case .tcp: .value("timing.tcp", "ms for connecting")
        case .tls: .value("timing.tls", "ms for TLS, judging the certificates included")
        case .send: .value("timing.send", "ms for the request")
        case .wait: .value("timing.wait", "ms from the request's last byte to the response's first")
        case .receive: .value("timing.receive", "ms for the response's body")
        case .total: .value("timing.total", "ms from the first byte to the last")
        case .errorType:
            .text("error.type", "the error, a token of RFC 9209, or `tunnel_name_denied`")
        case .errorDetail: .text("error.detail", "a sentence about it")
        case .errorSide: .text("error.side", "`client`, `upstream`, `proxy` or `config`")
        case .errorParent: .text("error.parent", "the parent proxy, if it was that which failed")
        case .errorParentRule: .text("error.parent_rule", "the rule that names that parent proxy")
        case .errorParentStatus:
            .value("error.parent_status", "the status with which that parent proxy refused")
        case .errorParentRefused:
            .text(
                "error.parent_refused",
                "the scheme of the client's credentials that it refused, or `unknown`"
            )
        case .errorParentOffers:
            .value("error.parent_offers", "the schemes that it offers, if lupin has none of them")
        case .tunnelSent: .value("tunnel.sent", "bytes from the client through the tunnel")
        case .tunnelReceived: .value("tunnel.received", "bytes to the client through it")
        case .closedBy: .text("tunnel.closed_by", "`client`, `upstream` or `proxy`")
        case .tunnelName: .text("tunnel.sni", "the server name of the TLS inside, as it was sent")
        case .tunnelProtocols: .value("tunnel.alpn", "the protocols that this TLS offered")
        case .tunnelECH:
            .value("tunnel.ech", "true if it offered Encrypted ClientHello, GREASE or not")
        case .dropped: .value("dropped", "lines lost before this one, because the disk was slow")
        }
    }

    static let texts = LineTexts(RecordField.self)
}

/// A field of an attempt: an object in the record's `attempts`, or in a line of its own.
package enum AttemptField: UInt8, CaseIterable, LineField {
    case number, cause, start, url, status
    case errorType, errorDetail, errorSide
    case decision, reason, delay, isReused, isReplayable, unkept
    case via, version, stream, reset, goAway, peer, tlsVersion
    case blocked, dns, tcp, tls, send, wait, receive, total

    package var row: LineFieldRow {
        switch self {
        case .number: .value("n", "counted from 1")
        case .cause:
            .text(
                "why",
                "`first`, `retry`, `auth`, `redirect`, `hedge`, `resume`, `revalidate` or "
                    + "`collapse-leader`"
            )
        case .start: .value("start", "ms after the exchange began; the `first` has none")
        case .url: .text("url", "its URL, if that is not the client's")
        case .status: .value("status", "the origin's status")
        case .errorType: .text("error.type", "why it failed, a token of RFC 9209")
        case .errorDetail: .text("error.detail", "a sentence about it")
        case .errorSide: .text("error.side", "`client`, `upstream`, `proxy` or `config`")
        case .decision:
            .text(
                "decision",
                "`deliver`, `retry`, `refresh`, `follow`, `resume` or `give-up`"
            )
        case .reason: .text("reason", "why, for people")
        case .delay: .value("delay", "ms until the next one")
        case .isReused: .value("reused", "true if the connection came from the pool")
        case .isReplayable: .value("replayable", "false if the body could not be sent again")
        case .via: .text("via", "the parent proxy on its way")
        case .unkept:
            .text("unkept", "why it was not kept: `size`, `replay_disk` or `disk_error`")
        case .version: .text("protocol", "HTTP version with the origin")
        case .stream: .value("stream", "the origin's HTTP/2 stream")
        case .reset: .text("reset", "the code with which the origin ended that stream")
        case .goAway: .text("goaway", "the code of the origin's GOAWAY")
        case .peer: .text("peer", "address and port that were connected to")
        case .tlsVersion: .text("tls", "TLS version with the origin")
        case .blocked: .value("timing.blocked", RecordField.blocked.row.meaning)
        case .dns: .value("timing.dns", RecordField.dns.row.meaning)
        case .tcp: .value("timing.tcp", RecordField.tcp.row.meaning)
        case .tls: .value("timing.tls", RecordField.tls.row.meaning)
        case .send: .value("timing.send", RecordField.send.row.meaning)
        case .wait: .value("timing.wait", RecordField.wait.row.meaning)
        case .receive: .value("timing.receive", RecordField.receive.row.meaning)
        case .total: .value("timing.total", RecordField.total.row.meaning)
        }
    }

    static let texts = LineTexts(AttemptField.self)
}

// MARK: Reading

extension JSONValue {
    /// Returns the value of a field in a line.
    package subscript(field field: RecordField) -> JSONValue? { self[at: field.row.path] }

    /// Returns the value of a field in an attempt's object.
    package subscript(attempt field: AttemptField) -> JSONValue? { self[at: field.row.path] }

    private subscript(at path: String) -> JSONValue? {
        var value: JSONValue? = self
        for name in path.split(separator: ".") { value = value?[String(name)] }
        return value
    }
}
