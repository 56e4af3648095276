// The form in which bodies are compared: what means the same to their readers is the same.

import LupinCore
import LupinPolicy

/// Forms and messages of several parts in one spelling; other bodies as they are.
enum ComparedBody {
    /// The boundary of every body of several parts.
    private static let boundary = "boundary"

    /// The normal form of a body.
    ///
    /// - Parameters:
    ///   - body: Without content codings.
    ///   - type: The value of Content-Type; nil where there is none.
    ///   - isPartial: More followed, so that an escape at the end may not be whole.
    /// - Returns: What is compared byte by byte.
    static func normal(_ body: [UInt8], type: String?, isPartial: Bool = false) -> [UInt8] {
        guard let type else { return body }
        let name = type.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        if name == "application/x-www-form-urlencoded" { return form(body, isPartial: isPartial) }
        guard name.hasPrefix("multipart/"), let own = boundary(of: type) else { return body }
        return replacing(Array("--\(own)".utf8), by: Array("--\(boundary)".utf8), in: body)
    }

    /// A Content-Type without the boundary of its own.
    static func normal(type: String) -> String {
        guard type.lowercased().hasPrefix("multipart/"), let own = boundary(of: type) else {
            return type
        }
        return type.replacing("\"\(own)\"", with: boundary).replacing(own, with: boundary)
    }

    /// Each name and value decoded and encoded again.
    private static func form(_ body: [UInt8], isPartial: Bool) -> [UInt8] {
        var body = body
        if isPartial, let cut = body.suffix(2).lastIndex(of: UInt8(ascii: "%")) {
            body.removeSubrange(cut...)
        }
        let pairs = body.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        return Array(
            pairs.map { pair in
                let parts = pair.split(
                    separator: UInt8(ascii: "="),
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                return parts.map { encoded(QueryParameters.decode(Array($0).span)) }
                    .joined(separator: [UInt8(ascii: "=")])
            }
            .joined(separator: [UInt8(ascii: "&")])
        )
    }

    private static func encoded(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        for byte in text {
            if byte.isUnreserved { output.append(byte) } else { output.append(escaping: byte) }
        }
        return output
    }

    /// RFC 2046 §5.1.1: at most 70 characters, maybe in quotation marks.
    private static func boundary(of type: String) -> String? {
        for parameter in type.split(separator: ";").dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2,
                parts[0].filter({ $0 != " " && $0 != "\t" }).lowercased() == "boundary"
            else { continue }
            let value = parts[1].filter { $0 != "\"" && $0 != " " && $0 != "\t" }
            return value.isEmpty || value.utf8.count > 70 ? nil : value
        }
        return nil
    }

    /// Replaces a delimiter at the beginnings of lines.
    private static func replacing(
        _ delimiter: [UInt8],
        by other: [UInt8],
        in body: [UInt8]
    ) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(body.count)
        var i = 0
        while i < body.count {
            let isStart = i == 0 || body[i - 1] == 0x0A
            if isStart, body[i...].starts(with: delimiter) {
                output += other
                i += delimiter.count
            } else {
                output.append(body[i])
                i += 1
            }
        }
        return output
    }
}
