// Hides secrets in all that lupin writes.

/// Hides secrets in all that lupin shows to users: records, error bodies, `Proxy-Status`,
/// diagnostics.
///
/// A value is hidden because of its field's name, its place in a URL, or because it is a known
/// secret.
package struct Redactor: Sendable {
    /// A keyed digest of a secret, which only reveals whether two secrets are equal.
    package typealias Digest = @Sendable (Span<UInt8>) -> UInt16

    private let fields: NameSet
    /// Of the names that lupin knows, those whose values are hidden.
    private let knownFields: FieldNameSet
    private let urls: URLRedaction
    private let members: MemberRedaction
    private let digest: Digest
    private let isOff: Bool
    private var matcher = SecretMatcher()
    /// The replacement for each secret of the matcher.
    private var marks: [[UInt8]] = []

    /// Creates a redactor for the built-in names, those of the rules file, and the resolved
    /// secrets.
    ///
    /// `isOff` is `--unsafe-log-secrets`: nothing is redacted.
    package init(
        settings: RedactionSettings,
        secrets: [String],
        isOff: Bool = false,
        digest: @escaping Digest
    ) {
        let fields = SecretNames.set(besides: settings.headers)
        self.fields = fields
        knownFields = FieldName.allCases.reduce(FieldNameSet()) { set, name in
            fields.contains(name.spelling.utf8Span.span) ? set.with(name) : set
        }
        urls = URLRedaction(parameters: SecretNames.parameters(besides: settings.query))
        members = MemberRedaction(names: settings.json)
        self.digest = digest
        self.isOff = isOff
        for secret in secrets { add(secret: secret) }
    }

    /// Adds a secret, such as a fetched token.
    ///
    /// Adds each part of `user:password` as well.
    package mutating func add(secret: String) {
        let bytes = Array(secret.utf8)
        taint(bytes)
        guard let colon = bytes.firstIndex(of: 0x3A) else { return }
        taint(Array(bytes[..<colon]))
        taint(Array(bytes[(colon + 1)...]))
    }

    /// Whether the values of the field called `name` are hidden.
    package func hides(field name: Span<UInt8>) -> Bool { !isOff && fields.contains(name) }

    /// The same, for a line of a head, whose value may say that it is secret.
    package func hides(field name: Span<UInt8>, _ value: Span<UInt8>, known: FieldName) -> Bool {
        if known != .other { return !isOff && knownFields.contains(known) }
        if hides(field: name) { return true }
        if isOff { return false }
        if Redactor.protocols.span.equalsIgnoringCase(name) {
            return SecretNames.holdToken(inProtocols: value)
        }
        if SecretNames.isCredential(value) { return true }
        return Redactor.codes.contains(name) && SecretNames.isRandomCode(value)
    }

    /// Fields whose values say whether they are hidden.
    private static let codes = NameSet(SecretNames.codes)
    private static let protocols = Array("sec-websocket-protocol".utf8)

    /// Returns `REDACTED.hhhh` for a value.
    package func mark(for value: Span<UInt8>) -> [UInt8] {
        var mark = Array("REDACTED.".utf8)
        mark.append(hex: UInt64(digest(value)), digits: 4)
        return mark
    }

    /// Redacts URLs, members of JSON and known secrets in `bytes`; returns nil when there is
    /// nothing to redact, after one pass and without an allocation.
    package func cleaned(_ bytes: Span<UInt8>) -> [UInt8]? {
        if isOff { return nil }
        let present = Escaping.present(in: bytes)
        let findings = urls.findings(in: bytes, isBody: false, present)
        let named =
            MemberRedaction.mayFind(present) ? members.findings(inLine: bytes) : []
        let hits = matcher.find(in: bytes)
        if findings.isEmpty, named.isEmpty, hits.isEmpty { return nil }
        let losses = findings.map(Loss.init) + named.map(Loss.init) + hits.map(Loss.init)
        let cleaned = replacing(Redactor.joined(losses), in: bytes)
        if findings.isEmpty { return cleaned }
        // A secret may be a URL, which only matches once the userinfo is removed.
        let again = matcher.find(in: cleaned.span)
        return again.isEmpty ? cleaned : replacing(again.map(Loss.init), in: cleaned.span)
    }

    /// Redacts URLs and known secrets in `text`.
    package func cleaned(_ text: String) -> String {
        guard let bytes = cleaned(text.utf8Span.span) else { return text }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func taint(_ secret: [UInt8]) {
        guard matcher.add(secret) else { return }
        marks.append(mark(for: secret.span))
    }

    /// How far the longest known secret reaches in any encoding, and a URL's parameter.
    package var reach: Int { max(4096, matcher.reach) }

    /// Masks a part of a body: known secrets, those in URLs, and members by their names.
    ///
    /// - Parameters:
    ///   - bytes: The part, and what is known of the bytes behind it.
    ///   - cut: How much of `bytes` to mask; the rest shows what follows.
    ///   - isStart: The body begins with `bytes`.
    ///   - isLast: The body ends with `bytes`.
    ///   - isCut: It went on, so that a secret may have begun.
    /// - Returns: The masked text, nil where it is as it was, and how many bytes it stands for:
    ///   fewer than `cut` if something to hide begins before it and may end behind it.
    package func masked(
        _ bytes: Span<UInt8>,
        upTo cut: Int,
        isStart: Bool,
        isLast: Bool,
        isCut: Bool
    ) -> (text: [UInt8]?, taken: Int) {
        if isOff { return (nil, cut) }
        let named = members.findings(in: bytes, isStart: isStart)
        let inURLs = urls.findings(in: bytes, isBody: true)
        let hits = matcher.find(in: bytes, cut: isCut ? .any : .none)
        if named.isEmpty, inURLs.isEmpty, hits.isEmpty { return (nil, cut) }
        let losses = Redactor.joined(
            named.map(Loss.init) + inURLs.map(Loss.init) + hits.map(Loss.init)
        )
        var taken = cut
        if !isLast {
            // The latest first: one that moves the cut may lay another across it.
            for loss in losses.reversed()
            where loss.anchor < taken && loss.range.upperBound >= taken {
                taken = loss.anchor
            }
        }
        let passed = losses.filter { $0.range.upperBound <= taken && !$0.range.isEmpty }
        var text = replacing(passed, in: bytes.extracting(0..<taken))
        // A secret may be a URL, which only matches once the userinfo is removed.
        let again = matcher.find(in: text.span)
        if !again.isEmpty { text = replacing(again.map(Loss.init), in: text.span) }
        return (text, taken)
    }

    /// A range of a text to redact.
    private struct Loss {
        enum Replacement {
            case nothing, markOfValue
            /// A number becomes a string, whose quotes stand behind so many backslashes.
            case quotedMarkOfValue(backslashes: Int)
            case markOfSecret(Int)
        }

        var range: Range<Int>
        var replacement: Replacement
        /// Where the text begins that shows what the range is.
        var anchor: Int

        init(_ finding: MemberRedaction.Finding) {
            range = finding.value
            replacement =
                finding.isBare
                ? .quotedMarkOfValue(backslashes: finding.backslashes) : .markOfValue
            anchor = finding.anchor
        }

        init(_ finding: URLRedaction.Finding) {
            range = finding.range
            anchor = max(0, finding.range.lowerBound - URLRedaction.contextBytes)
            replacement =
                switch finding {
                case .userinfo: .nothing
                case .value: .markOfValue
                }
        }

        init(_ hit: SecretMatcher.Hit) {
            range = hit.range
            anchor = hit.range.lowerBound
            replacement = .markOfSecret(hit.secret)
        }
    }

    /// Sorts the ranges and joins overlapping ones, so that no rest of a secret remains next to a
    /// range that its URL loses.
    private static func joined(_ losses: [Loss]) -> [Loss] {
        if losses.count < 2 { return losses }
        var result: [Loss] = []
        // Of ranges with the same start, the longer one comes first.
        let all = losses.sorted {
            ($0.range.lowerBound, -$0.range.upperBound)
                < ($1.range.lowerBound, -$1.range.upperBound)
        }
        for loss in all {
            guard let last = result.last, loss.range.lowerBound < last.range.upperBound else {
                result.append(loss)
                continue
            }
            // A range within another is already covered.
            guard loss.range.upperBound > last.range.upperBound else { continue }
            var union = last
            union.range = last.range.lowerBound..<loss.range.upperBound
            union.anchor = min(last.anchor, loss.anchor)
            if case .markOfSecret = loss.replacement { union.replacement = loss.replacement }
            result[result.count - 1] = union
        }
        return result
    }

    private func replacing(_ losses: [Loss], in bytes: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var copied = 0
        for loss in losses {
            result.append(copying: bytes.extracting(copied..<loss.range.lowerBound))
            switch loss.replacement {
            case .nothing: break
            case .markOfValue:
                result.append(contentsOf: mark(for: bytes.extracting(loss.range)))
            case .quotedMarkOfValue(let backslashes):
                let quote = [UInt8](repeating: 0x5C, count: backslashes) + [0x22]
                result.append(contentsOf: quote)
                result.append(contentsOf: mark(for: bytes.extracting(loss.range)))
                result.append(contentsOf: quote)
            case .markOfSecret(let secret): result.append(contentsOf: marks[secret])
            }
            copied = loss.range.upperBound
        }
        result.append(copying: bytes.extracting(copied..<bytes.count))
        return result
    }
}
