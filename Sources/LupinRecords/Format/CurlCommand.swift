// Formats a recorded request as a curl command for any POSIX shell.

import LupinCore

/// A `curl` command, with variables in place of secrets.
package struct CurlCommand: Sendable {
    package var method: String
    package var url: String
    /// In the original order; values may hold the redactor's marks.
    package var fields: [(name: [UInt8], value: [UInt8])]
    /// `1.0`, `1.1` or `2`; nil when unknown.
    package var version: String?
    /// The request's body, its content codings undone; nil when there is none or it is unknown.
    package var body: [UInt8]?
    /// Comments above the command, without their `#`.
    package var remarks: [String] = []
    /// Whether the fields are complete, so that curl must not add any of its own.
    package var hasAllFields = true

    package init(method: String, url: String, fields: [(name: [UInt8], value: [UInt8])]) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    /// The longest body in a command: kernels take arguments of 128 KiB.
    package static let bodyBytesMax = 96 << 10

    /// The lines of the command, comments first, without a trailing newline.
    package var text: String {
        var variables = ShellVariables()
        var lines = ["curl \(methodWords)"]
        var input = ""
        if let flag = versionFlag { lines.append(flag) }
        // curl would treat brackets and braces as patterns, and remove dot segments.
        if url.contains(where: { "[]{}".contains($0) }) { lines.append("--globoff") }
        if url.contains("/./") || url.contains("/../") || url.hasSuffix("/..") {
            lines.append("--path-as-is")
        }
        for field in sentFields {
            let name = String(decoding: field.name, as: UTF8.self)
            let parts = variables.parts(of: field.value.span) { _ in name }
            // curl takes `Name:` as "without this field", and `Name;` as an empty value.
            let start: [UInt8] = field.name + (field.value.isEmpty ? [0x3B] : [0x3A, 0x20])
            lines.append("-H \(ShellWord.text([.bytes(start)] + parts))")
        }
        if hasAllFields {
            // What curl would add.
            let names = ["User-Agent", "Accept"] + (body == nil ? [] : ["Content-Type"])
            for name in names where !has(name) { lines.append("-H '\(name):'") }
        }
        if asksForCoding { lines.append("--compressed") }
        if let body {
            let parts = variables.parts(of: body.span) { _ in "body" }
            if let word = ShellWord.text(lines: parts) {
                // Not --data-binary, which takes `@name` for a file.
                lines.append("--data-raw \(word)")
            } else {
                input = "\(ShellWord.printing(parts)) | "
                lines.append("--data-binary @-")
            }
        }
        let parts = variables.parts(of: url.utf8Span.span, name: Self.parameter)
        lines.append(ShellWord.text(parts))
        var comments = remarks.map { "# \(Self.oneLine($0))" }
        if !variables.names.isEmpty {
            comments.append("# set before: \(variables.names.joined(separator: " "))")
        }
        return (comments + [input + lines.joined(separator: " \\\n  ")]).joined(separator: "\n")
    }

    // MARK: Parts

    /// With `-X HEAD`, curl would wait for a body.
    private var methodWords: String {
        if method == "HEAD" { return "--head" }
        return "-X \(ShellWord.text([.bytes(Array(method.utf8))]))"
    }

    private var versionFlag: String? {
        switch version {
        case "1.0": "--http1.0"
        case "1.1": "--http1.1"
        case "2": url.hasPrefix("https:") ? "--http2" : "--http2-prior-knowledge"
        default: nil
        }
    }

    /// Without the fields that curl sets itself, those about a body that was not recorded, and
    /// connection-specific ones.
    private var sentFields: [(name: [UInt8], value: [UInt8])] {
        let nominated = fields.filter { Self.lowercased($0.name) == "connection" }
            .flatMap { Self.lowercased($0.value).split(separator: ",") }
            .map { String($0.filter { $0 != " " && $0 != "\t" }) }
        return fields.filter { field in
            let name = Self.lowercased(field.name)
            if Self.leftOut.contains(name) || nominated.contains(name) { return false }
            if name == "content-encoding", body != nil { return false }
            return name != "host" || Self.lowercased(field.value) != authority
        }
    }

    private static let leftOut: Set<String> = [
        "connection", "content-length", "expect", "http2-settings", "keep-alive",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// `host[:port]` of the URL, in lower case.
    private var authority: String {
        guard let marker = url.firstRange(of: "://") else { return "" }
        return url[marker.upperBound...].prefix { !"/?#".contains($0) }.lowercased()
    }

    /// Whether the response may be coded in a way that curl undoes.
    private var asksForCoding: Bool {
        fields.contains { field in
            Self.lowercased(field.name) == "accept-encoding"
                && ["gzip", "deflate", "br", "zstd"].contains {
                    Self.lowercased(field.value).contains($0)
                }
        }
    }

    private func has(_ name: String) -> Bool {
        let name = name.lowercased()
        return fields.contains { Self.lowercased($0.name) == name }
    }

    private static func lowercased(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.map(\.asciiLowercased), as: UTF8.self)
    }

    /// Joins lines, since a newline would end the comment.
    private static func oneLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    /// Returns the name of the parameter whose value follows `text` in a URL.
    private static func parameter(before text: Span<UInt8>) -> String {
        var name: [UInt8] = []
        var i = text.count - 1
        guard i >= 0, text[i] == 0x3D else { return "secret" }
        i -= 1
        while i >= 0, text[i] != 0x3F, text[i] != 0x26, text[i] != 0x3B, text[i] != 0x23 {
            name.append(text[i])
            i -= 1
        }
        return String(decoding: name.reversed(), as: UTF8.self)
    }
}

// MARK: Secrets

/// The variables of one command, which stand for the values that the redactor hid.
private struct ShellVariables {
    /// In order of first use.
    private(set) var names: [String] = []
    /// Equal secrets have equal marks, so they share a variable.
    private var byMark: [String: String] = [:]

    /// Splits `text` at the redactor's marks; `name` names the secret that follows a text.
    mutating func parts(
        of text: Span<UInt8>,
        name: (Span<UInt8>) -> String
    ) -> [ShellWord.Part] {
        var parts: [ShellWord.Part] = []
        var start = 0
        var i = 0
        while i < text.count {
            guard let end = Self.endOfMark(in: text, at: i) else {
                i += 1
                continue
            }
            if i > start { parts.append(.bytes([UInt8](copying: text.extracting(start..<i)))) }
            let mark = String(copying: text.extracting(i..<end))
            parts.append(.variable(variable(for: mark, name(text.extracting(0..<i)))))
            start = end
            i = end
        }
        if start < text.count { parts.append(.bytes([UInt8](copying: text.extracting(start...)))) }
        return parts
    }

    private static let word = Array("REDACTED".utf8)

    /// Returns the end of `REDACTED.hhhh`, or of the word alone, at `i`; nil without a mark.
    private static func endOfMark(in text: Span<UInt8>, at i: Int) -> Int? {
        guard text.count - i >= word.count else { return nil }
        for k in word.indices where text[i + k] != word[k] { return nil }
        let end = i + word.count
        guard text.count - end >= 5, text[end] == 0x2E else { return end }
        for k in 1...4 where text[end + k].hexDigit == nil { return end }
        return end + 5
    }

    private mutating func variable(for mark: String, _ name: String) -> String {
        var base = String(
            String.UnicodeScalarView(
                name.uppercased().unicodeScalars.map {
                    "A"..."Z" ~= $0 || "0"..."9" ~= $0 ? $0 : "_"
                }
            )
        )
        if base.isEmpty || base.unicodeScalars.first.map({ "0"..."9" ~= $0 }) == true {
            base = "_\(base)"
        }
        let key = "\(base) \(mark)"
        if let known = byMark[key] { return known }
        var result = base
        var number = 2
        while names.contains(result) || Self.reserved.contains(result) {
            result = "\(base)_\(number)"
            number += 1
        }
        byMark[key] = result
        names.append(result)
        return result
    }

    /// Names with a meaning for shells and programs.
    private static let reserved: Set<String> = [
        "CDPATH", "ENV", "HOME", "IFS", "LANG", "PATH", "PS1", "PS2", "PWD", "SHELL", "TERM",
        "TMPDIR", "USER", "_",
    ]
}

// MARK: Words

/// A word of a POSIX shell.
enum ShellWord {
    enum Part: Equatable {
        case bytes([UInt8])
        case variable(String)
    }

    /// Quotes the bytes and the variables, in order, as one word.
    static func text(_ parts: [Part]) -> String {
        var text = ""
        var pending: [UInt8] = []
        for part in parts {
            switch part {
            case .bytes(let bytes): pending += bytes
            case .variable(let name):
                text += quoted(pending) + "\"$\(name)\""
                pending = []
            }
        }
        text += quoted(pending)
        return text.isEmpty ? "''" : text
    }

    /// The same for a text of several lines; nil for what is no text.
    static func text(lines parts: [Part]) -> String? {
        var text = ""
        for part in parts {
            switch part {
            case .bytes(let bytes):
                guard let part = String(validating: bytes, as: UTF8.self),
                    LogText.isHarmless(part.replacing("\n", with: "").replacing("\t", with: ""))
                else { return nil }
                text += "'\(part.replacing("'", with: "'\\''"))'"
            case .variable(let name): text += "\"$\(name)\""
            }
        }
        return text.isEmpty ? "''" : text
    }

    private static func quoted(_ bytes: [UInt8]) -> String {
        if bytes.isEmpty { return "" }
        if bytes.allSatisfy(isHarmless) { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self),
            LogText.isHarmless(text)
        else { return printed(bytes) }
        return "'\(text.replacing("'", with: "'\\''"))'"
    }

    /// Whether a byte has no special meaning to a shell in any position.
    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x2F, 0x3A, 0x5F: true
        default: false
        }
    }

    /// Bytes that are not text, or would act on a terminal, are passed through printf, since not
    /// every shell has `$'…'`.
    private static func printed(_ bytes: [UInt8]) -> String {
        "\"$(\(printing([.bytes(bytes)])))\""
    }

    /// The command that prints the bytes and the variables, in order.
    static func printing(_ parts: [Part]) -> String {
        var template = ""
        var values = ""
        for part in parts {
            switch part {
            case .bytes(let bytes): template += format(bytes)
            case .variable(let name):
                template += "%s"
                values += " \"$\(name)\""
            }
        }
        return "printf -- '\(template)'\(values)"
    }

    /// The format by which printf writes bytes, for single quotes.
    private static func format(_ bytes: [UInt8]) -> String {
        var format = ""
        for byte in bytes {
            switch byte {
            case 0x25: format += "%%"
            // Quotes, backslashes and unprintable bytes would affect the format.
            case 0x27, 0x5C, 0..<0x20, 0x7F...0xFF:
                let digits = String(byte, radix: 8)
                format += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
            default: format += String(decoding: [byte], as: UTF8.self)
            }
        }
        return format
    }
}
