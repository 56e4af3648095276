// That every kind of error has a status, a class, a side and a sentence, and how they are sent.

import LupinCore
import LupinTestKit
import Testing

struct LupinErrorTests {
    @Test(
        arguments: [
            (ErrorKind.dnsTimeout, 504, RetryClass.dns, ErrorSide.upstream),
            (.dnsError, 502, .dns, .upstream), (.destinationUnavailable, 503, .connect, .upstream),
            (.connectionLimitReached, 503, .connect, .lupin),
            (.destinationIPProhibited, 502, .never, .config),
            (.destinationIPUnroutable, 502, .connect, .upstream),
            (.destinationNotFound, 502, .never, .upstream),
            (.connectionRefused, 502, .connect, .upstream),
            (.connectionTimeout, 504, .connect, .upstream),
            (.connectionTerminated, 502, .reset, .upstream),
            (.connectionReadTimeout, 504, .timeout, .upstream),
            (.connectionWriteTimeout, 504, .timeout, .upstream),
            (.httpResponseTimeout, 504, .timeout, .upstream),
            (.tlsProtocolError, 502, .tlsTransient, .upstream),
            (.tlsAlertReceived, 502, .tlsTransient, .upstream),
            (.tlsCertificateError, 502, .never, .upstream),
            (.httpResponseIncomplete, 502, .reset, .upstream),
            (.httpResponseHeaderSectionSize, 502, .never, .upstream),
            (.httpProtocolError, 502, .never, .upstream),
            (.httpUpgradeFailed, 502, .never, .upstream),
            (.httpRequestError, 400, .never, .downstream),
            (.httpRequestDenied, 403, .never, .downstream),
            (.proxyConfigurationError, 500, .never, .config),
            (.proxyInternalError, 500, .never, .lupin), (.proxyLoopDetected, 502, .never, .config),
        ] as [(ErrorKind, UInt16, RetryClass, ErrorSide)]
    )
    func `what follows from a kind`(
        kind: ErrorKind,
        status: UInt16,
        retry: RetryClass,
        side: ErrorSide
    ) {
        let error = LupinError(kind)
        #expect(error.status == status)
        #expect(error.retry == retry)
        #expect(error.side == side)
    }

    @Test func `tokens are lower-case words joined by underscores, each once`() {
        let tokens = ErrorKind.allCases.map(\.token)
        // Those of RFC 9209 and one of lupin's own, which Proxy-Status calls by one of those.
        #expect(Set(tokens).count == 33)
        #expect(Set(ErrorKind.allCases.map(\.registeredToken)).count == 32)
        #expect(tokens.allSatisfy { $0.utf8.allSatisfy { $0 == 0x5F || $0 &- 0x61 < 26 } })
    }

    @Test(
        arguments: [
            ("", "Try again."), ("It broke off.", "It broke off. Try again."),
            ("Connection reset by peer", "Connection reset by peer. Try again."),
            ("Does it run?", "Does it run? Try again."),
        ]
    )
    func `a sentence is added behind a full stop`(detail: String, both: String) {
        let error = LupinError(.connectionTerminated, detail: detail)
        #expect(error.adding("Try again.").detail == both)
        #expect(error.adding(nil) == error)
    }

    @Test(arguments: ErrorKind.allCases)
    func `every kind has a sentence`(kind: ErrorKind) {
        let sentence = LupinError(kind, host: "api.example.com").sentence
        #expect(sentence.hasSuffix(".") || sentence.hasSuffix("?"))
        #expect(sentence.count > 30)
    }

    @Test(
        arguments: [
            (400, "http_request_error"), (403, "http_request_denied"), (405, "http_request_error"),
            (407, "http_request_denied"), (408, "http_request_error"), (413, "http_request_error"),
            (414, "http_request_error"), (417, "http_request_error"), (431, "http_request_error"),
            (501, "http_request_error"), (505, "http_request_error"),
        ] as [(UInt16, String)]
    )
    func `refused requests keep the status they are refused with`(status: UInt16, token: String) {
        let error = LupinError.request(status: status, detail: "")
        #expect(error.status == status)
        #expect(error.kind.token == token)
        #expect(error.retry == .never)
    }

    @Test func `a reset on a connection from the pool is a stale connection`() {
        #expect(LupinError(.connectionTerminated).onReusedConnection.retry == .staleConnection)
        #expect(LupinError(.connectionRefused).onReusedConnection.retry == .connect)
        #expect(LupinError(.tlsCertificateError).onReusedConnection.retry == .never)
    }

    @Test(arguments: [
        ("", "lupin; error=dns_error"),
        ("no such host", #"lupin; error=dns_error; details="no such host""#),
        (#"a "b" \c"#, #"lupin; error=dns_error; details="a \"b\" \\c""#),
        ("a\r\nX: b", #"lupin; error=dns_error; details="a\\r\\nX: b""#),
        ("grün", #"lupin; error=dns_error; details="gr?n""#),
        (
            "at http://u:p@h/?token=abc",
            #"lupin; error=dns_error; details="at http://h/?token=REDACTED.0126""#
        ),
    ])
    func `Proxy-Status is a valid field value whatever the detail`(detail: String, value: String) {
        let error = LupinError(.dnsError, detail: detail)
        #expect(ProxyStatus.value(for: error, redactor: makeRedactor()) == value)
    }

    @Test func `a long detail is cut in Proxy-Status`() {
        let error = LupinError(.dnsError, detail: String(repeating: "\"", count: 9000))
        #expect(ProxyStatus.value(for: error, redactor: makeRedactor()).utf8.count < 600)
    }

    @Test func `the body says what failed, what to try and the id`() throws {
        let error = LupinError(.connectionRefused, host: "a.example", detail: "10.0.0.1:\u{1B}80")
        let id = ExchangeID(high: 1, low: 2)
        let text = ErrorBody.text(
            for: error,
            as: .text,
            id: id,
            redactor: makeRedactor()
        )
        #expect(
            text == """
                a.example refused the connection. Is the server running, and is the port right?
                10.0.0.1:\\u001b80

                lupin: connection_refused; `lupin explain 00000000` tells more

                """
        )
        let body = ErrorBody.text(for: error, as: .json, id: id, redactor: makeRedactor())
        let json = try #require(parseJSON(body))
        #expect(json["error"]?.string == error.sentence)
        #expect(json["type"]?.string == "connection_refused")
        #expect(json["status"]?.count == 502)
        #expect(json["side"]?.string == "upstream")
        #expect(json["detail"]?.string == "10.0.0.1:\u{1B}80")
        #expect(json["id"]?.string == id.text)
    }

    @Test func `a browser gets a page, in which nothing of a peer is markup`() {
        let error = LupinError(.connectionRefused, host: "<b>", detail: "\"x\" & <script>\u{1B}")
        let id = ExchangeID(high: 0x6F1C_0E0B_0000_0000, low: 2)
        let page = ErrorBody.text(for: error, as: .html, id: id, redactor: makeRedactor())
        #expect(page.hasPrefix("<!doctype html>\n<html lang=\"en\">"))
        #expect(page.contains("<title>502 by lupin</title>"))
        #expect(page.contains("<p>&lt;b&gt; refused the connection."))
        #expect(page.contains("<p>&quot;x&quot; &amp; &lt;script&gt;\\u001b</p>"))
        #expect(page.contains("<code>lupin explain 6f1c0e0b</code>"))
    }

    @Test(
        arguments: [
            ([], .text), (["*/*"], .text), (["application/json"], .json),
            (["application/json, text/plain, */*"], .json),
            (["text/plain, application/json"], .text),
            (["text/html;q=0.5, application/problem+json;q=0.9"], .json),
            (["application/json;q=0.5, text/plain"], .text), (["application/json; q=0"], .text),
            (["text/html", "application/json"], .html), (["application/json;q=x"], .json),
            (["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], .html),
            (["text/html;q=0.1, text/plain;q=0.2"], .text), (["text/*"], .text),
        ] as [([String], ErrorBody.Form)]
    )
    func `each client gets the form that it prefers`(accept: [String], form: ErrorBody.Form) {
        let fields = makeFields(accept.map { ("Accept", $0) })
        #expect(ErrorBody.Form(acceptedBy: fields) == form)
    }
}
