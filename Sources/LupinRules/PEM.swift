// Reads files with certificates or a key: PEM blocks, or plain DER.

import LupinCore

/// One block of a PEM text (RFC 7468).
package struct PEMBlock: Equatable {
    /// For example `CERTIFICATE`.
    package var label: String
    package var content: [UInt8]
    /// Whether the content is a key that needs a password.
    package var isEncrypted: Bool

    /// The DER of a certificate under any of OpenSSL's labels; nil for another block.
    fileprivate var certificate: [UInt8]? {
        switch label {
        case "CERTIFICATE", "X509 CERTIFICATE": content
        // Its owner's wishes for it follow, which are not ours.
        case "TRUSTED CERTIFICATE": DER.sequences(in: content)?.first ?? content
        default: nil
        }
    }
}

package enum PEM {
    private static let begin = "-----BEGIN "
    private static let end = "-----END "
    private static let dashes = "-----"

    /// Parses the blocks of `text`, in order; returns nil when one is not closed or not base64.
    ///
    /// Text between blocks is ignored.
    package static func blocks(in text: String) -> [PEMBlock]? {
        var blocks: [PEMBlock] = []
        var label: String?
        var isEncrypted = false
        var base64: [UInt8] = []
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.hasPrefix(begin), line.hasSuffix(dashes) {
                guard label == nil else { return nil }
                let name = String(line.dropFirst(begin.count).dropLast(dashes.count))
                label = name
                isEncrypted = name.hasPrefix("ENCRYPTED ")
                base64 = []
            } else if let name = label, line == "\(end)\(name)\(dashes)" {
                guard let content = Base64Text.decode(base64) else { return nil }
                blocks.append(PEMBlock(label: name, content: content, isEncrypted: isEncrypted))
                label = nil
            } else if label != nil {
                // Older keys have fields before their content (RFC 1421 §4.6).
                if line.contains(":") {
                    if line.hasSuffix("ENCRYPTED") { isEncrypted = true }
                } else {
                    base64 += line.utf8
                }
            }
        }
        return label == nil ? blocks : nil
    }

    /// Parses the blocks of a file, which may begin with a byte order mark.
    package static func blocks(in bytes: [UInt8]) -> [PEMBlock]? {
        String(validating: bytes[bytes.span.byteOrderMark...], as: UTF8.self).flatMap(blocks)
    }

    /// Returns the DER encodings of the certificates in a file, PEM or DER; nil when it has none.
    package static func certificates(in bytes: [UInt8]) -> [[UInt8]]? {
        var found: [[UInt8]]?
        if bytes.first == 0x30 {
            found = DER.sequences(in: bytes)
        } else {
            found = blocks(in: bytes)?.compactMap(\.certificate)
        }
        guard let found, !found.isEmpty,
            found.allSatisfy({ DER.sequences(in: $0)?.count == 1 })
        else { return nil }
        return found
    }

    /// Whether a file holds certificates and nothing else that could be read: no key above all, not
    /// even a damaged one.
    package static func holdsCertificatesAlone(_ bytes: [UInt8]) -> Bool {
        guard certificates(in: bytes) != nil else { return false }
        if bytes.first == 0x30 { return true }
        let text = String(decoding: bytes, as: UTF8.self)
        return blocks(in: bytes)?.allSatisfy { $0.certificate != nil } == true
            && !text.uppercased().contains("PRIVATE KEY")
    }

    private static func trimmed(_ line: Substring) -> Substring {
        var line = line
        while line.last == " " || line.last == "\t" { line.removeLast() }
        return line
    }
}

enum DER {
    /// Splits `bytes` into consecutive SEQUENCEs; returns nil when they are something else.
    static func sequences(in bytes: [UInt8]) -> [[UInt8]]? {
        var result: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            guard rest.popFirst() == 0x30, let first = rest.popFirst() else { return nil }
            var header: [UInt8] = [0x30, first]
            var length = Int(first)
            if first >= 0x80 {
                // Four bytes of length suffice for any file.
                guard (0x81...0x84).contains(first) else { return nil }
                length = 0
                for _ in 0..<(first & 0x7F) {
                    guard let byte = rest.popFirst() else { return nil }
                    header.append(byte)
                    length = length << 8 | Int(byte)
                }
            }
            guard length > 0, length <= rest.count else { return nil }
            result.append(header + rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return result
    }
}
