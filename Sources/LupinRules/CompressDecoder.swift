// Decodes the step `compress:`: the coding, and which bodies it leaves unchanged.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// Decodes `{with, min, if_encoded}`, each with a default; returns nil after reporting a
    /// problem.
    func compressStep(_ node: YAMLNode) -> CompressStep? {
        let example = "{with: gzip, min: 1KiB, if_encoded: skip}"
        guard let entries = entries(node, of: "a map", example: example) else { return nil }
        var step = CompressStep()
        let known = ["with", "min", "if_encoded"]
        let isComplete = every(entries, in: "compress", known: known) { entry in
            switch entry.key {
            case "with": set(&step.coding, coding(entry.value))
            case "min": set(&step.minBytes, minBytes(entry.value))
            default: set(&step.ifEncoded, ifEncoded(entry.value))
            }
        }
        return isComplete ? step : nil
    }

    private func minBytes(_ node: YAMLNode) -> UInt64? {
        guard let text = text(node, expected: "a size", example: "1KiB"),
            let bytes = units(node, { () throws(Units.Problem) in try Units.size(text) })
        else { return nil }
        if (0...1 << 30).contains(bytes) { return UInt64(bytes) }
        return refuse(.range, "min \(text) is out of range", at: node, hint: "allowed: 0 to 1GiB")
    }

    private func coding(_ node: YAMLNode) -> ContentCoding? {
        let codings = ContentCoding.allCases
        let word = word(node, codings.map(\.token), what: "coding", example: "gzip")
        return codings.first { $0.token == word }
    }

    private func ifEncoded(_ node: YAMLNode) -> CompressStep.IfEncoded? {
        guard let word = text(node, expected: "skip or error", example: "skip") else { return nil }
        switch word {
        case "skip": return .skip
        case "error": return .error
        case "replace":
            // Alamofire has this value.
            let message = "\"replace\" would undo the client's own coding, and lupin does not"
            return refuse(.name, message, at: node, hint: "write skip or error")
        default: return unknownWord(node, word, for: "value", known: ["skip", "error"])
        }
    }
}
