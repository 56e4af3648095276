// What an origin of a storm does by HTTP/1.1, step by step.
import LupinWire

/// Writes the steps that an act is made of.
struct StormScript {
    enum Step {
        case send([UInt8])
        case pause(milliseconds: Int)
        /// Nothing follows on this connection.
        case close
        case reset
    }

    private let origin: StormOrigin
    private let fields: VariedText
    private var bodies = NamedBodies()

    private static let chunkBytes = 1000

    init(_ origin: StormOrigin) {
        self.origin = origin
        let lines = OriginAnswers.fields(isNamed: true, isStorable: false)
            .map { "\($0.name): \($0.value)\r\n" }
        fields = VariedText(Array(lines.joined().utf8))
    }

    /// What happens to a request; `now` is in microseconds of any clock.
    mutating func steps(for visit: StormVisit, now: UInt64) -> [Step] {
        let act = origin.act(on: visit, now: now)
        switch act {
        case .answer, .chunk: return [.send(answer(to: visit, act))]
        case .refuse:
            return [Self.bare("401 Unauthorized", "WWW-Authenticate: Bearer realm=\"storm\"\r\n")]
        case .fail: return [Self.bare("503 Service Unavailable", "")]
        case .vanish(let isReset): return [isReset ? .reset : .close]
        case .cutHead:
            let answer = answer(to: visit, act)
            let cut = origin.number(in: 1..<answer.count - visit.bytes)
            return [.send(Array(answer[..<cut])), .close]
        case .cutBody(let place):
            return [.send(answer(to: visit, act).dropLast(visit.bytes - place)), .close]
        case .delay(let time):
            return [.pause(milliseconds: time), .send(answer(to: visit, act))]
        case .pause(let place, let time):
            let answer = answer(to: visit, act)
            let cut = answer.count - visit.bytes + place
            return [
                .send(Array(answer[..<cut])), .pause(milliseconds: time),
                .send(Array(answer[cut...])),
            ]
        case .hint:
            let line = "\(StormField.requestID): \(visit.id)"
            let interim = "HTTP/1.1 103 Early Hints\r\n\(line)\r\n\r\n"
            return [.send(Array(interim.utf8) + answer(to: visit, act))]
        case .leave: return [.send(answer(to: visit, act)), .close]
        }
    }

    /// An answer without a body.
    private static func bare(_ status: String, _ lines: String) -> Step {
        .send(Array("HTTP/1.1 \(status)\r\n\(lines)Content-Length: 0\r\n\r\n".utf8))
    }

    /// A good answer.
    private mutating func answer(to visit: StormVisit, _ act: StormAct) -> [UInt8] {
        var text = Array("HTTP/1.1 200 OK\r\n".utf8)
        let ids = ExchangeIDs(request: visit.id, url: visit.id)
        fields.append(to: &text, for: ids)
        var lines = visit.echo.map { "\($0.name): \($0.value)\r\n" }.joined()
        if case .leave(isSaid: true) = act { lines += "Connection: close\r\n" }
        let isChunked = if case .chunk = act { true } else { false }
        lines += isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(visit.bytes)"
        text.append(contentsOf: "\(lines)\r\n\r\n".utf8)
        guard let body = bodies.template(of: visit.bytes) else { return text }
        guard isChunked else {
            body.append(to: &text, for: ids)
            return text
        }
        var whole: [UInt8] = []
        body.append(to: &whole, for: ids)
        for start in stride(from: 0, to: whole.count, by: Self.chunkBytes) {
            let piece = whole[start..<min(start + Self.chunkBytes, whole.count)]
            ChunkedEncoder.appendChunkHeader(size: piece.count, to: &text)
            text.append(contentsOf: piece)
            ChunkedEncoder.appendChunkEnd(to: &text)
        }
        ChunkedEncoder.appendLastChunk(to: &text)
        return text
    }
}
