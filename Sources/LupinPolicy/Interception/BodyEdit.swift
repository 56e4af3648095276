// What the steps `body:` and `json:` make of a body.

package import LupinCore

/// A change of a whole body.
package enum BodyEdit: Sendable, Equatable {
    /// Every occurrence of a pattern becomes another text; see ``Replacement``.
    case replace(BodyPattern, with: String)
    case json(JSONEdit)

    /// Longer bodies pass unchanged, as they came or without their content coding.
    package static let bytesMax = 1 << 20
    /// A result that is longer is not used.
    package static let resultBytesMax = 4 << 20

    /// The edit as the record names it, such as `json /flags/new`.
    package var summary: String {
        switch self {
        case .replace: "body replace"
        case .json(let edit): "json \(edit.summary)"
        }
    }

    /// The body after the edit; nil if it changes nothing.
    /// - Throws: Why the edit can't be made.
    package func edited(_ body: [UInt8]) throws(BodyEditProblem) -> [UInt8]? {
        let result: [UInt8]? =
            switch self {
            case .replace(let pattern, let text): try pattern.replacing(in: body, with: text)
            case .json(let edit): try edit.edited(body)
            }
        guard let result, result != body else { return nil }
        guard result.count <= Self.resultBytesMax else { throw .resultTooLong }
        return result
    }
}

/// Why a body was left as it is.
package enum BodyEditProblem: Error, Sendable, Equatable {
    case tooLong
    case resultTooLong
    /// The pattern took too many steps.
    case tooCostly
    case notJSON
    /// A pointer leads through a value that is neither an object nor a list.
    case notContainer(pointer: String)
    /// A part of a representation (206), or a body without an end.
    case partial
    case stream(type: String)
    /// `Incremental: ?1` (RFC 10036 §3).
    case incremental
    case coding(String)
    case damaged(String)
    /// The thread for bodies has too much to do.
    case busy

    /// A few words for the record.
    package var reason: String {
        switch self {
        case .tooLong: "the body is longer than 1 MiB"
        case .resultTooLong: "the result would be longer than 4 MiB"
        case .tooCostly: "the expression takes too long on this body"
        case .notJSON: "the body is not JSON"
        case .notContainer(let pointer): "\(pointer) leads through a value that is no object"
        case .partial: "the body is a part only"
        case .stream(let type): "a body of \(type) has no end to wait for"
        case .incremental: "Incremental asks for the body piece by piece"
        case .coding(let name): "the body is coded with \(name), which lupin can't undo"
        case .damaged(let reason): "the body can't be decoded: \(reason)"
        case .busy: "lupin has too many bodies to edit"
        }
    }
}

/// A text, or a regular expression between slashes, that is looked for in a body.
package struct BodyPattern: Sendable, Equatable {
    /// The pattern as the file has it.
    package let source: String
    private let expression: RegularExpression?

    /// Units of a body that one search may look at, for each byte: an expression that finds little
    /// for much looking would hold up others.
    private static let unitsPerByte = 16
    private static let unitsMin = 1 << 20

    /// - Throws: What is wrong with the regular expression.
    package init(_ text: String) throws(PatternProblem) {
        source = text
        expression = try RegularExpression(literal: text)
    }

    package var groupCount: Int { expression?.groupCount ?? 0 }

    /// `body` with every match replaced; nil if there is none.
    func replacing(
        in body: [UInt8],
        with replacement: String
    ) throws(BodyEditProblem) -> [UInt8]? {
        let replacement = Replacement(replacement)
        var budget = max(Self.unitsMin, body.count * Self.unitsPerByte)
        var output: [UInt8] = []
        var (kept, from) = (0, 0)
        while from <= body.count, let groups = find(in: body, from: from, &budget),
            let match = groups[0]
        {
            output += body[kept..<match.lowerBound]
            replacement.append(to: &output, groups: groups, of: body.span)
            kept = match.upperBound
            // Past an empty match goes one byte, or the same one would be found for ever.
            from = match.isEmpty ? match.upperBound + 1 : match.upperBound
            guard output.count <= BodyEdit.resultBytesMax else { throw .resultTooLong }
        }
        if budget < 0 { throw .tooCostly }
        return kept == 0 && output.isEmpty ? nil : output + body[kept...]
    }

    private func find(in body: [UInt8], from: Int, _ budget: inout Int) -> [Range<Int>?]? {
        if let expression {
            return expression.captures(in: body.span, from: from, budget: &budget)
        }
        let text = Array(source.utf8)
        guard !text.isEmpty, let range = body.firstRange(of: text, from: from) else { return nil }
        return [range]
    }
}

extension FieldSection {
    /// Why a body with these fields is not waited for and edited; nil where it is.
    ///
    /// `explain` and the proxy ask it, of requests and responses.
    package func reasonNotToEdit(length: UInt64?) -> BodyEditProblem? {
        if let length, length > UInt64(BodyEdit.bytesMax) { return .tooLong }
        if let stream = reasonToStream { return stream }
        return contentCodings.first { DecodableCoding($0) == nil }
            .map { .coding(String($0.prefix(40))) }
    }

    /// Why a body with these fields has to pass piece by piece, and can't be waited for.
    package var reasonToStream: BodyEditProblem? {
        let type = (value(of: "Content-Type") ?? "").prefix { $0 != ";" }.trimmedOfBlanks
            .lowercased()
        if Self.streams.contains(type) || type.hasPrefix("application/grpc") {
            return .stream(type: type)
        }
        return isIncremental ? .incremental : nil
    }

    private static let streams: Set = [
        "text/event-stream", "multipart/x-mixed-replace", "application/x-ndjson",
        "application/ndjson", "application/jsonl", "application/json-seq",
    ]

    /// Whether `Incremental` is true: a Boolean of RFC 9651, whose parameters say nothing here.
    private var isIncremental: Bool {
        let values = values(of: "Incremental")
        guard values.count == 1, let value = values.first else { return false }
        return value.prefix { $0 != ";" }.trimmedOfBlanks == "?1"
    }
}
