// Token requests and responses of OAuth 2.0 (RFC 6749); a response is untrusted input.

import LupinCore

/// The request for a token, ready to be sent by POST.
package struct TokenRequest: Sendable, Equatable, Concealed {
    package let contentType: String
    /// The value of `Authorization`, if the client authenticates with it.
    package let authorization: String?
    package let body: [UInt8]
}

/// What a token server issued.
package struct TokenResponse: Sendable, Equatable, Concealed {
    package let accessToken: String
    /// The life of the token in seconds; nil if the server does not send it.
    package let expiresIn: Int64?
    /// The next refresh token; nil if the last one stays valid (RFC 6749 §6).
    package let refreshToken: String?
    /// The granted scope, if it differs from the requested one.
    package let scope: String?

    /// The credential, obtained at `now`.
    package func credential(now: UInt64) -> Credential {
        let life = expiresIn.map { Duration.seconds($0) }
        return Credential(.token(accessToken), obtainedAt: now, life: life)
    }
}

/// One grant of one client.
package struct OAuth2Exchange: Sendable {
    /// The longest response of a token server; the rest is not read.
    package static let bodyBytesMax = 256 << 10
    /// Ten years: longer lives are as good as unlimited.
    private static let expiresInMax: Int64 = 10 * 366 * 86400

    private let source: OAuth2Source
    private let takesAnyType: Bool

    /// With `takesAnyType` the rules file says itself how the token is sent, whatever its type.
    package init(_ source: OAuth2Source, takesAnyType: Bool = false) {
        self.source = source
        self.takesAnyType = takesAnyType
    }

    // MARK: Request

    /// Makes the request of RFC 6749 §4.4.2 or §6.
    ///
    /// - Parameters:
    ///   - refreshToken: The last one that the server issued; nil uses the one of the rules file.
    ///   - accessToken: The one to be replaced, if there is one.
    ///   - content: Returns the bytes of a secret file.
    /// - Returns: The request to POST to the source's URL, with `Accept: application/json`.
    /// - Throws: Errors of `content`, and `.missing` without a refresh token.
    package func request(
        refreshToken: String? = nil,
        accessToken: String? = nil,
        _ content: (_ path: String) throws(TokenFailure) -> [UInt8]
    ) throws(TokenFailure) -> TokenRequest {
        var pairs = [(name: "grant_type", value: source.grant.rawValue)]
        if source.grant == .refreshToken {
            var token = refreshToken
            if token == nil { token = try source.refreshToken?.text(content) }
            guard let token, !token.isEmpty else { throw TokenFailure(.missing) }
            pairs.append((name: "refresh_token", value: token))
        }
        if let scope = source.scope { pairs.append((name: "scope", value: scope)) }
        for parameter in source.parameters {
            switch parameter.value {
            case .text(let text):
                pairs.append((name: parameter.name, value: try text.text(content)))
            case .accessToken:
                if let accessToken { pairs.append((name: parameter.name, value: accessToken)) }
            }
        }
        let secret = try source.clientSecret?.text(content)
        var authorization: String?
        if let secret, source.clientAuthentication == .basic {
            // Both are form-encoded first, so that an ID may contain a colon (RFC 6749 §2.3.1).
            let pair = "\(FormText.encode(source.clientID)):\(FormText.encode(secret))"
            authorization = "Basic " + Base64Text.encode(Array(pair.utf8))
        } else {
            pairs.append((name: "client_id", value: source.clientID))
            if let secret { pairs.append((name: "client_secret", value: secret)) }
        }
        let isForm = source.encoding == .form
        return TokenRequest(
            contentType: isForm ? FormText.contentType : "application/json",
            authorization: authorization,
            body: Array((isForm ? FormText.encode(pairs) : OAuth2Exchange.json(pairs)).utf8)
        )
    }

    private static func json(_ pairs: [(name: String, value: String)]) -> String {
        let members = pairs.map { pair in
            "\(pair.name.jsonText):\(pair.value.jsonText)"
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// Whether a request with that answer may be sent again soon.
    package static func isTransient(_ status: UInt16) -> Bool {
        status == 408 || status == 429 || status >= 500
    }

    // MARK: Response

    /// Parses the response (RFC 6749 §5.1, §5.2).
    ///
    /// - Parameters:
    ///   - status: Its status.
    ///   - body: Its content, decoded.
    ///   - retryAfter: The value of its `Retry-After`.
    ///   - unixMicroseconds: The wall clock, for a date in it.
    /// - Returns: The token and its data.
    /// - Throws: `.refused` or `.malformed`, with host, status and error code only.
    package func response(
        status: UInt16,
        body: [UInt8],
        retryAfter: String? = nil,
        now unixMicroseconds: Int64
    ) throws(TokenFailure) -> TokenResponse {
        let wait = retryAfter.flatMap { RetryAfterField.delay($0, now: unixMicroseconds) }
        let seconds = wait.map { ($0.boundedMicroseconds + 999_999) / 1_000_000 }
        let answer = body.count > OAuth2Exchange.bodyBytesMax ? nil : JSONValue(parsing: body.span)
        let error = answer?["error"]?.string
        // Some servers report errors with status 200.
        guard status / 100 == 2, error == nil else {
            let code = error.flatMap(OAuth2Exchange.code)
            throw TokenFailure(
                .refused(host: host, status: status, error: code),
                retryAfterSeconds: seconds,
                grant: source.grant
            )
        }
        guard body.count <= OAuth2Exchange.bodyBytesMax else {
            throw malformed(status, "is longer than 256KiB")
        }
        guard let answer, case .object = answer else {
            throw malformed(status, OAuth2Exchange.reason(against: body))
        }
        guard let token = answer["access_token"]?.string else {
            throw malformed(status, OAuth2Exchange.noToken)
        }
        guard OAuth2Exchange.isToken(token) else {
            throw malformed(status, "has an access_token that cannot be sent")
        }
        guard takesAnyType || OAuth2Exchange.isBearer(answer["token_type"]) else {
            throw malformed(status, OAuth2Exchange.reason(against: answer["token_type"]))
        }
        return TokenResponse(
            accessToken: token,
            expiresIn: answer["expires_in"].flatMap(OAuth2Exchange.life),
            refreshToken: try nextToken(answer, status),
            scope: answer["scope"]?.string
        )
    }

    /// Of a body that is not a JSON object.
    private static func reason(against body: [UInt8]) -> String {
        let first = body.first { $0 != 0x20 && !(0x09...0x0D).contains($0) }
        guard first != UInt8(ascii: "<") else {
            return "is a page, not JSON: check that the URL is that of the token endpoint"
        }
        return body.isEmpty ? "is empty" : "is not a JSON object"
    }

    private static let noToken =
        "has no access_token; check `url`, `grant` and `params` of its `oauth2` settings"

    private static func reason(against type: JSONValue?) -> String {
        let name = type?.string.flatMap(code)
        let what =
            name.map { "has the token_type \"\($0)\"" } ?? "has a token_type other than Bearer"
        return what + "; `header` of the token says how such a one is sent"
    }

    /// The failure of an answer that points to another place; nil where it is none.
    ///
    /// The place is told without its query, which may hold a secret.
    package func redirection(status: UInt16, location: String?) -> TokenFailure? {
        guard (300..<400).contains(status), let location else { return nil }
        let target = location.prefix { $0 != "?" && $0 != "#" }.prefix(200)
        let isShown =
            !target.isEmpty
            && target.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x40 && $0 != 0x22 }
        guard isShown else { return nil }
        let kind = TokenFailure.Kind.redirected(host: host, status: status, target: String(target))
        return TokenFailure(kind, grant: source.grant)
    }

    /// RFC 6749 §5.1 requires the type, but servers that know only Bearer leave it out, or empty.
    private static func isBearer(_ type: JSONValue?) -> Bool {
        switch type {
        case nil, .null: true
        case .string(let name): ["", "bearer"].contains(name.trimmedOfBlanks.lowercased())
        case .object, .list, .number, .bool: false
        }
    }

    private func nextToken(
        _ answer: JSONValue,
        _ status: UInt16
    ) throws(TokenFailure) -> String? {
        guard let next = answer["refresh_token"]?.string, !next.isEmpty else { return nil }
        guard OAuth2Exchange.isToken(next) else {
            throw malformed(status, "has a refresh_token that cannot be sent")
        }
        return next
    }

    private var host: String { source.url.origin.hostAndPort }

    /// The failure for a response whose content can't be read.
    package func unreadable(status: UInt16, reason: String) -> TokenFailure {
        malformed(status, reason)
    }

    private func malformed(_ status: UInt16, _ reason: String) -> TokenFailure {
        TokenFailure(.malformed(host: host, status: status, reason: reason))
    }

    /// Whether the text can follow `Bearer` without being split or joined.
    private static func isToken(_ text: String) -> Bool {
        (1...TokenField.credentialBytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// A number, or its digits as text; whole seconds.
    ///
    /// Values below 1 count as unknown: see `Credential`.
    private static func life(_ value: JSONValue) -> Int64? {
        if let text = value.string {
            guard text.utf8.count <= 20,
                let seconds = NumberReader.saturated(
                    Array(text.utf8).span,
                    at: UInt64(expiresInMax)
                ), seconds >= 1
            else { return nil }
            // Bounded: by `expiresInMax`.
            return Int64(seconds)
        }
        guard let seconds = value.number, seconds >= 1 else { return nil }
        // Bounded: by `expiresInMax`.
        return seconds < Double(expiresInMax) ? Int64(seconds) : expiresInMax
    }

    /// An error code that may be shown: at most 64 NQSCHAR of RFC 6749 Appendix A.7.
    private static func code(_ text: String) -> String? {
        let isCode = text.utf8.allSatisfy { byte in
            (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
        }
        return isCode && (1...64).contains(text.utf8.count) ? text : nil
    }
}
