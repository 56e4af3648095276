// A step of a rule, with all that can be precomputed before a request.

import LupinCore

/// A step of a rule, as plans refer to it.
///
/// A class, since plans share their steps.
package final class PlannedStep: Sendable {
    /// Index of its rule in the rule set.
    package let rule: Int
    package let step: RequestStep
    /// The step as the record names it.
    package let summary: String
    /// The whole field line of a step whose value is the same for every request.
    let line: PlannedLine?
    /// The fields that a step removes.
    let removal: PlannedRemoval?

    /// Whether it changes the body.
    package var editsBody: Bool {
        if case .edit = step { true } else { false }
    }

    /// Creates a step of a request, or of its response.
    package init(rule: Int, step: RequestStep, isOfResponse: Bool = false) {
        self.rule = rule
        self.step = step
        summary = isOfResponse ? "response \(step.summary)" : step.summary
        line = PlannedLine(step)
        removal = PlannedRemoval(step)
    }
}

/// The fields that a step removes.
struct PlannedRemoval: Sendable {
    let glob: ValueGlob
    /// The only field, if it is a known one; otherwise `.other`.
    let known: FieldName

    /// nil when the step removes no field.
    init?(_ step: RequestStep) {
        guard case .remove(let pattern) = step else { return nil }
        glob = ValueGlob(pattern)
        known = glob.literal.map { FieldName($0.span) } ?? .other
    }
}

/// A field line in the form in which it is sent.
struct PlannedLine: Sendable {
    let bytes: [UInt8]
    let nameCount: Int
    let known: FieldName

    /// nil when the step sets no field, or one whose value depends on the request.
    init?(_ step: RequestStep) {
        let name: String
        let value: Template
        switch step {
        case .set(let field, let template), .add(let field, let template),
            .default(let field, let template):
            (name, value) = (field, template)
        case .remove, .rewrite, .query, .url, .compress, .auth, .delay, .edit: return nil
        }
        var text = ""
        for part in value.parts {
            switch part {
            case .text(let more), .secret(let more): text += more
            case .header, .query, .id, .token: return nil
            }
        }
        // The problem is reported when the step is applied.
        if text.utf8Span.span.hasLineEndOrNUL { return nil }
        bytes = Array("\(name): \(text)\r\n".utf8)
        nameCount = name.utf8.count
        known = FieldName(name.utf8Span.span)
    }

    var name: Span<UInt8> {
        @_lifetime(borrow self)
        get { bytes.span.extracting(0..<nameCount) }
    }
}
