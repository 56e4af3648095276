// Splits and decodes the parameters of a query.

import LupinCore

/// The `name=value` parts between `?` and the end, separated by `&`.
package enum QueryParameters {
    /// Decoded names and values, in order; empty parts are skipped.
    package static func decoded(of pathAndQuery: Span<UInt8>) -> [(name: [UInt8], value: [UInt8])] {
        guard let query = range(in: pathAndQuery) else { return [] }
        var parameters: [(name: [UInt8], value: [UInt8])] = []
        for part in parts(of: pathAndQuery, query) where !part.isEmpty {
            let text = pathAndQuery.extracting(part)
            let equals = firstEquals(in: text)
            let valueStart = min(equals + 1, text.count)
            parameters.append(
                (
                    name: decode(text.extracting(0..<equals)),
                    value: decode(text.extracting(valueStart..<text.count))
                )
            )
        }
        return parameters
    }

    /// The range after the first `?`; nil if there is none.
    static func range(in pathAndQuery: Span<UInt8>) -> Range<Int>? {
        var i = 0
        while i < pathAndQuery.count {
            if pathAndQuery[i] == 0x3F { return i + 1..<pathAndQuery.count }
            i &+= 1
        }
        return nil
    }

    /// The parts between the ampersands, including empty ones.
    static func parts(of text: Span<UInt8>, _ query: Range<Int>) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = query.lowerBound
        for i in query where text[i] == 0x26 {
            parts.append(start..<i)
            start = i + 1
        }
        parts.append(start..<query.upperBound)
        return parts
    }

    /// The decoded name of one part.
    static func name(of part: Span<UInt8>) -> [UInt8] {
        decode(part.extracting(0..<firstEquals(in: part)))
    }

    private static func firstEquals(in part: Span<UInt8>) -> Int {
        var i = 0
        while i < part.count, part[i] != 0x3D { i &+= 1 }
        return i
    }

    /// Decodes escapes; `+` is a space, as in forms and in most servers.
    package static func decode(_ text: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var i = 0
        while i < text.count {
            if let byte = NormalPath.escape(at: i, in: text) {
                output.append(byte)
                i += 3
            } else {
                output.append(text[i] == 0x2B ? 0x20 : text[i])
                i += 1
            }
        }
        return output
    }
}
