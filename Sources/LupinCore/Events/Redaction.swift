// What must not appear in anything lupin writes, and what stands there instead.

/// Hides secrets in everything that leaves lupin for people: records, error bodies, `Proxy-Status`,
/// diagnostics.
///
/// A value is hidden for its field's name, for its place in a URL, or because it is a known secret.
package struct Redactor: Sendable {
    /// A keyed digest of a secret, so that equal secrets can be told to be equal and nothing else.
    package typealias Digest = @Sendable (Span<UInt8>) -> UInt16

    /// Fields whose values are never written.
    package static let hiddenFields = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "authentication-info",
        "proxy-authentication-info", "x-api-key", "api-key", "x-auth-token",
        "x-amz-security-token", "x-csrf-token", "*-token", "*-key", "*-secret", "*password*",
    ]

    /// Parameters of URLs whose values are never written.
    package static let hiddenParameters = [
        "access_token", "refresh_token", "id_token", "token", "code", "state", "key", "api_key",
        "sig", "signature", "*password*", "*secret*", "X-Amz-Signature",
        "X-Amz-Credential", "X-Amz-Security-Token", "X-Goog-Signature", "X-Goog-Credential",
        "AWSAccessKeyId",
    ]

    private let fields: NameSet
    private let urls: URLRedaction
    private let digest: Digest
    private let isOff: Bool
    private var matcher = SecretMatcher()
    /// What replaces each secret of the matcher.
    private var marks: [[UInt8]] = []

    /// A redactor for the built-in names, those of the rules file, and the secrets it resolved.
    ///
    /// `isOff` is `--unsafe-log-secrets`: everything is written as it is.
    package init(
        settings: RedactionSettings,
        secrets: [String],
        isOff: Bool = false,
        digest: @escaping Digest
    ) {
        fields = NameSet(Redactor.hiddenFields + settings.headers)
        urls = URLRedaction(parameters: NameSet(Redactor.hiddenParameters + settings.query))
        self.digest = digest
        self.isOff = isOff
        for secret in secrets { add(secret: secret) }
    }

    /// Adds a secret, such as a token that was fetched.
    ///
    /// Of `user:password` each part is one too.
    package mutating func add(secret: String) {
        let bytes = Array(secret.utf8)
        taint(bytes)
        guard let colon = bytes.firstIndex(of: 0x3A) else { return }
        taint(Array(bytes[..<colon]))
        taint(Array(bytes[(colon + 1)...]))
    }

    /// Whether the values of the field called `name` are hidden.
    package func hides(field name: Span<UInt8>) -> Bool { !isOff && fields.contains(name) }

    /// `REDACTED.hhhh` for a value.
    package func mark(for value: Span<UInt8>) -> [UInt8] {
        var mark = Array("REDACTED.".utf8)
        mark.append(hex: UInt64(digest(value)), digits: 4)
        return mark
    }

    /// `bytes` with URLs and known secrets redacted; nil when there is nothing to redact, which
    /// costs one pass and no allocation.
    package func cleaned(_ bytes: Span<UInt8>) -> [UInt8]? {
        if isOff { return nil }
        guard let redacted = withoutURLSecrets(bytes) else { return withoutTaint(bytes) }
        return withoutTaint(redacted.span) ?? redacted
    }

    /// `text` with URLs and known secrets redacted.
    package func cleaned(_ text: String) -> String {
        guard let bytes = cleaned(text.utf8Span.span) else { return text }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func taint(_ secret: [UInt8]) {
        guard matcher.add(secret) else { return }
        marks.append(mark(for: secret.span))
    }

    private func withoutURLSecrets(_ bytes: Span<UInt8>) -> [UInt8]? {
        let findings = urls.findings(in: bytes)
        if findings.isEmpty { return nil }
        var result: [UInt8] = []
        var copied = 0
        for finding in findings {
            result.append(copying: bytes.extracting(copied..<finding.range.lowerBound))
            if case .value(let range) = finding {
                result.append(contentsOf: mark(for: bytes.extracting(range)))
            }
            copied = finding.range.upperBound
        }
        result.append(copying: bytes.extracting(copied..<bytes.count))
        return result
    }

    private func withoutTaint(_ bytes: Span<UInt8>) -> [UInt8]? {
        let hits = matcher.find(in: bytes)
        if hits.isEmpty { return nil }
        var result: [UInt8] = []
        var copied = 0
        for hit in hits {
            result.append(copying: bytes.extracting(copied..<hit.range.lowerBound))
            result.append(contentsOf: marks[hit.secret])
            copied = hit.range.upperBound
        }
        result.append(copying: bytes.extracting(copied..<bytes.count))
        return result
    }
}
