// What one client of a storm does: ask, judge the answer, leave now and then, come again.
import LupinIO
import LupinWire

/// One connection at a time to the proxy, of one kind.
final class StormClient {
    private unowned let storm: StormGenerator
    private let kind: StormClients
    private let link: LoadLink
    private let parser = ResponseParser(limits: HTTP1Limits())

    init(_ kind: StormClients, of storm: StormGenerator) {
        self.kind = kind
        self.storm = storm
        link = LoadLink(on: storm.loop)
    }

    /// Asks until there is nothing more to ask.
    func run() async {
        do throws(StormFailure) {
            var request = storm.nextRequest()
            while let first = request { request = try await visit(first) }
        } catch {
            storm.fail(error)
        }
    }

    /// A connection from its start to its end, and the request that goes on the next one.
    private func visit(_ first: StormRequest) async throws(StormFailure) -> StormRequest? {
        let channel = try await open()
        defer { channel.close() }
        if kind.isHTTP2 {
            return try await StormStreams(kind, of: storm, on: channel, link).run(from: first)
        }
        var request: StormRequest? = first
        while let asked = request {
            let staysOpen = try await exchange(asked, on: channel)
            request = storm.nextRequest()
            if !staysOpen { return request }
        }
        return nil
    }

    private func open() async throws(StormFailure) -> Channel {
        do throws(LoadError) {
            let channel = try await link.connect(to: storm.plan.proxyPort)
            guard let tls = storm.tls(for: kind) else { return channel }
            do throws(LoadError) {
                try await link.openTunnel(to: storm.plan.authority(for: kind), on: channel)
                try await link.shakeHands(tls, on: channel, demandsHTTP2: kind.isHTTP2)
            } catch {
                channel.close()
                throw error
            }
            return channel
        } catch {
            throw StormFailure("\(kind.rawValue): no connection: \(error)")
        }
    }

    // MARK: HTTP/1.1

    /// One request and what becomes of it; true when another one may follow.
    private func exchange(
        _ request: StormRequest,
        on channel: Channel
    ) async throws(StormFailure) -> Bool {
        var answer = StormAnswer(to: request, kind)
        let authority = storm.plan.authority(for: kind)
        let prefix = kind.isIntercepted ? "" : "http://\(authority)"
        let text = request.text(to: authority, prefix: prefix, storm.body(of: request))
        do throws(LoadError) {
            try await link.send(text, on: channel)
        } catch {
            throw answer.failure("an answer", "\(error) while sending")
        }
        let body = BodyDecoder(.none, side: .response, limits: HTTP1Limits())
        var staysOpen = true
        while true {
            if channel.input.isEmpty, let outcome = try await receive(&answer, body, channel) {
                storm.note(outcome, answer, kind)
                return false
            }
            if !answer.hasHead {
                staysOpen = try takeHead(&answer, body, channel.input)
            }
            if answer.hasHead, try takeBody(&answer, body, channel.input) { break }
            if answer.isLeft {
                storm.note(.left, answer, kind)
                return false
            }
        }
        storm.note(try answer.end(), answer, kind)
        guard channel.input.isEmpty else { throw answer.failure("one answer", "bytes behind it") }
        return staysOpen
    }

    /// Waits for bytes; the outcome when none will come.
    private func receive(
        _ answer: inout StormAnswer,
        _ body: BodyDecoder,
        _ channel: Channel
    ) async throws(StormFailure) -> StormOutcome? {
        do throws(LoadError) {
            try await link.receive(on: channel)
            return nil
        } catch {
            if case .timedOut = error { throw answer.failure("an answer", "\(error)") }
            return try answer.breakOff("\(error)")
        }
    }

    /// Whether the connection stays open, as far as the head says.
    private func takeHead(
        _ answer: inout StormAnswer,
        _ body: BodyDecoder,
        _ input: InputBuffer
    ) throws(StormFailure) -> Bool {
        while !answer.hasHead, !input.isEmpty {
            do throws(MessageProblem) {
                input.discard(
                    try parser.feed(input.bytes, requestMethod: answer.request.method)
                )
            } catch {
                throw answer.failure("a head", "\(error)")
            }
            guard parser.isComplete else { return true }
            let head = parser.take()
            let (framing, staysOpen) = (head.framing, head.keepAlive)
            try answer.take(head)
            body.begin(framing)
            if answer.hasHead { return staysOpen }
        }
        return true
    }

    /// Whether the answer is complete with what has come.
    private func takeBody(
        _ answer: inout StormAnswer,
        _ body: BodyDecoder,
        _ input: InputBuffer
    ) throws(StormFailure) -> Bool {
        while !body.isComplete, !input.isEmpty, !answer.isLeft {
            let produced: Int
            do throws(MessageProblem) {
                var bytes = input.mutableBytes
                let (consumed, payload) = try body.decode(&bytes)
                input.discard(consumed - payload, at: payload)
                produced = payload
            } catch {
                throw answer.failure("a body", "\(error)")
            }
            try answer.take(input.bytes.extracting(0..<produced))
            input.discard(produced)
        }
        return body.isComplete
    }
}
