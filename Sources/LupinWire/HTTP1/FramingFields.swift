// Interprets Content-Length and Transfer-Encoding together, and detects request smuggling.
import LupinCore

/// The framing fields of one head, collected in one pass over its lines (RFC 9112 §6).
struct FramingFields {
    private(set) var lengthLines = 0
    private(set) var codingLines = 0
    private(set) var closes = false
    private(set) var keepsAlive = false
    /// The same by Proxy-Connection, as old clients say it to a proxy.
    private(set) var keepsProxyAlive = false
    /// The index of the last Content-Length line.
    private var lengthLine = 0

    /// The greatest length that is accepted: 2^63 - 1.
    static let lengthMax = UInt64(Int64.max)

    private static let names = FieldNameSet().with(.contentLength).with(.transferEncoding)
        .with(.connection).with(.proxyConnection)

    init(_ fields: borrowing FieldSection) {
        // Most requests have none of these fields.
        guard fields.names.meets(FramingFields.names) else { return }
        let storage = fields.storage.span
        let lines = fields.lines.span
        for i in lines.indices {
            switch lines[i].known {
            case .contentLength:
                lengthLines &+= 1
                lengthLine = i
            case .transferEncoding: codingLines &+= 1
            case .connection:
                let options = ConnectionOptions(storage.extracting(lines[i].value.range))
                if options.close { closes = true }
                if options.keepAlive { keepsAlive = true }
            case .proxyConnection:
                let options = ConnectionOptions(storage.extracting(lines[i].value.range))
                if options.close { closes = true }
                if options.keepAlive { keepsProxyAlive = true }
            default: break
            }
        }
    }

    /// Parses a value of 1*DIGIT; returns nil for anything else.
    static func length(_ value: Span<UInt8>) -> UInt64? {
        NumberReader.unsigned(value, max: lengthMax)
    }
}

// MARK: Requests

extension FramingFields {
    /// The framing of a request (RFC 9112 §6.3); any ambiguity is an error.
    func requestFraming(
        _ fields: borrowing FieldSection,
        minor: UInt8
    ) throws(MessageProblem) -> BodyFraming {
        if codingLines > 0 {
            guard minor > 0 else { throw MessageProblem(.request, .codingInHTTP10) }
            guard lengthLines == 0 else { throw MessageProblem(.request, .lengthAndCoding) }
            guard codingLines == 1 else { throw MessageProblem(.request, .severalCodings) }
            switch TransferCodings(fields).verdict(allowingIdentity: false) {
            case .none, .malformed: throw MessageProblem(.request, .invalidCoding)
            case .chunked: return .chunked
            case .chunkedTwice: throw MessageProblem(.request, .severalCodings)
            // RFC 9112 §6.1: an unknown transfer coding is a 501. Lupin knows chunked alone, since
            // it never decodes content.
            case .otherThenChunked: throw MessageProblem(.request, .unknownCoding)
            case .notEndingInChunked(let isKnown):
                throw MessageProblem(.request, isKnown ? .chunkedNotLast : .unknownCoding)
            }
        }
        guard lengthLines > 0 else { return .none }
        guard lengthLines == 1 else { throw MessageProblem(.request, .severalLengths) }
        let value = fields.storage.span.extracting(fields.lines[lengthLine].value.range)
        guard let length = FramingFields.length(value) else {
            let isList = value.firstIndex(of: 0x2C) != nil
            throw MessageProblem(.request, isList ? .severalLengths : .invalidLength)
        }
        return .length(length)
    }
}

// MARK: Responses

extension FramingFields {
    /// The framing of a response that has a body (RFC 9112 §6.3).
    ///
    /// What is wrong with it is added to `flaws`, or an error unless `isLenient`.
    func responseFraming(
        _ fields: borrowing FieldSection,
        minor: UInt8,
        _ flaws: inout ResponseFlaws,
        isLenient: Bool
    ) throws(MessageProblem) -> BodyFraming {
        if codingLines > 0 {
            let codings = TransferCodings(fields, allowingEmpty: true)
            if let framing = try codedFraming(codings, minor: minor, &flaws, isLenient: isLenient) {
                return framing
            }
        }
        guard lengthLines > 0 else { return .untilClose }
        guard let length = responseLength(fields) else {
            throw MessageProblem(.response, lengthLines > 1 ? .severalLengths : .invalidLength)
        }
        return .length(length)
    }

    /// The framing by transfer codings; nil when there is none, or only `identity`.
    private func codedFraming(
        _ codings: TransferCodings,
        minor: UInt8,
        _ flaws: inout ResponseFlaws,
        isLenient: Bool
    ) throws(MessageProblem) -> BodyFraming? {
        if minor == 0 {
            guard isLenient else { throw MessageProblem(.response, .codingInHTTP10) }
            flaws.insert(.chunkedInHTTP10)
        }
        switch codings.verdict(allowingIdentity: isLenient) {
        case .none:
            flaws.insert(.identity)
            return nil
        case .chunked:
            if codings.hasIdentity { flaws.insert(.identity) }
            guard lengthLines > 0 else { return .chunked }
            guard isLenient else { throw MessageProblem(.response, .lengthAndCoding) }
            flaws.insert(.length)
            return .chunked
        case .malformed:
            guard isLenient, codings.isEmpty else {
                throw MessageProblem(.response, .invalidCoding)
            }
            flaws.insert(.coding)
            return nil
        case .chunkedTwice: throw MessageProblem(.response, .severalCodings)
        case .otherThenChunked: throw MessageProblem(.response, .unknownCoding)
        case .notEndingInChunked:
            if lengthLines > 0 { throw MessageProblem(.response, .lengthAndCoding) }
            return .untilClose
        }
    }

    /// The length if all lines and list members agree on it (RFC 9110 §8.6), else nil.
    func responseLength(_ fields: borrowing FieldSection) -> UInt64? {
        let lines = fields.lines.span
        if lengthLines == 1 {
            let value = fields.storage.span.extracting(lines[lengthLine].value.range)
            // Nearly always one number; otherwise it may be a list.
            if let length = FramingFields.length(value) { return length }
        }
        var agreed: UInt64?
        var isAgreed = true
        for i in lines.indices where lines[i].known == .contentLength {
            fields.storage.span.extracting(lines[i].value.range).forEachMember { member in
                let length = FramingFields.length(member)
                if length == nil || length != agreed ?? length { isAgreed = false }
                agreed = length
            }
        }
        return isAgreed ? agreed : nil
    }
}

// MARK: Transfer codings

/// The transfer codings of a head, in the order of its lines (RFC 9112 §6.1, §7).
struct TransferCodings {
    /// The kinds of lists.
    enum Verdict: Hashable {
        case chunked, chunkedTwice, malformed
        /// Only `identity`, which is no coding.
        case none
        /// chunked is last, after another coding.
        case otherThenChunked
        /// `isKnown`: every other coding is one that RFC 9112 §7.2 registers.
        case notEndingInChunked(isKnown: Bool)
    }

    private var chunkedCount = 0
    private var endsInChunked = false
    private var hasOther = false
    /// Whether `identity` is among them, which only RFC 2616 knew.
    private(set) var hasIdentity = false
    private var hasUnknown = false
    private var isMalformed = false
    /// Whether there is none in all the lines.
    private(set) var isEmpty = true

    /// A sender must not make empty members, and a recipient ignores a few (RFC 9110 §5.6.1.2): in
    /// a request they are refused nonetheless, since another recipient may read them otherwise.
    init(_ fields: borrowing FieldSection, allowingEmpty: Bool = false) {
        for line in fields.lines where line.known == .transferEncoding {
            fields.storage.span.extracting(line.value.range).forEachMember { coding in
                if !(allowingEmpty && coding.isEmpty) { add(coding) }
            }
        }
    }

    func verdict(allowingIdentity: Bool) -> Verdict {
        if isMalformed || isEmpty { return .malformed }
        if chunkedCount > 1 { return .chunkedTwice }
        if hasIdentity {
            guard allowingIdentity else { return .notEndingInChunked(isKnown: false) }
            if !hasOther { return chunkedCount == 0 ? .none : .chunked }
        }
        guard endsInChunked else { return .notEndingInChunked(isKnown: !hasUnknown) }
        return hasOther ? .otherThenChunked : .chunked
    }

    /// Rejects an empty member, and a parameter: chunked has none (RFC 9112 §7.1), and a coding
    /// that can't be parsed can't be framed.
    private mutating func add(_ coding: Span<UInt8>) {
        isEmpty = false
        if coding.count == 0 { isMalformed = true }
        for i in coding.indices where !coding[i].isTokenByte { isMalformed = true }
        endsInChunked = coding.spells("chunked")
        if endsInChunked {
            chunkedCount += 1
        } else if coding.spells("identity") {
            hasIdentity = true
        } else {
            hasOther = true
            let isKnown =
                coding.spells("gzip") || coding.spells("deflate") || coding.spells("compress")
                || coding.spells("x-gzip") || coding.spells("x-compress")
            if !isKnown { hasUnknown = true }
        }
    }
}

/// The options of a Connection field that concern persistence (RFC 9112 §9.3, §9.6).
private struct ConnectionOptions {
    private(set) var close = false
    private(set) var keepAlive = false

    init(_ value: Span<UInt8>) {
        // Nearly always one of two words.
        if value.spells("keep-alive") {
            keepAlive = true
            return
        }
        value.forEachMember { option in
            if option.spells("close") { close = true }
            if option.spells("keep-alive") { keepAlive = true }
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether a list of tokens contains the member `word`, ignoring case.
    func listContains(_ word: StaticString) -> Bool {
        var found = false
        forEachMember { found = found || $0.spells(word) }
        return found
    }
}
