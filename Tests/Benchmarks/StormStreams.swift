// What one client of a storm does with HTTP/2: some requests at a time, each judged by itself.
import LupinCore
import LupinIO
import LupinWire

/// The streams of one connection: where one ends, the next begins.
final class StormStreams {
    private unowned let storm: StormGenerator
    private let kind: StormClients
    private let channel: Channel
    private let link: LoadLink
    private let connection: HTTP2Connection
    private let options: RequestOptions
    private var underWay: [Int32: StormAnswer] = [:]
    /// A request that could not be sent yet.
    private var waiting: StormRequest?
    /// The proxy takes no more streams on this connection.
    private var isLeaving = false

    init(
        _ kind: StormClients,
        of storm: StormGenerator,
        on channel: Channel,
        _ link: LoadLink
    ) {
        self.kind = kind
        self.storm = storm
        self.channel = channel
        self.link = link
        connection = HTTP2Connection(
            .client,
            HTTP2Parameters(limits: HTTP2Limits(), heads: HTTP1Limits())
        )
        options = RequestOptions(
            target: .absolute(kind.isIntercepted ? .https : .http),
            authority: storm.plan.authority(for: kind),
            framing: .none
        )
    }

    /// Asks until there is nothing more to ask, or the proxy wants no more here: then the next
    /// request is returned.
    func run(from first: StormRequest) async throws(StormFailure) -> StormRequest? {
        waiting = first
        while try turn() {
            do throws(LoadError) {
                try await link.wait(for: .upstreamReadable | .upstreamWritable)
            } catch {
                guard let answer = underWay.values.first else { throw broken("\(error)") }
                throw answer.failure("an answer", "\(error)")
            }
        }
        return waiting
    }

    // MARK: Private

    /// Asks and reads for as long as there is something to do; false when the connection is over.
    private func turn() throws(StormFailure) -> Bool {
        while true {
            ask()
            if underWay.isEmpty { return false }
            let received: Channel.Received
            do throws(SystemError) {
                _ = try channel.flush()
                received = try channel.receive()
            } catch {
                throw broken(error.message)
            }
            if channel.input.isEmpty {
                guard received == .end else { return true }
                throw broken("its end")
            }
            try take()
        }
    }

    private func broken(_ found: String) -> StormFailure {
        let asked = underWay.values.map(\.request.description).sorted().joined(separator: "; ")
        return StormFailure("\(kind.rawValue): expected a connection, came \(found), with \(asked)")
    }

    /// Opens as many streams as there should be.
    private func ask() {
        while !isLeaving, underWay.count < StormClients.streams {
            waiting = waiting ?? storm.nextRequest()
            guard let request = waiting?.withoutBody,
                let stream = connection.submit(request.head, options)
            else { break }
            underWay[stream] = StormAnswer(to: request, kind)
            waiting = nil
        }
        if connection.wantsWrite { channel.stage { connection.drain(into: &$0) } }
    }

    /// Reads what came.
    private func take() throws(StormFailure) {
        let input = channel.input
        do throws(HTTP2Failure) {
            try connection.receive(input.bytes, now: channel.loop.now)
        } catch {
            throw broken(error.text)
        }
        while let event = connection.nextEvent() {
            switch event {
            case .response(let stream, let response, _):
                try underWay[stream]?.take(response)
                leave(stream)
            case .data(let stream, let range):
                connection.consume(range.count, on: stream)
                try underWay[stream]?.take(input.bytes.extracting(range))
                leave(stream)
            case .end(let stream, _):
                guard let answer = underWay.removeValue(forKey: stream) else { continue }
                storm.note(try answer.end(), answer, kind)
            case .closed(let stream, let code, _):
                guard let answer = underWay.removeValue(forKey: stream) else { continue }
                storm.note(try answer.breakOff("\(code)"), answer, kind)
            case .refused(_, let problem, _): throw broken("\(problem)")
            case .goAway: isLeaving = true
            case .request, .malformed, .window, .settings, .pong: break
            }
        }
        // Not before: payload is read where it came.
        input.discard(input.count)
        for (stream, answer) in underWay where answer.request.leavesEarly { reset(stream, answer) }
    }

    /// Resets the stream if its client leaves here.
    private func leave(_ stream: Int32) {
        if let answer = underWay[stream], answer.isLeft { reset(stream, answer) }
    }

    private func reset(_ stream: Int32, _ answer: StormAnswer) {
        underWay[stream] = nil
        connection.reset(stream, .cancel)
        storm.note(.left, answer, kind)
    }
}
