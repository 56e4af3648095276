// Requests equal to earlier ones, forwarded and answered while their connection has no task.
import LupinCore
import LupinIO
import LupinWire

extension DownstreamConnection: ForwardHolder {
    /// Forwards the next request if an equal one was forwarded a moment ago.
    ///
    /// - Returns: False where the connection needs its task.
    func forwardRepeat() -> Bool {
        guard beginsHTTP1() else { return false }
        let isFound = (try? findRepetition()) == true
        guard let (forward, count) = repeating.forward else {
            repeating.isLookedFor = isFound || repeating.digest != nil
            return false
        }
        repeating = Repeating()
        let before = (http1.bytesReceived, http1.bytesSent)
        guard let now = resources.begin(forward, for: client.visitor, clientBytes: before)
        else {
            leavesForwards = true
            return false
        }
        http1.skip(count)
        now.upstream.attach(self)
        forwardUnderWay = now
        resources.beginForward(self)
        // No event will tell of a client that has left already.
        if !now.isSent || channel.hasHungUp { handOver(.response(now)) }
        return true
    }

    /// Looks at what came from upstream.
    func forwardIsAnswered() {
        guard let now = forwardUnderWay else { return }
        switch now.upstream.holdsResponse(of: now.forward) {
        case nil: return
        case true? where !isLeaving && now.forward.record.holds(in: resources): passOn(now)
        default: handOver(.response(now))
        }
    }

    /// Sends the response that came as the equal one before it was sent.
    private func passOn(_ now: ForwardUnderWay) {
        let forward = now.forward
        now.upstream.tellDate(to: forward, second: resources.wallSecond)
        let (buffer, place) = now.upstream.body(of: forward)
        let body = buffer.bytes.extracting(place)
        var sent = 0
        var isSent = false
        var failure: LupinError?
        do throws(LupinError) {
            sent = try http1.answer(with: forward.answerBytes, body, isLast: forward.known.isLast)
            if sent == body.count { isSent = try http1.bodySink.flush() }
        } catch {
            failure = error
        }
        guard isSent else {
            let rest = [UInt8](copying: body.extracting(sent...))
            resources.endResponse(of: now)
            let record = resources.copiedRecord(of: now)
            return handOver(.body(record, rest, of: now, failure))
        }
        resources.endResponse(of: now)
        http1.endAnswer()
        endForward()
        resources.record(now, from: client.visitor)
        if forward.known.isLast { endAfterForward() } else { restAgain() }
    }

    /// Closes the connection, which takes a task only if the client may still have to read.
    private func endAfterForward() {
        if http1.mayCloseAtOnce { return end() }
        isLastAnswered = true
        resumeTask()
    }

    private func endForward() {
        forwardUnderWay = nil
        resources.endForward(self)
    }

    /// Has a task go on.
    private func handOver(_ unfinished: UnfinishedForward) {
        endForward()
        unfinishedForward = unfinished
        if channel.hasHungUp { slot.wake(.downstreamClosed) }
        resumeTask()
    }

    /// Has a task wait for the response that was not there soon.
    func handOverForward(begunBefore time: UInt64) {
        guard let forwardUnderWay, forwardUnderWay.begun <= time else { return }
        handOver(.response(forwardUnderWay))
    }

    /// Ends as an ordinary exchange what was begun without one.
    func finish(_ unfinished: UnfinishedForward) async -> Ending {
        switch unfinished {
        case .response(let now):
            guard case .bytes(let head) = now.forward.head, let request = http1.request(head) else {
                now.upstream.abort()
                return .reset
            }
            let exchange = exchange(request, by: now.forward.record.snapshot, now)
            exchange.notes.underWay = now
            exchange.passed = now.forward.known.pass
            repeating.digest = now.forward.digest
            repeating.head = head
            return await run(exchange)
        case .body(let record, let rest, let now, let failure):
            let exchange = exchange(nil, by: now.forward.record.snapshot, now)
            return await send(
                BytesBody(rest),
                in: exchange,
                as: record,
                bytesSentBefore: now.clientBytes.sent,
                failure
            )
        }
    }
}

// What is reached by way of something else is counted as used each time, what is one's own is not:
// hence functions that only hand on.
extension WorkerResources {
    /// What is known of a request that came on a stream.
    func repeatedForward(of request: ParsedRequest, _ digest: Int) -> RepeatedForward? {
        repeatedForwards.forward(request, digest)
    }

    /// Notes who has a request under way without an exchange.
    func beginForward(_ holder: some ForwardHolder) { forwards.add(holder) }

    func endForward(_ holder: some ForwardHolder) { forwards.remove(holder) }

    /// Ends the hold on the connection by which a request went.
    func endResponse(of now: borrowing ForwardUnderWay) { now.upstream.endRepeat(to: pool) }

    /// Sends a request that is equal to earlier ones by a connection that `client` may use.
    ///
    /// - Returns: nil where there is none; then nothing has happened.
    func begin(
        _ forward: RepeatedForward,
        for client: Visitor,
        clientBytes: (received: UInt64, sent: UInt64)
    ) -> ForwardUnderWay? {
        guard let upstream = lease(for: forward, client) else { return nil }
        let upstreamBytes = (upstream.bytesReceived, upstream.bytesSent)
        let isSent: Bool
        do throws(LupinError) {
            isSent = try upstream.begin(forward.known.request)
        } catch {
            upstream.abort()
            return nil
        }
        return ForwardUnderWay(
            forward: forward,
            upstream: upstream,
            isSent: isSent,
            begun: loop.now,
            clientBytes: clientBytes,
            upstreamBytes: upstreamBytes
        )
    }

    private func lease(
        for forward: RepeatedForward,
        _ client: Visitor
    ) -> (any RepeatingUpstream)? {
        switch forward.known.request {
        case .bytes:
            guard let upstream = pool.lease(for: forward.known.target) else { return nil }
            if upstream.reach.isOpen(toLocal: client.isLocal, by: snapshot) { return upstream }
            pool.keep(upstream)
            return nil
        case .message:
            guard let connection = pool.streams.knownConnection(for: forward),
                connection.reach.isOpen(toLocal: client.isLocal, by: snapshot),
                forward.isLikeRecorded(connection)
            else { return nil }
            return connection.lease()
        }
    }

    /// Writes the line of a request that was forwarded as an equal one, and remembers it.
    ///
    /// `stream` is the client's, with HTTP/2.
    func record(
        _ now: borrowing ForwardUnderWay,
        from client: Visitor,
        on stream: HTTP2Stream? = nil
    ) {
        now.forward.noteUse()
        record(now.forward.record, from: client, date: now.forward.date) { record in
            fill(&record, now, stream)
        }
    }

    /// The record of a request that was forwarded as an equal one, for an exchange that ends it.
    func copiedRecord(
        of now: borrowing ForwardUnderWay,
        on stream: HTTP2Stream? = nil
    ) -> ExchangeRecord {
        var record = now.forward.record.copy
        fill(&record, now, stream)
        if let date = now.forward.date { record.response?.fields.set(date: date) }
        return record
    }

    private func fill(
        _ record: inout ExchangeRecord,
        _ now: borrowing ForwardUnderWay,
        _ stream: HTTP2Stream?
    ) {
        let elapsed = Int64(loop.now &- now.begun)
        record.startMicroseconds = wallNow &- elapsed
        if let stream {
            record.stream = UInt32(bitPattern: stream.id)
            record.bytes.clientIn = stream.bytesReceived
            record.bytes.clientOut = stream.bytesSent
        }
        let upstream = now.upstream
        let id = upstream.streamID
        if id != nil {
            record.bytes.upstreamIn = upstream.bytesReceived
            record.bytes.upstreamOut = upstream.bytesSent
        }
        record.attempts[0].note(wait: elapsed, at: upstream.peer, on: id, upstream.goAway)
        record.timing.wait = elapsed
        record.timing.total = elapsed
    }
}

extension AttemptRecord {
    /// Notes what differs in attempts that are alike.
    fileprivate mutating func note(
        wait: Int64,
        at peer: SocketAddress?,
        on stream: UInt32?,
        _ goAway: HTTP2ErrorCode?
    ) {
        timing.blocked = nil
        timing.wait = wait
        self.peer = peer?.address
        peerPort = peer?.port ?? 0
        self.stream = stream
        self.goAway = goAway
    }
}
