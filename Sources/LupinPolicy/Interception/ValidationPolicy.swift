// `validate:` of a rule, which defines a valid response: Alamofire's validation.

package import LupinCore

/// Conditions on a response; all of them must hold, and an empty policy has none.
package struct ValidationPolicy: Sendable, Equatable {
    /// The condition on Content-Type.
    package enum ContentType: Sendable, Equatable {
        /// A type that the request's Accept accepts.
        case accept
        /// One of these types; parameters are ignored.
        case listed([MediaRange])
    }

    /// A field that must exist with a value that matches one of the patterns.
    package struct FieldDemand: Sendable, Equatable {
        package var name: String
        package var values: [ValuePattern]

        package init(name: String, values: [ValuePattern]) {
            self.name = name
            self.values = values
        }
    }

    /// The length of the body as sent, including content codings.
    package struct Size: Sendable, Equatable {
        package var min: UInt64
        /// nil for no limit.
        package var max: UInt64?

        package init(min: UInt64 = 0, max: UInt64? = nil) {
            self.min = min
            self.max = max
        }
    }

    /// A value that the body must contain: any one of several.
    package struct JSONDemand: Sendable, Equatable {
        package var pointer: JSONPointer
        package var values: [JSONScalar]

        package init(pointer: JSONPointer, values: [JSONScalar]) {
            self.pointer = pointer
            self.values = values
        }
    }

    /// Longer bodies, as received or after decoding, fail every condition on values.
    package static let inspectedBytesMax = 256 << 10

    /// nil for any status.
    package var status: StatusSet?
    /// nil for any type.
    package var contentType: ContentType?
    package var headers: [FieldDemand] = []
    package var size: Size?
    package var json: [JSONDemand] = []
    package var action = ValidationAction.fail

    package init() {}

    /// One that demands a status.
    package init(status: UInt16) { self.status = StatusSet([status...status]) }

    /// Alamofire's `validate()`: 200 to 299, and a type that the request accepts.
    package static let standard: ValidationPolicy = {
        var policy = ValidationPolicy()
        policy.status = StatusSet([200...299])
        policy.contentType = .accept
        return policy
    }()

    /// Whether there are no conditions.
    package var isEmpty: Bool {
        status == nil && contentType == nil && headers.isEmpty && size == nil && json.isEmpty
    }

    /// Whether the body must be collected, up to `inspectedBytesMax`, and checked.
    package var needsBody: Bool { !json.isEmpty }

    /// Returns why values can't be checked: by its method or status the response has no body.
    package func reasonNotToAsk(_ head: ResponseHead, request: RequestHead) -> String? {
        guard needsBody, head.hasNoBody(answering: request) else { return nil }
        let what = request.method == .head ? "to HEAD" : "with status \(head.status)"
        return "json was not checked: a response \(what) has no body"
    }

    /// Returns why a body of unknown length is not held back for its size, as far as the head says.
    package func reasonNotToHold(_ head: ResponseHead) -> String? {
        head.fields.reasonToStream.map { "size was not checked: \($0.reason)" }
    }
}

/// A condition that a response does not meet.
package struct ValidationFailure: Error, Equatable {
    /// The key of `validate:` that does not hold.
    package enum Condition: String, Sendable, CaseIterable {
        case status, header, size, json
        case contentType = "content_type"
    }

    package var condition: Condition
    /// For records and pages; it shows nothing of a body and no field value except a media type.
    package var sentence: String

    package init(condition: Condition, sentence: String) {
        self.condition = condition
        self.sentence = sentence
    }
}

// MARK: The head

extension ValidationPolicy {
    /// Checks the head; returns the first condition that does not hold, nil if all hold.
    ///
    /// Interim responses are not checked, nor is 101, after which no response follows.
    ///
    /// `request` is the last one sent, `contentLength` is known from the framing, and `isBodyEmpty`
    /// is nil while unknown: then a body is assumed, unless its length is 0.
    ///
    /// With `takesNotModified` a 304 that the request's own condition asked for has a right status.
    package func check(
        head: ResponseHead,
        request: RequestHead,
        contentLength: UInt64?,
        isBodyEmpty: Bool?,
        takesNotModified: Bool = false
    ) -> ValidationFailure? {
        guard head.status >= 200 else { return nil }
        if let status, !status.contains(head.status),
            !(takesNotModified && head.isNotModified(answering: request))
        {
            let sentence = "status \(head.status) is not in \(status.text)"
            return ValidationFailure(condition: .status, sentence: sentence)
        }
        let isEmpty = isBodyEmpty ?? (contentLength == 0) || head.hasNoBody(answering: request)
        if !isEmpty, let sentence = problem(withContentTypeOf: head, request) {
            return ValidationFailure(condition: .contentType, sentence: sentence)
        }
        for demand in headers where !demand.holds(for: head.fields) {
            let isThere = head.fields.value(of: demand.name) != nil
            let sentence =
                isThere
                ? "no value of \(demand.name) is an expected one"
                : "\(demand.name) is missing"
            return ValidationFailure(condition: .header, sentence: sentence)
        }
        guard !head.hasNoBody(answering: request) else { return nil }
        let length = isBodyEmpty == true ? 0 : contentLength
        if let length {
            let failure = check(received: length, isComplete: true, head: head, request: request)
            if failure != nil { return failure }
        }
        return needsBody ? head.reasonNotToWait(forBodyOf: length) : nil
    }

    private func problem(withContentTypeOf head: ResponseHead, _ request: RequestHead) -> String? {
        guard let contentType else { return nil }
        let media = head.mediaType
        let isExpected =
            switch contentType {
            case .accept: MediaRange.isAccepted(media, by: request.fields)
            case .listed(let ranges):
                ranges.contains { range in media.map(range.contains) ?? (range.type == "*") }
            }
        if isExpected { return nil }
        let subject = contentType == .accept ? "in the request's Accept" : "an expected type"
        guard let media else {
            return head.fields.first(.contentType) == nil
                ? "there is no Content-Type" : "Content-Type is no media type"
        }
        return "\(String(media.text.prefix(100))) is not \(subject)"
    }
}

// MARK: The body

extension ValidationPolicy {
    /// Checks the size of a body of `received` bytes, which is the whole body if `isComplete`.
    ///
    /// Call it while a body of unknown length streams, and at its end. A body that the method or
    /// the status excludes (HEAD, 204, 205, 304) is not required, as in Alamofire.
    package func check(
        received: UInt64,
        isComplete: Bool,
        head: ResponseHead,
        request: RequestHead
    ) -> ValidationFailure? {
        guard let size else { return nil }
        if let max = size.max, received > max {
            // The total length is unknown while the body streams.
            let count = isComplete ? "\(received)" : "more than \(max)"
            let sentence = "the body has \(count) bytes, and at most \(max) are expected"
            return ValidationFailure(condition: .size, sentence: sentence)
        }
        if isComplete, received < size.min, !head.hasNoBody(answering: request) {
            let sentence = "the body has \(received) bytes, and at least \(size.min) are expected"
            return ValidationFailure(condition: .size, sentence: sentence)
        }
        return nil
    }

    /// Checks the JSON values of a body; returns nil when all of them are as expected.
    ///
    /// An empty, partial or invalid body fails.
    package func check(body: Span<UInt8>, head: ResponseHead) -> ValidationFailure? {
        guard needsBody else { return nil }
        if body.isEmpty { return .unreadable("the body is empty") }
        guard let findings = JSONScanner.find(json.map(\.pointer), in: body) else {
            return .unreadable("the body is not JSON")
        }
        for (demand, found) in zip(json, findings) where !demand.isMet(by: found, in: body) {
            let sentence = demand.sentence(about: found)
            return ValidationFailure(condition: .json, sentence: sentence)
        }
        return nil
    }
}

extension ValidationFailure {
    /// The failure for a body whose values can't be read.
    package static func unreadable(_ reason: String) -> ValidationFailure {
        ValidationFailure(condition: .json, sentence: reason)
    }

    /// The failure for a body that is too long to inspect.
    package static var tooLong: ValidationFailure {
        .unreadable("the body is longer than the 256 KiB that lupin inspects")
    }
}

extension ValidationPolicy.JSONDemand {
    fileprivate func isMet(by found: JSONFinding, in body: Span<UInt8>) -> Bool {
        for value in values where found.equals(value, in: body) { return true }
        return false
    }

    /// Describes a mismatch without revealing more of the body than the kind of the value.
    fileprivate func sentence(about found: JSONFinding) -> String {
        let subject = pointer.source.isEmpty ? "the body" : pointer.source
        let isSameKind = values.contains { value in
            switch (found, value) {
            case (.string, .string), (.number, .number): true
            default: false
            }
        }
        if found == .missing { return "\(subject) is missing" }
        guard values.count == 1 else {
            return "\(subject) is \(found.kindText), and none of the expected values: "
                + Self.list(values)
        }
        let expected = values[0].sentence
        if isSameKind { return "\(subject) is \(found.kindText) other than \(expected)" }
        return "\(subject) is \(found.kindText), and \(expected) is expected"
    }

    /// Several values in words, such as `true or a text of the rule`.
    private static func list(_ values: [JSONScalar]) -> String {
        let texts = values.count { if case .string = $0 { true } else { false } }
        var words = values.filter { if case .string = $0 { false } else { true } }
            .map(\.sentence)
        if texts == 1 { words.append("the text of the rule") }
        if texts > 1 { words.append("one of the \(texts) texts of the rule") }
        return words.joined(separator: " or ")
    }
}

extension ValidationPolicy.FieldDemand {
    /// Whether a line has a value that matches one of the patterns; without patterns any line is
    /// enough.
    fileprivate func holds(for fields: FieldSection) -> Bool {
        for line in fields.lines where fields.nameEquals(line, name.utf8.span) {
            if values.isEmpty { return true }
            let value = fields.storage.span.extracting(line.value.range)
            for pattern in values where pattern.matches(value) { return true }
        }
        return false
    }
}

extension ResponseHead {
    /// Whether the method or the status excludes a body (RFC 9110 §6.4.1).
    fileprivate func hasNoBody(answering request: RequestHead) -> Bool {
        request.method == .head || status == 204 || status == 205 || status == 304
    }

    /// Whether it says that what the request's condition tells of is unchanged (RFC 9110 §15.4.5).
    fileprivate func isNotModified(answering request: RequestHead) -> Bool {
        guard status == 304, request.method.isSafe else { return false }
        return request.fields.first(.ifNoneMatch) != nil
            || request.fields.first(.ifModifiedSince) != nil
    }

    /// Why no value is looked for in the body, as far as the head says: it is not one JSON text, or
    /// it may come for hours.
    fileprivate func reasonNotToWait(forBodyOf length: UInt64?) -> ValidationFailure? {
        if status == 206 { return .unreadable("the body is only a part (206)") }
        if let length, length > UInt64(ValidationPolicy.inspectedBytesMax) { return .tooLong }
        guard let stream = fields.reasonToStream else { return nil }
        return .unreadable(stream.reason)
    }

    /// nil when Content-Type is missing, invalid, or repeated with different values.
    fileprivate var mediaType: MediaRange? {
        let lines = fields.lines.filter { $0.known == .contentType }
        guard let first = lines.first else { return nil }
        let value = fields.storage[first.value.range]
        guard lines.allSatisfy({ fields.storage[$0.value.range] == value }),
            let media = MediaRange(parsing: value.span), !media.isRange
        else { return nil }
        return media
    }

}

extension FieldSection {
    /// The content codings in the order of their application, without `identity` (RFC 9110 §8.4)
    /// and without names that are none, such as `none`, `UTF-8` or `aws-chunked`.
    package var contentCodings: [String] {
        var codings: [String] = []
        forEachMember(of: .contentEncoding) { member in
            let name = String(copying: member)
            if DecodableCoding.isCoding(name) { codings.append(name) }
        }
        return codings
    }

    /// Whether the content may be in a coding that lupin knows nothing of.
    package var hasUnknownCoding: Bool {
        var isUnknown = false
        forEachMember(of: .contentEncoding) { member in
            if DecodableCoding.isUnknown(String(copying: member)) { isUnknown = true }
        }
        return isUnknown
    }
}

// MARK: Statuses

/// Statuses and ranges of them, such as `200-399`.
package struct StatusSet: Sendable, Equatable {
    private let ranges: [ClosedRange<UInt16>]

    package init(_ ranges: [ClosedRange<UInt16>]) { self.ranges = ranges }

    package func contains(_ status: UInt16) -> Bool { ranges.contains { $0.contains(status) } }

    /// The text as in the file.
    package var text: String {
        ranges.map { range in
            range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)-\(range.upperBound)"
        }
        .joined(separator: ", ")
    }
}
