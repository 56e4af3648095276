// What one Set-Cookie value says, before anybody has decided whether to keep the cookie.

/// A parsed Set-Cookie value (RFC 6265 §5.2, with the limits and prefixes of its successor draft).
///
/// SameSite is kept and not enforced: a proxy sees requests and doesn't know which site asked for
/// them.
package struct SetCookie: Sendable, Equatable {
    package enum SameSite: Sendable, Equatable { case strict, lax, none }

    /// Bytes of name and value together.
    package static let pairBytesMax = 4096
    /// Bytes of an attribute's value; a longer attribute counts as absent.
    package static let attributeBytesMax = 1024
    /// The longest time that a cookie is kept: 400 days.
    package static let lifetimeMax: Int64 = 400 * 86400

    /// Empty for a cookie without a name.
    package var name: String
    package var value: String
    /// As written but for one leading dot; nil where there is none or it is empty.
    package var domain: String?
    /// Begins with `/`; nil is the default path of the request.
    package var path: String?
    /// Whether there is a Path attribute at all.
    package var hasPath = false
    package var isSecure = false
    package var isHTTPOnly = false
    /// nil is the client's default.
    package var sameSite: SameSite?
    /// Seconds to live; wins over ``expires``.
    package var maxAge: Int64?
    /// Seconds since 1970.
    package var expires: Int64?

    /// A session cookie of name and value, with no attribute.
    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Reads a field value.
    /// - Throws: `controlByte`, `notUTF8`, `tooLong` or `empty`. What is wrong with an attribute
    ///   leaves the attribute unsaid.
    package init(parsing bytes: Span<UInt8>) throws(CookieProblem) {
        for i in bytes.indices where bytes[i] < 0x20 && bytes[i] != 0x09 || bytes[i] == 0x7F {
            throw .controlByte
        }
        var end = SetCookie.index(of: 0x3B, in: bytes, from: 0)
        let pair = SetCookie.split(bytes.extracting(0..<end))
        // What has no `=` is all value.
        let name = pair.value == nil ? 0..<0 : pair.name
        let value = pair.value ?? pair.name
        guard name.count + value.count <= SetCookie.pairBytesMax else { throw .tooLong }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        let part = bytes.extracting(0..<end)
        guard let nameText = SetCookie.text(part.extracting(name)),
            let valueText = SetCookie.text(part.extracting(value))
        else { throw .notUTF8 }
        self.init(name: nameText, value: valueText)
        while end < bytes.count {
            let start = end + 1
            end = SetCookie.index(of: 0x3B, in: bytes, from: start)
            take(bytes.extracting(start..<end))
        }
    }

    /// When the cookie ends, in seconds since 1970; nil for a session cookie.
    ///
    /// Max-Age wins over Expires, and nothing is kept for longer than 400 days.
    package func expiry(at now: Int64) -> Int64? {
        let limit = now.addingSaturated(SetCookie.lifetimeMax)
        if let maxAge { return maxAge <= 0 ? .min : min(now.addingSaturated(maxAge), limit) }
        return expires.map { min($0, limit) }
    }

    // MARK: Attributes

    /// One attribute: of two with one name the last counts.
    ///
    /// An unknown or unusable one says nothing.
    private mutating func take(_ attribute: Span<UInt8>) {
        let (name, valueRange) = SetCookie.split(attribute)
        let value = attribute.extracting(valueRange ?? 0..<0)
        guard value.count <= SetCookie.attributeBytesMax else { return }
        let key = attribute.extracting(name)
        if key.equalsIgnoringCase("expires".utf8Span.span) {
            if let seconds = CookieDate.seconds(value) { expires = seconds }
        } else if key.equalsIgnoringCase("max-age".utf8Span.span) {
            if let seconds = SetCookie.deltaSeconds(value) { maxAge = seconds }
        } else if key.equalsIgnoringCase("domain".utf8Span.span) {
            let text = String(copying: value)
            let bare = text.hasPrefix(".") ? String(text.dropFirst()) : text
            domain = bare.isEmpty ? nil : bare
        } else if key.equalsIgnoringCase("path".utf8Span.span) {
            hasPath = true
            path = value.count > 0 && value[0] == 0x2F ? SetCookie.text(value) : nil
        } else if key.equalsIgnoringCase("secure".utf8Span.span) {
            isSecure = true
        } else if key.equalsIgnoringCase("httponly".utf8Span.span) {
            isHTTPOnly = true
        } else if key.equalsIgnoringCase("samesite".utf8Span.span) {
            switch String(copying: value).lowercased() {
            case "strict": sameSite = .strict
            case "lax": sameSite = .lax
            case "none": sameSite = SameSite.none
            default: sameSite = nil
            }
        }
    }

    /// An optional minus and digits; large numbers saturate.
    private static func deltaSeconds(_ bytes: Span<UInt8>) -> Int64? {
        let isNegative = bytes.count > 0 && bytes[0] == 0x2D
        let digits = bytes.extracting((isNegative ? 1 : 0)..<bytes.count)
        return NumberReader.saturated(digits, at: 1 << 50).map {
            // Bounded: by 2^50.
            isNegative ? -Int64($0) : Int64($0)
        }
    }

    // MARK: Bytes

    /// Where the parts around the first `=` lie, trimmed; no value without one.
    private static func split(_ bytes: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>?) {
        let equals = index(of: 0x3D, in: bytes, from: 0)
        let name = bytes.extracting(0..<equals).trimmedRange
        guard equals < bytes.count else { return (name, nil) }
        let start = equals + 1
        let value = bytes.extracting(start..<bytes.count).trimmedRange
        return (name, start + value.lowerBound..<start + value.upperBound)
    }

    /// The first place of `byte`, or the end.
    private static func index(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
        var i = start
        while i < bytes.count, bytes[i] != byte { i += 1 }
        return i
    }

    private static func text(_ bytes: Span<UInt8>) -> String? {
        String(validating: [UInt8](copying: bytes), as: UTF8.self)
    }
}
