// What an HTTP/2 connection makes of bytes, as text, however they are cut; and bytes to feed it.
import LupinCore
import LupinWire
import Testing

extension HTTP2Parameters {
    /// The defaults.
    static var standard: HTTP2Parameters {
        HTTP2Parameters(limits: HTTP2Limits(), heads: HTTP1Limits())
    }
}

/// What came of `pieces`; DATA that lies together is one event, however it came.
func events(
    of pieces: [ArraySlice<UInt8>],
    at connection: HTTP2Connection,
    now: UInt64 = 0
) -> [String] {
    var events: [String] = []
    for piece in pieces {
        let bytes = Array(piece)
        do throws(HTTP2Failure) {
            try connection.receive(bytes.span, now: now)
        } catch {
            return events + ["failure: \(error.text)"]
        }
        while let event = connection.nextEvent() {
            guard case .data(let stream, let range) = event else {
                events.append(describe(event))
                continue
            }
            let prefix = "data \(stream): "
            let text = String(decoding: bytes[range], as: UTF8.self)
            if events.last?.hasPrefix(prefix) == true {
                events[events.count - 1] += text
            } else {
                events.append(prefix + text)
            }
        }
    }
    return events
}

/// What came of `wire` at connections made by `make`, for every cut; an issue where they differ.
func eventsOfEveryCut(
    of wire: [UInt8],
    sourceLocation: SourceLocation = #_sourceLocation,
    at make: () -> HTTP2Connection
) -> [String] {
    let cuts = everyCut(of: wire)
    let whole = events(of: cuts[0], at: make())
    for cut in cuts.dropFirst() {
        let other = events(of: cut, at: make())
        guard other != whole else { continue }
        Issue.record(
            "cut into \(cut.map(\.count)): \(other), but whole: \(whole)",
            sourceLocation: sourceLocation
        )
        break
    }
    return whole
}

private func describe(_ event: HTTP2Event) -> String {
    switch event {
    case .request(let stream, let request, let facts):
        "request \(stream)\(facts.isEnd ? " ends" : "") "
            + (facts.protocolName.map { "(\($0)) " } ?? "") + describe(request)
    case .response(let stream, let response, let facts):
        "response \(stream)\(facts.isEnd ? " ends" : "") " + describe(response)
    case .refused(let stream, let problem, _): "refused \(stream) \(problem.reason)"
    case .data(let stream, let range): "data \(stream) \(range.count)"
    case .end(let stream, let trailers): "end \(stream)" + describe(trailers)
    case .closed(let stream, let code, let isByPeer):
        "closed \(stream) \(code.name)\(isByPeer ? " by the peer" : "")"
    case .window(let stream): "window \(stream)"
    case .settings: "settings"
    case .goAway(let code): "goaway \(code.name)"
    case .pong: "pong"
    case .malformed(let stream): "malformed \(stream)"
    }
}

// MARK: Messages to send

extension RequestHead {
    /// A head in absolute-form.
    init(_ method: LupinCore.Method, _ path: String, _ fields: [(String, String)] = []) {
        self.init()
        self.method = method
        form = .absolute
        version = .http2
        pathAndQuery = self.fields.store(path)
        for (name, value) in fields { self.fields.add(name: name, value: value) }
    }
}

extension FieldSection {
    init(_ fields: [(String, String)]) {
        self.init()
        for (name, value) in fields { add(name: name, value: value) }
    }
}

extension HTTP2Connection {
    /// Everything that waits to be sent.
    func drained() -> [UInt8] {
        var bytes: [UInt8] = []
        drain(into: &bytes)
        return bytes
    }

    /// Opens a stream with a request to `a.test`.
    func ask(
        _ head: RequestHead,
        framing: BodyFraming = .none,
        acceptsTrailers: Bool = false,
        protocolName: String? = nil
    ) -> Int32 {
        var options = RequestOptions(target: .origin, authority: "a.test", framing: framing)
        options.acceptsTrailers = acceptsTrailers
        return submit(head, options, protocolName: protocolName) ?? 0
    }

    /// Answers a stream.
    func answer(
        _ stream: Int32,
        _ status: UInt16 = 200,
        _ fields: [(String, String)] = [],
        framing: BodyFraming = .chunked
    ) {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        submit(head, ResponseOptions(framing: framing), hasBody: !framing.isEmpty, on: stream)
    }

    /// The bytes of a body's end, or of a piece of it.
    func sent(
        _ text: String,
        isLast: Bool = true,
        trailers: [(String, String)] = [],
        on stream: Int32
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        let section = FieldSection(trailers)
        let result = push(
            Array(text.utf8).span,
            isLast: isLast,
            trailers: section,
            on: stream,
            into: &bytes
        )
        #expect(result.taken == text.utf8.count)
        #expect(result.isOver == isLast)
        return bytes
    }

    /// Feeds bytes and forgets what came of them.
    func take(_ bytes: [UInt8]) { _ = events(of: [bytes[...]], at: self) }
}
