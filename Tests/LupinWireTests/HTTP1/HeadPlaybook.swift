// Feeds a sample to a parser whole, byte by byte and cut at every place, and tells what came of it.
import LupinCore
import LupinWire
import Testing

/// What a parser made of a sample.
enum Verdict: Equatable, CustomStringConvertible {
    case accepted(String)
    case refused(MessageProblem.Reason)
    case incomplete

    var description: String {
        switch self {
        case .accepted(let text): "accepted: \(text)"
        case .refused(let reason): "refused: \(reason)"
        case .incomplete: "incomplete"
        }
    }
}

/// The ways a sample is cut: whole, in single bytes, and in two pieces at every place.
func everyCut(of sample: [UInt8]) -> [[ArraySlice<UInt8>]] {
    var cuts = [[sample[...]], sample.indices.map { sample[$0...$0] }]
    for index in sample.indices.dropFirst() { cuts.append([sample[..<index], sample[index...]]) }
    return cuts
}

/// The verdict that `read` reaches over every cut of `sample`; an issue where they differ.
func verdict(
    of sample: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ read: ([ArraySlice<UInt8>]) -> Verdict
) -> Verdict {
    let cuts = everyCut(of: Array(sample.utf8Bytes))
    let whole = read(cuts[0])
    for cut in cuts.dropFirst() {
        let other = read(cut)
        if other != whole {
            Issue.record(
                "cut into \(cut.map(\.count)): \(other), but whole: \(whole)",
                sourceLocation: sourceLocation
            )
            break
        }
    }
    return whole
}

/// Reads one request head and tells what it says, with the number of bytes behind it.
func readRequest(
    _ pieces: [ArraySlice<UInt8>],
    limits: HTTP1Limits = HTTP1Limits()
) -> Verdict {
    let parser = RequestParser(limits: limits)
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            let taken = try parser.feed(Array(piece).span)
            rest += piece.count - taken
        }
    } catch {
        return .refused(error.reason)
    }
    guard parser.isComplete else { return .incomplete }
    return .accepted(describe(parser.take()) + (rest > 0 ? " +\(rest)" : ""))
}

/// Reads one response head and tells what it says, with the number of bytes behind it.
func readResponse(
    _ pieces: [ArraySlice<UInt8>],
    to method: Method = .get,
    limits: HTTP1Limits = HTTP1Limits()
) -> Verdict {
    let parser = ResponseParser(limits: limits)
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            let taken = try parser.feed(Array(piece).span, requestMethod: method)
            rest += piece.count - taken
        }
    } catch {
        return .refused(error.reason)
    }
    guard parser.isComplete else { return .incomplete }
    return .accepted(describe(parser.take()) + (rest > 0 ? " +\(rest)" : ""))
}

/// The request as `METHOD form authority path 1.minor framing flags | name: value | …`.
func describe(_ parsed: ParsedRequest) -> String {
    let head = parsed.head
    var text = "\(head.fields.text(head.methodRange)) \(head.form)"
    if let scheme = head.scheme { text += " \(scheme)" }
    if !head.authority.isEmpty { text += " \(head.fields.text(head.authority))" }
    text += " \(head.pathText) 1.\(head.version == .http10 ? 0 : 1) \(parsed.framing)"
    if !parsed.keepAlive { text += " close" }
    if parsed.asksToStay { text += " asks" }
    if parsed.expectsContinue { text += " expects" }
    if parsed.acceptsTrailers { text += " trailers" }
    return text + describe(head.fields)
}

/// The response as `status <reason> 1.minor framing flags | name: value | …`.
func describe(_ parsed: ParsedResponse) -> String {
    let head = parsed.head
    var text =
        "\(head.status) <\(head.fields.text(head.reason))> 1.\(head.version == .http10 ? 0 : 1)"
    text += " \(parsed.framing)"
    if !parsed.keepAlive { text += " close" }
    if parsed.framing == .none, let length = parsed.contentLength { text += " tells \(length)" }
    if parsed.hasForeignCoding { text += " coded" }
    return text + describe(head.fields)
}

/// The lines; `!` before one that can't be sent as it lies.
func describe(_ fields: FieldSection) -> String {
    fields.lines.map { line in
        let mark = line.isContiguous ? "" : "!"
        return " | \(mark)\(fields.text(line.name)): \(fields.text(line.value))"
    }.joined()
}

extension String {
    /// The bytes of a sample; `\u{80}` to `\u{FF}` are single bytes, as on the wire.
    var utf8Bytes: [UInt8] {
        unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}
