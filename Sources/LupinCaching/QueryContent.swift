// What of a QUERY's content tells one from another (RFC 10008 §2.7).

package import LupinCore
import LupinPolicy

/// The content of a QUERY and what says how to read it, without differences that mean nothing.
///
/// Only differences are removed on which every reader agrees: if two requests look alike here and
/// not to their origin, one gets the other's response.
package struct QueryContent: Sendable {
    /// The fields that say how content is read.
    private static let names = ["Content-Type", "Content-Language", "Content-Location"]

    /// Two contents that mean the same have the same bytes, and no others.
    package let bytes: [UInt8]

    /// - Parameters:
    ///   - content: The content, without content codings if they could be undone.
    ///   - fields: Those of the request.
    ///   - codings: The codings that the content still has.
    package init(_ content: [UInt8], _ fields: FieldSection, codings: [String]) {
        var bytes: [UInt8] = []
        var isJSON = false
        for name in Self.names {
            for value in fields.values(of: name) {
                let text = name == Self.names[0] ? Self.normal(type: value) : value
                bytes += "\(name): \(text)\n".utf8
                if name == Self.names[0] { isJSON = Self.isJSON(text) }
            }
        }
        for coding in codings { bytes += "coding \(coding.lowercased())\n".utf8 }
        bytes.append(0x0A)
        let isText = isJSON && codings.isEmpty && JSONValue(parsing: content.span) != nil
        self.bytes = bytes + (isText ? Self.withoutBlanks(content) : content)
    }

    /// A media type whose names are in lower case (RFC 9110 §8.3.1); its parameters stay.
    private static func normal(type: String) -> String {
        let end = type.utf8.firstIndex(of: 0x3B) ?? type.endIndex
        return type[..<end].trimmedOfBlanks.lowercased() + type[end...].trimmedOfBlanks
    }

    private static func isJSON(_ type: String) -> Bool {
        let name = type.prefix { $0 != ";" }
        return name == "application/json" || name.hasSuffix("+json")
    }

    /// A JSON text without the blanks between its tokens (RFC 8259 §2).
    private static func withoutBlanks(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var (isInString, isEscaped) = (false, false)
        for byte in text {
            if isInString {
                isInString = isEscaped || byte != 0x22
                isEscaped = !isEscaped && byte == 0x5C
            } else if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
                continue
            } else {
                isInString = byte == 0x22
            }
            result.append(byte)
        }
        return result
    }
}
