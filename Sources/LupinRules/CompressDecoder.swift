// What the step `compress:` says: the coding, and which bodies it leaves alone.

import LupinCore

extension DecodingContext {
    /// `{with, min, if_encoded}`, each with a default; nil when a problem was told.
    func compressStep(_ node: YAMLNode) -> CompressStep? {
        let example = "{with: gzip, min: 1KiB, if_encoded: skip}"
        guard let entries = entries(node, of: "a map", example: example) else { return nil }
        var step = CompressStep()
        var isComplete = true
        for entry in entries {
            switch entry.key {
            case "with":
                if let coding = coding(entry.value) {
                    step.coding = coding
                } else {
                    isComplete = false
                }
            case "min":
                if let bytes = minBytes(entry.value) {
                    step.minBytes = bytes
                } else {
                    isComplete = false
                }
            case "if_encoded":
                if let choice = ifEncoded(entry.value) {
                    step.ifEncoded = choice
                } else {
                    isComplete = false
                }
            default:
                unknownKey(entry, in: "compress", known: ["with", "min", "if_encoded"])
                isComplete = false
            }
        }
        return isComplete ? step : nil
    }

    private func minBytes(_ node: YAMLNode) -> UInt64? {
        guard let text = text(node, expected: "a size", example: "1KiB") else { return nil }
        do {
            let bytes = try Units.size(text)
            if (0...1 << 30).contains(bytes) { return UInt64(bytes) }
            self.error(.range, "min \(text) is out of range", at: node, hint: "allowed: 0 to 1GiB")
        } catch {
            self.error(.type, error.message, at: node, hint: error.hint)
        }
        return nil
    }

    private func coding(_ node: YAMLNode) -> ContentCoding? {
        let words = ContentCoding.allCases.map(\.token)
        let expected = words.joined(separator: " or ")
        guard let word = text(node, expected: expected, example: "gzip") else { return nil }
        if let coding = ContentCoding.allCases.first(where: { $0.token == word }) { return coding }
        unknownWord(node, word, for: "coding", known: words)
        return nil
    }

    private func ifEncoded(_ node: YAMLNode) -> CompressStep.IfEncoded? {
        guard let word = text(node, expected: "skip or error", example: "skip") else { return nil }
        switch word {
        case "skip": return .skip
        case "error": return .error
        case "replace":
            // Alamofire has it.
            let message = "\"replace\" would undo the client's own coding, and lupin does not"
            error(.name, message, at: node, hint: "write skip or error")
        default:
            unknownWord(node, word, for: "value", known: ["skip", "error"])
        }
        return nil
    }
}
