// What a token server is asked, and what becomes of every kind of answer.

import LupinCore
import LupinPolicy
import Testing

private let page = "is a page, not JSON: check that the URL is that of the token endpoint"

struct OAuth2ExchangeTests {
    private func source(
        _ grant: OAuth2Source.Grant = .clientCredentials,
        secret: String? = "s3cret",
        _ change: (inout OAuth2Source) -> Void = { _ in }
    ) throws -> OAuth2Source {
        var source = OAuth2Source(
            grant: grant,
            url: try #require(HTTPURL("https://id.example:8443/token")),
            clientID: "s6BhdRkqt3",
            clientSecret: secret.map { SecretText($0) }
        )
        change(&source)
        return source
    }

    private func request(
        _ source: OAuth2Source,
        refreshToken: String? = nil
    ) throws -> (body: String, authorization: String?) {
        let request = try OAuth2Exchange(source).request(refreshToken: refreshToken) {
            path throws(TokenFailure) in
            Array("content of \(path)\n".utf8)
        }
        #expect(request.contentType == "application/x-www-form-urlencoded")
        return (String(decoding: request.body, as: UTF8.self), request.authorization)
    }

    private func response(
        _ body: String,
        status: UInt16 = 200,
        retryAfter: String? = nil
    ) throws -> TokenResponse {
        let exchange = OAuth2Exchange(try source())
        let bytes = Array(body.utf8)
        return try exchange.response(
            status: status,
            body: bytes,
            retryAfter: retryAfter,
            now: 946_684_700_500_000
        )
    }

    private func failure(
        _ body: String,
        status: UInt16 = 200,
        retryAfter: String? = nil
    ) throws -> TokenFailure {
        let failure = #expect(throws: TokenFailure.self) {
            try response(body, status: status, retryAfter: retryAfter)
        }
        return try #require(failure)
    }

    // MARK: Requests

    @Test func `client credentials go by Basic`() throws {
        let request = try request(source())
        #expect(request.body == "grant_type=client_credentials")
        #expect(
            request.authorization == "Basic " + Base64Text.encode(Array("s6BhdRkqt3:s3cret".utf8))
        )
    }

    @Test func `id and secret are form-encoded before Basic joins them`() throws {
        let source = try source(secret: "a:b c%ü") { $0.clientID = "x:y" }
        let pair = "x%3Ay:a%3Ab+c%25%C3%BC"
        #expect(try request(source).authorization == "Basic " + Base64Text.encode(Array(pair.utf8)))
    }

    @Test func `credentials in the body are parameters`() throws {
        let source = try source {
            $0.clientAuthentication = .body
            $0.scope = "read write"
            $0.parameters = [.init(name: "audience", value: .text(SecretText("https://api.dev/")))]
        }
        let request = try request(source)
        #expect(request.authorization == nil)
        #expect(
            request.body == "grant_type=client_credentials&scope=read+write"
                + "&audience=https%3A%2F%2Fapi.dev%2F&client_id=s6BhdRkqt3&client_secret=s3cret"
        )
    }

    @Test func `a client without a secret says who it is`() throws {
        let source = try source(.refreshToken, secret: nil) {
            $0.refreshToken = SecretText("tGzv3JOkF0XG5Qx2TlKWIA")
        }
        let request = try request(source)
        #expect(request.authorization == nil)
        #expect(
            request.body == "grant_type=refresh_token&refresh_token=tGzv3JOkF0XG5Qx2TlKWIA"
                + "&client_id=s6BhdRkqt3"
        )
    }

    @Test func `a rotated refresh token takes the place of the first`() throws {
        let source = try source(.refreshToken) { $0.refreshToken = SecretText("first") }
        let body = try request(source, refreshToken: "second&x=y").body
        #expect(body == "grant_type=refresh_token&refresh_token=second%26x%3Dy")
    }

    @Test func `secrets of files are read when the request is made`() throws {
        let source = try source(.refreshToken) {
            $0.refreshToken = SecretText([.file(path: "/r")])
            $0.clientAuthentication = .body
            $0.clientSecret = SecretText([.file(path: "/s")])
        }
        #expect(
            try request(source).body == "grant_type=refresh_token&refresh_token=content+of+%2Fr"
                + "&client_id=s6BhdRkqt3&client_secret=content+of+%2Fs"
        )
    }

    @Test func `without a refresh token there is nothing to ask with`() throws {
        let source = try source(.refreshToken)
        #expect(throws: TokenFailure(.missing)) { try request(source) }
        #expect(throws: TokenFailure(.missing)) { try request(source, refreshToken: "") }
    }

    @Test func `forms are encoded as RFC 6749 Appendix B wants it`() {
        // Its own example.
        #expect(FormText.encode(" %&+\u{A3}\u{20AC}") == "+%25%26%2B%C2%A3%E2%82%AC")
        #expect(FormText.encode("aZ09*-._~/") == "aZ09*-._%7E%2F")
        #expect(
            FormText.encode([(name: "a b", value: "c=d"), (name: "e", value: "")]) == "a+b=c%3Dd&e="
        )
    }

    @Test func `a request can be JSON`() throws {
        let source = try source { source in
            source.encoding = .json
            source.scope = #"a "b""#
            source.parameters = [.init(name: "access_token", value: .accessToken)]
        }
        let request = try OAuth2Exchange(source).request(accessToken: "t1") {
            _ throws(TokenFailure) in
            []
        }
        #expect(request.contentType == "application/json")
        let body = JSONValue(parsing: request.body.span)
        #expect(body?["grant_type"]?.string == "client_credentials")
        #expect(body?["scope"]?.string == #"a "b""#)
        #expect(body?["access_token"]?.string == "t1")
    }

    @Test func `without an access token its parameter is left out`() throws {
        let source = try source {
            $0.parameters = [.init(name: "access_token", value: .accessToken)]
        }
        #expect(try request(source).body == "grant_type=client_credentials")
    }

    // MARK: Answers

    @Test(arguments: ["null", #""""#, #"" ""#, #""bearer""#, #""BEARER""#, #"" Bearer\t""#])
    func `an empty type is Bearer, blanks around it are none, and any 2xx is an answer`(
        type: String
    ) throws {
        let body = #"{"access_token":"abc","token_type":\#(type)}"#
        for status: UInt16 in [200, 201, 202, 203, 299] {
            #expect(try response(body, status: status).accessToken == "abc")
        }
        for status: UInt16 in [199, 300, 400] { _ = try failure(body, status: status) }
    }

    @Test func `a 2xx without a token is no refusal`() throws {
        let kind = try failure("", status: 204).kind
        #expect(kind == .malformed(host: "id.example:8443", status: 204, reason: "is empty"))
        let pending = try failure(#"{"error":"authorization_pending"}"#, status: 202).kind
        let error = "authorization_pending"
        #expect(pending == .refused(host: "id.example:8443", status: 202, error: error))
    }

    @Test func `another type is taken where the file says how it is sent`() throws {
        let body = #"{"access_token":"abc","token_type":"mac"}"#
        _ = try failure(body)
        let exchange = OAuth2Exchange(try source(), takesAnyType: true)
        #expect(
            try exchange.response(status: 200, body: Array(body.utf8), now: 0).accessToken == "abc"
        )
    }

    @Test(
        arguments: [
            (302, "https://login.test/x?code=s3cret#f", "https://login.test/x"),
            (307, "/other", "/other"), (308, "//u:p@login.test/", nil), (301, "", nil),
            (302, "a b", nil), (302, nil, nil), (200, "/other", nil), (400, "/other", nil),
        ] as [(UInt16, String?, String?)]
    )
    func `a redirect says where it points`(status: UInt16, location: String?, place: String?) throws
    {
        let exchange = OAuth2Exchange(try source())
        let failure = exchange.redirection(status: status, location: location)
        let kind = place.map {
            TokenFailure.Kind.redirected(host: "id.example:8443", status: status, target: $0)
        }
        #expect(failure?.kind == kind)
        #expect(failure?.isPermanent != false)
    }

    @Test func `a busy server is asked again, one that refuses is not`() {
        for status: UInt16 in [408, 429, 500, 502, 503, 504] {
            #expect(OAuth2Exchange.isTransient(status))
        }
        for status: UInt16 in [200, 201, 400, 401, 403, 404] {
            #expect(!OAuth2Exchange.isTransient(status))
        }
    }

    @Test func `an answer has a token, a life, the next refresh token and a scope`() throws {
        let response = try response(
            """
            {"access_token": "2YotnFZFEjr1zCsicMWpAA", "token_type": "Bearer",
             "expires_in": 3600, "refresh_token": "tGzv3JOkF0XG5Qx2TlKWIA",
             "scope": "read", "example_parameter": "example_value"}
            """
        )
        #expect(response.accessToken == "2YotnFZFEjr1zCsicMWpAA")
        #expect(response.expiresIn == 3600)
        #expect(response.refreshToken == "tGzv3JOkF0XG5Qx2TlKWIA")
        #expect(response.scope == "read")
        let credential = response.credential(now: 5)
        #expect(credential.text == "2YotnFZFEjr1zCsicMWpAA")
        #expect(credential.expiresAt == 3_600_000_005)
    }

    @Test(
        arguments: [
            ("3600", 3600), ("\"3600\"", 3600), ("3599.9", 3599), ("1", 1), ("0", nil), ("-1", nil),
            ("null", nil), ("\"\"", nil), ("\"soon\"", nil), ("\"-5\"", nil), ("true", nil),
            ("1e300", 316_224_000), ("\"99999999999999999999\"", 316_224_000),
            ("\"999999999999999999999\"", nil), ("[1]", nil), ("0.5", nil),
        ] as [(String, Int64?)]
    )
    func `a life is a number or digits, and never more than ten years`(
        text: String,
        life: Int64?
    ) throws {
        let body = "{\"access_token\": \"a\", \"token_type\": \"bearer\", \"expires_in\": \(text)}"
        #expect(try response(body).expiresIn == life)
    }

    @Test func `a forgotten type is Bearer and any other one is refused`() throws {
        #expect(try response("{\"access_token\": \"a\"}").accessToken == "a")
        for (type, told) in [
            ("\"mac\"", "the token_type \"mac\""), ("\"DPoP\"", "the token_type \"DPoP\""),
            ("1", "a token_type other than Bearer"),
            ("\"a\\nb\"", "a token_type other than Bearer"),
        ] {
            let failure = try failure("{\"access_token\": \"a\", \"token_type\": \(type)}")
            let reason = "has \(told); `header` of the token says how such a one is sent"
            #expect(
                failure.kind == .malformed(host: "id.example:8443", status: 200, reason: reason)
            )
        }
    }

    private static let noToken =
        "has no access_token; check `url`, `grant` and `params` of its `oauth2` settings"

    @Test(
        arguments: [
            ("", "is empty"), ("[]", "is not a JSON object"), ("<html>", page),
            ("\r\n <?xml version=\"1.0\"?>", page), ("page", "is not a JSON object"),
            ("\"a\"", "is not a JSON object"), ("{\"access_token\": \"a\"", "is not a JSON object"),
            ("{}", noToken), ("{\"access_token\": 5}", noToken),
            ("{\"access_token\": \"\"}", "has an access_token that cannot be sent"),
            ("{\"access_token\": \"a\\r\\nb\"}", "has an access_token that cannot be sent"),
            ("{\"access_token\": \"a b\"}", "has an access_token that cannot be sent"),
            ("{\"access_token\": \"ü\"}", "has an access_token that cannot be sent"),
            (
                "{\"access_token\": \"a\", \"refresh_token\": \"\\u0000\"}",
                "has a refresh_token that cannot be sent"
            ),
        ]
    )
    func `an answer that cannot be used says why`(body: String, reason: String) throws {
        let failure = try failure(body)
        #expect(failure.kind == .malformed(host: "id.example:8443", status: 200, reason: reason))
        #expect(!failure.isPermanent)
    }

    @Test func `too long an answer is not read`() throws {
        let spaces = String(repeating: " ", count: OAuth2Exchange.bodyBytesMax)
        let reason = "is longer than 256KiB"
        #expect(
            try failure(spaces + "{\"access_token\": \"a\"}").kind
                == .malformed(host: "id.example:8443", status: 200, reason: reason)
        )
        let token = String(repeating: "a", count: TokenField.credentialBytesMax + 1)
        let long = "has an access_token that cannot be sent"
        #expect(
            try failure("{\"access_token\": \"\(token)\"}").kind
                == .malformed(host: "id.example:8443", status: 200, reason: long)
        )
    }

    @Test(
        arguments: [
            (400, "{\"error\": \"invalid_grant\"}", "invalid_grant"),
            (200, "{\"error\": \"invalid_grant\"}", "invalid_grant"),
            (401, "no JSON", nil), (500, "", nil), (302, "", nil),
            (400, "{\"error\": \"a\\\"b\"}", nil), (400, "{\"error\": \"a\\nb\"}", nil),
            (400, "{\"error\": \"\"}", nil), (400, "{\"error\": {\"code\": 1}}", nil),
            (400, "{\"error\": \"\(String(repeating: "a", count: 65))\"}", nil),
        ] as [(UInt16, String, String?)]
    )
    func `a refusal shows its code and nothing else`(
        status: UInt16,
        body: String,
        code: String?
    ) throws {
        let failure = try failure(body, status: status)
        #expect(failure.kind == .refused(host: "id.example:8443", status: status, error: code))
    }

    @Test(
        arguments: [
            ("120", 120), (nil, nil), ("", nil), ("-1", nil), ("1.5", 2), (" 7 ", 7),
            ("9999999999", 315_360_000), ("Fri, 31 Dec 1999 23:59:59 GMT", 99),
            ("Thu, 30 Dec 1999 23:59:59 GMT", 0),
        ] as [(String?, UInt64?)]
    )
    func `a server may ask to be left alone`(field: String?, seconds: UInt64?) throws {
        #expect(try failure("", status: 503, retryAfter: field).retryAfterSeconds == seconds)
    }
}
