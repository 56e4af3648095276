// Parses the authentication challenges of servers, including malformed ones.

/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.3).
package struct AuthenticationChallenge: Sendable, Equatable {
    package struct Parameter: Sendable, Equatable {
        /// As written; case is ignored in comparisons.
        package let name: String
        /// Without quotes and escapes; an ``OctetText``.
        package let value: String
    }

    /// As written; case is ignored in comparisons.
    package var scheme: String
    /// The alternative to parameters in some schemes.
    package var token68: String?
    package var parameters: [Parameter] = []

    /// The first value of a parameter.
    package subscript(name: String) -> String? { parameters[name] }

    /// Whether it has the scheme, ignoring case.
    package func isScheme(_ name: String) -> Bool { scheme.lowercased() == name.lowercased() }
}

extension AuthenticationChallenge {
    /// All challenges in a section's lines of one name, in order.
    package static func challenges(
        in fields: FieldSection,
        _ name: FieldName = .wwwAuthenticate
    ) -> [AuthenticationChallenge] {
        let wanted = name.spelling.utf8Span.span
        return fields.lines.filter { fields.nameEquals($0, wanted) }.flatMap { line in
            challenges(in: Array(fields.storage[line.value.range]))
        }
    }

    /// The challenges in one value; of a malformed value, those that could be parsed.
    package static func challenges(in value: String) -> [AuthenticationChallenge] {
        challenges(in: Array(value.utf8))
    }

    private static func challenges(in value: [UInt8]) -> [AuthenticationChallenge] {
        var reader = ChallengeReader(value)
        reader.read()
        return reader.challenges
    }

    /// The parameters of a field such as `Authentication-Info` (RFC 9110 §11.6.3).
    package static func parameters(in value: String) -> [Parameter] {
        // These have the grammar of a challenge's parameters, without the scheme.
        challenges(in: "Info " + value).first?.parameters ?? []
    }
}

extension [AuthenticationChallenge.Parameter] {
    /// The value of the first parameter called `name`, ignoring case.
    package subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return first { $0.name.lowercased() == wanted }?.value
    }
}

extension [AuthenticationChallenge] {
    /// Whether the credential is valid but has insufficient rights (RFC 6750 §3.1).
    ///
    /// Another credential from the same source has the same rights, so a refresh is pointless.
    package var isInsufficientScope: Bool {
        let errors = filter { $0.isScheme("Bearer") }.compactMap { $0["error"]?.lowercased() }
        return errors.contains("insufficient_scope") && !errors.contains("invalid_token")
    }

    /// Whether one of them has the scheme, ignoring case.
    package func offers(_ scheme: String) -> Bool { contains { $0.isScheme(scheme) } }
}

/// A parser of one value, with the grammar of RFC 9110 §11.6.1.
///
/// Every step advances, and none reads past the end.
private struct ChallengeReader {
    /// The most challenges of a list; further ones are not parsed.
    private static let challengesMax = 32
    private static let parametersMax = 64

    private(set) var challenges: [AuthenticationChallenge] = []
    private let bytes: [UInt8]
    private var position = 0

    init(_ value: [UInt8]) { bytes = value }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func read() {
        while true {
            skip { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") }
            guard current != nil, challenges.count <= ChallengeReader.challengesMax else { break }
            element()
        }
        let surplus = challenges.count - ChallengeReader.challengesMax
        if surplus > 0 { challenges.removeLast(surplus) }
    }

    /// Parses one list element: a parameter of the last challenge, or the start of a new challenge.
    private mutating func element() {
        let start = position
        let name = take(while: \.isTokenByte)
        guard !name.isEmpty else { return skipElement() }
        let end = position
        skipSpace()
        if current == UInt8(ascii: "=") {
            position = start
            return parameter()
        }
        challenges.append(AuthenticationChallenge(scheme: name))
        // After the scheme: at least one space, then token68 or the first parameter.
        guard position > end, let next = current, next != UInt8(ascii: ",") else {
            if position == end, current != nil, current != UInt8(ascii: ",") { skipElement() }
            return
        }
        if !token68() { parameter() }
    }

    /// Parses a `token68` up to the end of the element; otherwise consumes nothing.
    private mutating func token68() -> Bool {
        let start = position
        var text = take { byte in
            byte.asciiLowercased &- 0x61 < 26 || byte.isASCIIDigit
                || ChallengeReader.token68Marks.contains(byte)
        }
        let body = position
        text += take { $0 == UInt8(ascii: "=") }
        skipSpace()
        guard body > start, current == nil || current == UInt8(ascii: ",") else {
            position = start
            return false
        }
        challenges[challenges.count - 1].token68 = text
        return true
    }

    /// Parses `name=value`, which is dropped if there is no challenge or no value.
    private mutating func parameter() {
        let name = take(while: \.isTokenByte)
        skipSpace()
        guard !name.isEmpty, current == UInt8(ascii: "=") else { return skipElement() }
        position += 1
        skipSpace()
        let isQuoted = current == UInt8(ascii: "\"")
        guard let value = isQuoted ? quoted() : unquoted() else { return skipElement() }
        guard let last = challenges.indices.last,
            challenges[last].parameters.count < ChallengeReader.parametersMax
        else { return skipElement() }
        challenges[last].parameters.append(.init(name: name, value: value))
        skipSpace()
        // Some servers leave out the commas: then the next element begins behind a blank.
        let isBehindBlank = bytes[position - 1] == 0x20 || bytes[position - 1] == 0x09
        if isBehindBlank, current?.isTokenByte == true { return }
        skipElement()
    }

    /// Skips blanks; whether another `name=` follows.
    private mutating func beginsParameter() -> Bool {
        skipSpace()
        let start = position
        defer { position = start }
        let name = take(while: \.isTokenByte)
        skipSpace()
        return !name.isEmpty && current == UInt8(ascii: "=")
    }

    /// Parses a quoted string, without quotes and escapes; nil when it is not closed.
    private mutating func quoted() -> String? {
        var text: [UInt8] = []
        position += 1
        while let byte = current {
            position += 1
            if byte == UInt8(ascii: "\"") { return OctetText.text(text) }
            if byte == UInt8(ascii: "\\"), let escaped = current {
                position += 1
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    /// Parses a token, or an unquoted value that should be quoted.
    ///
    /// It goes up to a comma, or to a blank with another parameter behind it.
    private mutating func unquoted() -> String? {
        let start = position
        var end = position
        while let byte = current, byte != UInt8(ascii: ","), byte != UInt8(ascii: "\"") {
            let isBlank = byte == 0x20 || byte == 0x09
            if isBlank, beginsParameter() { break }
            if !isBlank {
                position += 1
                end = position
            }
        }
        return end == start ? nil : OctetText.text(Array(bytes[start..<end]))
    }

    // MARK: Moving on

    /// Skips to the comma that ends the element; commas in quotes don't end it.
    private mutating func skipElement() {
        while let byte = current, byte != UInt8(ascii: ",") {
            if byte == UInt8(ascii: "\"") {
                _ = quoted()
            } else {
                position += 1
            }
        }
    }

    private mutating func skipSpace() { skip { $0 == 0x20 || $0 == 0x09 } }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while let byte = current, isSkipped(byte) { position += 1 }
    }

    private mutating func take(while isTaken: (UInt8) -> Bool) -> String {
        let start = position
        skip(while: isTaken)
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static let token68Marks = Array("-._~+/".utf8)
}
