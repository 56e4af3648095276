// What a connection makes of a sample, in text that can be compared.
import LupinCore
import LupinWire

struct Reading {
    var events: [String] = []
    var isOver = false
    /// nghttp2 counted the pieces of a CONTINUATION's frame header as frames of their own and gave
    /// up: that depends on the cut, and no valid message of few pieces comes near it.
    var isMiscounted = false

    /// What must not depend on the cut.
    ///
    /// That is all but the payload of messages that came to no good end, of which a piece may be
    /// there before it is known that the whole is too long; and what comes behind GOAWAY, which
    /// nghttp2 reads to the end of the piece and no further. DATA of a stream that lies together,
    /// when all that is gone, is one event, however it came.
    var settled: [String] {
        let events = (events + (isOver ? ["over"] : [])).prefix { !$0.hasPrefix("goaway") }
        let ended = Set(events.filter { $0.hasPrefix("end ") }.map { $0.split(separator: " ")[1] })
        return events.reduce(into: []) { settled, event in
            let words = event.split(separator: " ", maxSplits: 2)
            guard words[0] == "data" else {
                settled.append(event)
                return
            }
            guard ended.contains(words[1]) else { return }
            if settled.last?.hasPrefix("data \(words[1]) ") == true {
                settled[settled.count - 1] += " \(words[2])"
            } else {
                settled.append(event)
            }
        }
    }
}

/// Feeds the pieces to a new connection.
///
/// Nothing is sent while reading: what one cut would answer in between, another would not.
func read(_ pieces: [ArraySlice<UInt8>], _ role: HTTP2Connection.Role) -> Reading {
    let connection = Corpus.connection(role)
    if role == .client { _ = Corpus.ask(connection) }
    var reading = Reading()
    for piece in pieces {
        let bytes = Array(piece)
        do throws(HTTP2Failure) {
            try connection.receive(bytes.span, now: 0)
        } catch {
            reading.events.append("failure \(error.text)")
            reading.isOver = true
            reading.isMiscounted = error.text.hasPrefix("Too many CONTINUATION")
            return reading
        }
        while let event = connection.nextEvent() { reading.add(event, bytes) }
    }
    var output: [UInt8] = []
    connection.drain(into: &output)
    while let event = connection.nextEvent() { reading.add(event, []) }
    reading.isOver = connection.isOver
    return reading
}

extension Reading {
    fileprivate mutating func add(_ event: HTTP2Event, _ bytes: [UInt8]) {
        guard case .data(let stream, let range) = event else {
            events.append(describe(event))
            return
        }
        events.append("data \(stream)" + bytes[range].map { " \($0)" }.joined())
    }

    private func describe(_ event: HTTP2Event) -> String {
        switch event {
        case .request(let stream, let request, let facts):
            let head = request.takeHead()
            let name = facts.protocolName ?? ""
            return "request \(stream) \(facts.bytes) \(facts.isEnd) \(name) \(head.pathText)"
                + " \(request.framing) \(text(head.fields))"
        case .response(let stream, let response, let facts):
            let head = response.takeHead()
            return "response \(stream) \(facts.bytes) \(facts.isEnd) \(head.status)"
                + " \(response.framing) \(text(head.fields))"
        case .refused(let stream, let problem, _): return "refused \(stream) \(problem.reason)"
        case .data(let stream, let range): return "data \(stream) \(range.count)"
        case .end(let stream, let trailers): return "end \(stream) \(text(trailers))"
        case .closed(let stream, let code, let isByPeer):
            return "closed \(stream) \(code.name) \(isByPeer)"
        case .window(let stream): return "window \(stream)"
        case .settings: return "settings"
        case .goAway(let code): return "goaway \(code.name)"
        case .pong: return "pong"
        case .malformed(let stream): return "malformed \(stream)"
        }
    }

    private func text(_ fields: FieldSection) -> String {
        fields.lines.map { "\(fields.text($0.name)): \(fields.text($0.value))" }.joined(
            separator: "|"
        )
    }
}
