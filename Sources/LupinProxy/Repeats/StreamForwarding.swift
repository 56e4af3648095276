// Requests on streams that are equal to earlier ones, forwarded and answered without a task.
import LupinCore
import LupinIO
import LupinWire

/// What is known of a stream's request among equal ones.
struct StreamRepetition {
    /// Of its head, where an equal one may come.
    var digest: Int?
    /// The head, where an equal one has come before.
    var head: ParsedRequest?
}

extension DownstreamHTTP2 {
    /// Forwards a request if an equal one was forwarded a moment ago.
    ///
    /// - Returns: What the exchange should know that it needs; nil when it needs none.
    func forwardRepeat(_ request: ParsedRequest, on stream: HTTP2Stream) -> StreamRepetition? {
        var repetition = StreamRepetition()
        let snapshot = resources.snapshot
        guard snapshot.repeatsRequests, snapshot.number == admittedBy, context.enclosure == nil,
            !isLeaving, context.gate.entrance.authenticator == nil,
            request.isPlainGet, stream.isReceived, !stream.isGone
        else { return repetition }
        let digest = request.digest
        if let forward = resources.repeatedForward(of: request, digest) {
            if forward.holds(for: context.client.visitor, in: resources, nil) {
                return begin(forward, request, on: stream) ? nil : repetition
            }
            resources.repeatedForwards.forget(digest)
        }
        repetition.digest = digest
        if resources.repeatedHits.isExpected(digest),
            resources.repeatedForwards.isWanted(digest, now: resources.loop.now)
        {
            repetition.head = request.copy()
        }
        return repetition
    }

    private func begin(
        _ forward: RepeatedForward,
        _ request: ParsedRequest,
        on stream: HTTP2Stream
    ) -> Bool {
        guard
            let now = resources.begin(
                forward,
                for: context.client.visitor,
                clientBytes: (0, 0)
            )
        else { return false }
        beginExchange()
        StreamForward(consume now, on: stream, of: self).begin()
        // Should it be needed, there is an equal one.
        recycle(request)
        return true
    }

    /// Ends as an ordinary exchange what was begun without one.
    func finish(
        _ unfinished: UnfinishedForward,
        _ request: ParsedRequest?,
        _ downstream: DownstreamStream,
        _ slot: ParkingSlot
    ) async {
        switch unfinished {
        case .response(let now):
            let forward = now.forward
            let snapshot = forward.record.snapshot
            let exchange = exchange(request, downstream, slot, snapshot, begun: now.begun)
            exchange.notes.underWay = now
            exchange.passed = forward.known.pass
            if downstream.isClientGone { slot.wake(.downstreamClosed) }
            var repetition = StreamRepetition(digest: forward.digest)
            repetition.head = forward.message
            _ = await run(exchange, downstream, repetition)
        case .body(let record, let rest, let now, let failure):
            let snapshot = now.forward.record.snapshot
            let exchange = exchange(nil, downstream, slot, snapshot, begun: now.begun)
            downstream.takeOver()
            _ = await exchange.goOn(
                as: record,
                with: BytesBody(rest),
                to: downstream.stream,
                bytesSentBefore: 0,
                failure
            )
        }
    }

    /// Keeps what requests that are equal are forwarded by.
    func remember(_ exchange: Exchange, _ answer: PreparedHead?, _ repetition: StreamRepetition) {
        guard let digest = repetition.digest, let known = exchange.repeatableForward else {
            return
        }
        guard let head = repetition.head else { return resources.repeatedHits.expect(digest) }
        let forwards = resources.repeatedForwards
        guard let record = exchange.writtenRecord, let answer, !known.response.isEmpty else {
            return forwards.giveUp(digest, on: resources.loop)
        }
        if forwards.knows(known.response, digest) { return }
        let forward = RepeatedForward(
            known,
            head: .message(head),
            digest: digest,
            answer: .message(answer),
            RepeatedRecord(record, resources, by: exchange.snapshot),
            fruitless: forwards.fruitless(digest)
        )
        forwards.remember(forward, on: resources.loop)
    }
}

/// A stream whose request was forwarded without an exchange.
final class StreamForward: ChannelPump, ForwardHolder {
    var forwardPlace = ForwardsUnderWay.nowhere
    private let now: ForwardUnderWay
    private let stream: HTTP2Stream
    private let owner: DownstreamHTTP2
    // The owner's: what is reached by way of others is counted as used, each time.
    private let resources: WorkerResources
    /// The channel on which the response comes.
    private let source: ObjectIdentifier

    init(
        _ now: consuming ForwardUnderWay,
        on stream: HTTP2Stream,
        of owner: DownstreamHTTP2
    ) {
        source = now.upstream.source
        self.now = now
        self.stream = stream
        self.owner = owner
        resources = owner.resources
    }

    /// Waits for the response, or has an exchange send the rest of the request.
    func begin() {
        now.upstream.attach(self)
        stream.pump = self
        resources.beginForward(self)
        if !now.isSent { handOver(.response(now)) }
    }

    /// The response came, or the client has news: all that counts is whether it has left.
    func channelIsReady(_ ready: Channel) {
        // It may have news before its exchange has taken it over.
        guard forwardPlace != ForwardsUnderWay.nowhere else { return }
        if ObjectIdentifier(ready) == source {
            lookAtResponse()
        } else if stream.isGone {
            handOver(.response(now))
        }
    }

    func handOverForward(begunBefore time: UInt64) {
        if now.begun <= time { handOver(.response(now)) }
    }

    private func lookAtResponse() {
        switch now.upstream.holdsResponse(of: now.forward) {
        case nil: break
        case true? where now.forward.record.holds(in: resources):
            guard let answer = now.forward.answerMessage else { fallthrough }
            passOn(answer)
        default: handOver(.response(now))
        }
    }

    /// Sends the response that came as the equal one before it was sent.
    private func passOn(_ answer: PreparedHead) {
        let forward = now.forward
        now.upstream.tellDate(to: forward, second: resources.wallSecond)
        let (buffer, place) = now.upstream.body(of: forward)
        let body = buffer.bytes.extracting(place)
        var sent = 0
        var failure: LupinError?
        do throws(LupinError) {
            sent = try stream.answer(with: answer, body)
        } catch {
            failure = error
        }
        guard failure == nil, sent == body.count, stream.hasSentAll else {
            let rest = [UInt8](copying: body.extracting(sent...))
            resources.endResponse(of: now)
            let record = resources.copiedRecord(of: now, on: stream)
            return handOver(.body(record, rest, of: now, failure))
        }
        resources.endResponse(of: now)
        end()
        resources.record(now, from: owner.context.client.visitor, on: stream)
        owner.endExchange()
    }

    private func end() {
        stream.pump = nil
        resources.endForward(self)
    }

    /// Has a task go on.
    private func handOver(_ unfinished: UnfinishedForward) {
        end()
        owner.goOn(unfinished, now.forward.message?.copy(), on: stream)
    }
}
