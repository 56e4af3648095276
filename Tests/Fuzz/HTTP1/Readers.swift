// Reads a sample with each parser, and checks that what was accepted survives being sent on.
import LupinCore
import LupinWire

func readRequest(_ pieces: [ArraySlice<UInt8>], _ limits: HTTP1Limits) -> Outcome {
    let parser = RequestParser(limits: limits)
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            let isComplete = parser.isComplete
            let taken = try parser.feed(piece.span)
            guard taken <= piece.count, !isComplete || taken == 0,
                parser.isComplete || taken == piece.count
            else { return .broken("took \(taken) of \(piece.count)") }
            rest += piece.count - taken
        }
    } catch { return .refused(error) }
    guard parser.isComplete else { return .incomplete }
    let parsed = parser.take()
    if let broken = checkRoundTrip(parsed) { return .broken(broken) }
    return .accepted(digest(parsed), rest: rest)
}

func readResponse(
    _ pieces: [ArraySlice<UInt8>],
    _ limits: HTTP1Limits,
    _ method: Method
) -> Outcome {
    let parser = ResponseParser(limits: limits)
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            let isComplete = parser.isComplete
            let taken = try parser.feed(piece.span, requestMethod: method)
            guard taken <= piece.count, !isComplete || taken == 0,
                parser.isComplete || taken == piece.count
            else { return .broken("took \(taken) of \(piece.count)") }
            rest += piece.count - taken
        }
    } catch { return .refused(error) }
    guard parser.isComplete else { return .incomplete }
    let parsed = parser.take()
    if let broken = checkRoundTrip(parsed, method) { return .broken(broken) }
    return .accepted(digest(parsed), rest: rest)
}

func readBody(
    _ pieces: [ArraySlice<UInt8>],
    _ limits: HTTP1Limits,
    _ side: MessageSide
) -> Outcome {
    let decoder = BodyDecoder(.chunked, side: side, limits: limits)
    var payload: [UInt8] = []
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            var copy = Array(piece)
            var span = copy.mutableSpan
            let (consumed, produced) = try decoder.decode(&span)
            if consumed < piece.count, !decoder.isComplete, side == .response, produced > 0 {
                // What came before an error is handed out first.
                var left = Array(copy[consumed...])
                var span = left.mutableSpan
                _ = try decoder.decode(&span)
                return .broken("an error came once")
            }
            guard produced <= consumed, consumed <= piece.count,
                decoder.isComplete || consumed == piece.count,
                copy[consumed...].elementsEqual(piece.dropFirst(consumed))
            else { return .broken("consumed \(consumed), produced \(produced)") }
            payload += copy[..<produced]
            rest += piece.count - consumed
        }
    } catch { return .refused(error) }
    guard decoder.isComplete else { return .incomplete }
    if let broken = checkRoundTrip(payload, decoder.trailers, side) { return .broken(broken) }
    var result = payload
    append(decoder.trailers, to: &result)
    return .accepted(result, rest: rest)
}

// MARK: Round trips

private func checkRoundTrip(_ parsed: ParsedRequest) -> String? {
    let head = parsed.head
    let authority =
        head.authority.isEmpty
        ? head.fields.value(of: FieldName.host).flatMap { $0.isEmpty ? nil : $0 } ?? "a"
        : head.fields.text(head.authority)
    let target: RequestOptions.Target =
        switch head.form {
        case .authority: .authority
        case .absolute: .absolute(head.scheme ?? .http)
        case .origin, .asterisk: .origin
        }
    let options = RequestOptions(target: target, authority: authority, framing: parsed.framing)
    var first: [UInt8] = []
    RequestSerializer.append(head, options, to: &first)
    let parser = RequestParser(limits: HTTP1Limits())
    do throws(MessageProblem) {
        guard try parser.feed(first.span) == first.count, parser.isComplete else {
            return "what was sent is not one whole request"
        }
    } catch { return "what was sent is refused: \(error.reason)" }
    let again = parser.take()
    guard again.head.method == head.method, again.head.pathText == head.pathText,
        again.framing == parsed.framing, again.acceptsTrailers == parsed.acceptsTrailers,
        again.expectsContinue == parsed.expectsContinue
    else { return "what was sent means something else" }
    guard kept(again.head.fields) == kept(head.fields, withExpect: head.version != .http10) else {
        return "other fields were sent"
    }
    var second: [UInt8] = []
    RequestSerializer.append(again.head, options, to: &second)
    return first == second ? nil : "sending twice differs"
}

private func checkRoundTrip(_ parsed: ParsedResponse, _ method: Method) -> String? {
    let framing =
        parsed.framing == .none
        ? parsed.contentLength.map(BodyFraming.length) ?? .none : parsed.framing
    var first: [UInt8] = []
    ResponseSerializer.append(parsed.head, ResponseOptions(framing: framing), to: &first)
    let parser = ResponseParser(limits: HTTP1Limits())
    do throws(MessageProblem) {
        guard try parser.feed(first.span, requestMethod: method) == first.count,
            parser.isComplete
        else { return "what was sent is not one whole response" }
    } catch { return "what was sent is refused: \(error.reason)" }
    let again = parser.take()
    guard again.head.status == parsed.head.status, again.framing == parsed.framing,
        again.contentLength == parsed.contentLength
    else { return "what was sent means something else" }
    guard kept(again.head.fields) == kept(parsed.head.fields) else {
        return "other fields were sent"
    }
    var second: [UInt8] = []
    ResponseSerializer.append(again.head, ResponseOptions(framing: framing), to: &second)
    return first == second ? nil : "sending twice differs"
}

private func checkRoundTrip(
    _ payload: [UInt8],
    _ trailers: FieldSection,
    _ side: MessageSide
) -> String? {
    var encoded: [UInt8] = []
    ChunkedEncoder.appendChunkHeader(size: payload.count, to: &encoded)
    if !payload.isEmpty {
        encoded += payload
        ChunkedEncoder.appendChunkEnd(to: &encoded)
    }
    ChunkedEncoder.appendLastChunk(trailers: trailers, to: &encoded)
    let count = encoded.count
    let decoder = ChunkedDecoder(side: side, limits: HTTP1Limits())
    var span = encoded.mutableSpan
    do throws(MessageProblem) {
        let (consumed, produced) = try decoder.decode(&span)
        guard consumed == count, decoder.isComplete, encoded[..<produced].elementsEqual(payload)
        else { return "the encoded body is another" }
    } catch { return "the encoded body is refused: \(error.reason)" }
    return nil
}

/// Names and values of the lines that a serialiser keeps.
private func kept(_ fields: FieldSection, withExpect: Bool = true) -> [[UInt8]] {
    fields.lines.filter {
        $0.known != .host && $0.known != .contentLength && $0.known != .transferEncoding
            && (withExpect || $0.known != .expect)
    }.map { fields.storage[$0.name.range] + [0x3A] + fields.storage[$0.value.range] }
}

// MARK: Digests

private func digest(_ parsed: ParsedRequest) -> [UInt8] {
    let head = parsed.head
    var text = "\(head.method) \(head.form) \(String(describing: head.scheme))"
    text += " \(head.fields.text(head.authority)) \(head.pathText) \(head.version)"
    text += " \(parsed.framing) \(parsed.keepAlive) \(parsed.expectsContinue)"
    text += " \(parsed.acceptsTrailers)"
    var result = Array(text.utf8)
    append(head.fields, to: &result)
    return result
}

private func digest(_ parsed: ParsedResponse) -> [UInt8] {
    let head = parsed.head
    var text = "\(head.status) \(head.fields.text(head.reason)) \(head.version)"
    text += " \(parsed.framing) \(parsed.keepAlive) \(String(describing: parsed.contentLength))"
    text += " \(parsed.hasForeignCoding)"
    var result = Array(text.utf8)
    append(head.fields, to: &result)
    return result
}

private func append(_ fields: FieldSection, to result: inout [UInt8]) {
    for line in fields.lines {
        result.append(line.known.rawValue)
        result.append(line.isContiguous ? 1 : 0)
        result += fields.storage[line.name.range] + [0]
        result += fields.storage[line.value.range] + [0]
    }
}
