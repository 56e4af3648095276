// The name and password in a client's Proxy-Authorization (RFC 7617).
import LupinCore

/// A name and a password as a client gave them.
package struct ClientCredentials: Sendable, Equatable {
    package let name: String
    /// In the client's encoding; never to be logged.
    package let password: [UInt8]

    /// Parses the value of a field; returns nil for another scheme than Basic, and for anything but
    /// `name:password` in base64.
    ///
    /// RFC 7617 §2 allows no control characters. The name must be UTF-8, as our challenge demands;
    /// the password may be any bytes.
    package init?(_ value: Span<UInt8>) {
        let scheme = "Basic "
        guard value.count > scheme.utf8.count,
            value.extracting(..<scheme.utf8.count).equalsIgnoringCase(scheme.utf8.span)
        else { return nil }
        let rest = value.extracting(scheme.utf8.count...)
        guard let bytes = Self.decode(rest.extracting(rest.trimmedRange)),
            bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let colon = bytes.firstIndex(of: 0x3A),
            let name = String(validating: bytes[..<colon], as: UTF8.self)
        else { return nil }
        self.name = name
        password = Array(bytes[(colon + 1)...])
    }

    /// Name and password joined, for a digest: no name has a colon.
    var bytes: [UInt8] { Array(name.utf8) + [0x3A] + password }

    /// Decodes base64 (RFC 4648 §4); padding may be missing.
    private static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == 0x3D { end -= 1 }
        // One digit more than whole groups is less than a byte.
        guard end % 4 != 1, end == text.count || text.count % 4 == 0 else { return nil }
        return Base64Text.decode(digits: [UInt8](copying: text)[..<end])
    }
}
