// Decodes `tape`: which parts of requests are compared with a tape.

import LupinPolicy

extension DecodingContext {
    /// Decodes `query.NAME`, `header.NAME` or `body`; returns nil after reporting a problem.
    func tapePart(_ node: YAMLNode) -> TapePart? {
        let example = "query.ts, header.Date or body"
        guard let text = text(node, expected: "a part of a request", example: example) else {
            return nil
        }
        return TapePart(text) ?? wrongType(node, "a part of a request", write: example)
    }

    /// Decodes `header.NAME`; returns nil after reporting a problem.
    func tapeField(_ node: YAMLNode) -> TapePart? {
        let example = "header.Accept"
        guard let text = text(node, expected: "a field", example: example) else { return nil }
        if case .header(let name)? = TapePart(text) { return .header(name) }
        return wrongType(node, "a field", write: example)
    }
}
