// Reads what the variables of OpenTelemetry list.

import LupinCore

/// Lists of `name=value`, as the variables of OpenTelemetry write them.
package enum TelemetryList {
    /// The pairs of `a=1,b=2`, with values percent-decoded; what is no pair is left out.
    package static func pairs(_ text: String) -> [(name: String, value: String)] {
        text.split(separator: ",").compactMap { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { return nil }
            let name = trimmed(halves[0])
            guard !name.isEmpty else { return nil }
            return (name, decoded(trimmed(halves[1])))
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: bytes[bytes.span.trimmedRange], as: UTF8.self)
    }

    /// Undoes `%20`; a `%` without two digits stays.
    private static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var i = 0
        while i < bytes.count {
            if bytes[i] == 0x25, let byte = NumberReader.hexadecimalByte(bytes.span, at: i + 1) {
                result.append(byte)
                i += 3
            } else {
                result.append(bytes[i])
                i += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
