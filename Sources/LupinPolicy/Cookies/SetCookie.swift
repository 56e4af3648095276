// Parses one Set-Cookie value; whether the cookie is stored is decided elsewhere.

package import LupinCore

extension FieldSection {
    /// The values of the cookies that a response sets.
    package var cookieValues: [String] {
        guard names.contains(.setCookie) else { return [] }
        return lines.filter { $0.known == .setCookie }.compactMap { line in
            let cookie = try? SetCookie(parsing: storage.span.extracting(line.value.range))
            return cookie.map { String(decoding: OctetText.bytes($0.value), as: UTF8.self) }
        }
    }
}

/// A parsed Set-Cookie value (RFC 6265 §5.2, with the limits and prefixes of its successor draft).
///
/// SameSite is stored but not enforced: a proxy sees requests and doesn't know which site caused
/// them.
package struct SetCookie: Sendable, Equatable {
    package enum SameSite: Sendable, Equatable { case strict, lax, none }

    /// The most bytes of name and value together.
    package static let pairBytesMax = 4096
    /// The most bytes of an attribute's value; an attribute with a longer value counts as absent.
    package static let attributeBytesMax = 1024
    /// The longest time that a cookie is stored: 400 days.
    package static let lifetimeMax: Int64 = 400 * 86400

    /// Empty for a cookie without a name; an ``OctetText``, as is the value.
    package var name: String
    package var value: String
    /// As written, without one leading dot; nil if it is absent or empty.
    package var domain: String?
    /// Begins with `/`; nil means the default path of the request.
    package var path: String?
    /// Whether there is a Path attribute at all.
    package var hasPath = false
    package var isSecure = false
    package var isHTTPOnly = false
    /// nil means the client's default.
    package var sameSite: SameSite?
    /// Seconds to live; takes precedence over ``expires``.
    package var maxAge: Int64?
    /// Seconds since 1970.
    package var expires: Int64?

    /// Makes a session cookie of name and value, without attributes.
    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Parses a field value.
    /// - Throws: `controlByte`, `tooLong` or `empty`. An invalid attribute counts as
    ///   absent.
    package init(parsing bytes: Span<UInt8>) throws(CookieProblem) {
        for i in bytes.indices where bytes[i] < 0x20 && bytes[i] != 0x09 || bytes[i] == 0x7F {
            throw .controlByte
        }
        var end = SetCookie.index(of: 0x3B, in: bytes, from: 0)
        let pair = SetCookie.split(bytes.extracting(0..<end))
        // Without `=`, everything is the value.
        let name = pair.value == nil ? 0..<0 : pair.name
        let value = pair.value ?? pair.name
        guard name.count + value.count <= SetCookie.pairBytesMax else { throw .tooLong }
        guard !name.isEmpty || !value.isEmpty else { throw .empty }
        let part = bytes.extracting(0..<end)
        self.init(
            name: OctetText.text([UInt8](copying: part.extracting(name))),
            value: OctetText.text([UInt8](copying: part.extracting(value)))
        )
        while end < bytes.count {
            let start = end + 1
            end = SetCookie.index(of: 0x3B, in: bytes, from: start)
            take(bytes.extracting(start..<end))
        }
    }

    /// The expiry of the cookie, in seconds since 1970; nil for a session cookie.
    ///
    /// Max-Age takes precedence over Expires, and the lifetime is limited to 400 days.
    package func expiry(at now: Int64) -> Int64? {
        let limit = now.addingSaturated(SetCookie.lifetimeMax)
        if let maxAge { return maxAge <= 0 ? .min : min(now.addingSaturated(maxAge), limit) }
        return expires.map { min($0, limit) }
    }

    // MARK: Attributes

    /// Parses one attribute; of two with the same name the last counts.
    ///
    /// An unknown or invalid one is ignored.
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

    /// Parses an optional minus and digits; large numbers saturate.
    private static func deltaSeconds(_ bytes: Span<UInt8>) -> Int64? {
        let isNegative = bytes.count > 0 && bytes[0] == 0x2D
        let digits = bytes.extracting((isNegative ? 1 : 0)..<bytes.count)
        return NumberReader.saturated(digits, at: 1 << 50).map {
            // Bounded: by 2^50.
            isNegative ? -Int64($0) : Int64($0)
        }
    }

    // MARK: Bytes

    /// The trimmed ranges before and after the first `=`; no value range without one.
    private static func split(_ bytes: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>?) {
        let equals = index(of: 0x3D, in: bytes, from: 0)
        let name = bytes.extracting(0..<equals).trimmedRange
        guard equals < bytes.count else { return (name, nil) }
        let start = equals + 1
        let value = bytes.extracting(start..<bytes.count).trimmedRange
        return (name, start + value.lowerBound..<start + value.upperBound)
    }

    /// The first index of `byte`, or the end.
    private static func index(of byte: UInt8, in bytes: Span<UInt8>, from start: Int) -> Int {
        var i = start
        while i < bytes.count, bytes[i] != byte { i += 1 }
        return i
    }

    private static func text(_ bytes: Span<UInt8>) -> String? {
        String(validating: [UInt8](copying: bytes), as: UTF8.self)
    }
}
