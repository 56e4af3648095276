// Requests equal to earlier ones, forwarded and answered while their connection has no task.
import LupinCore
import LupinIO
import LupinWire

extension DownstreamConnection {
    /// Forwards the next request if an equal one was forwarded a moment ago.
    ///
    /// - Returns: False where the connection needs its task.
    func forwardRepeat() -> Bool {
        // What a connection may begin with is its listener's to say.
        guard !isFresh, (try? findRepetition()) == true, let (forward, count) = repeating.forward
        else { return false }
        repeating = Repeating()
        guard let upstream = lease(for: forward) else {
            leavesForwards = true
            return false
        }
        let before = ForwardUnderWay(
            forward: forward,
            upstream: upstream,
            begun: resources.loop.now,
            clientBytes: (http1.bytesReceived, http1.bytesSent),
            upstreamBytes: (upstream.bytesReceived, upstream.bytesSent)
        )
        let isSent: Bool
        do throws(LupinError) {
            isSent = try upstream.begin(forward.known.request)
        } catch {
            // None of it has left, so nothing has happened yet.
            upstream.abort()
            leavesForwards = true
            return false
        }
        http1.skip(count)
        upstream.channel.pump = self
        forwardUnderWay = before
        resources.forwards.add(self)
        // No event will tell of a client that has left already.
        if !isSent || channel.hasHungUp { handOver(.response(before)) }
        return true
    }

    /// An idle connection that this client may use.
    private func lease(for forward: RepeatedForward) -> UpstreamHTTP1? {
        let target = forward.known.target
        guard
            let upstream = resources.pool.lease(
                for: target.directHop,
                known: target,
                asksKernel: false
            )
        else { return nil }
        let reach = upstream.reach
        if !reach.isRestricted || (reach.isOpenToLocalClients && client.isLocal) { return upstream }
        resources.pool.keep(upstream)
        return nil
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
        let input = now.upstream.channel.input
        let response = input.bytes
        let body = response.extracting((response.count - forward.known.bodyBytes)...)
        forward.takeDate(of: response, second: resources.wallNow / 1_000_000)
        var sent = 0
        var isSent = false
        var failure: LupinError?
        do throws(LupinError) {
            sent = try http1.answer(with: forward.answer, body)
            if sent == body.count { isSent = try http1.bodySink.flush() }
        } catch {
            failure = error
        }
        guard isSent else {
            let rest = [UInt8](copying: body.extracting(sent...))
            now.upstream.endRepeat(to: resources.pool)
            let record = resources.copiedRecord(of: now)
            return handOver(.body(record, rest, of: now, failure))
        }
        now.upstream.endRepeat(to: resources.pool)
        http1.endAnswer()
        endForward()
        resources.record(now, from: client)
        restAgain()
    }

    private func endForward() {
        forwardUnderWay = nil
        resources.forwards.remove(self)
    }

    /// Has a task go on.
    private func handOver(_ unfinished: UnfinishedForward) {
        endForward()
        unfinishedForward = unfinished
        if channel.hasHungUp { slot.wake(.downstreamClosed) }
        resumeTask()
    }

    /// Has a task wait for the response that was not there soon.
    func handOverForward(begunBefore time: UInt64 = .max) {
        guard let forwardUnderWay, forwardUnderWay.begun <= time else { return }
        handOver(.response(forwardUnderWay))
    }

    /// Ends as an ordinary exchange what was begun without one.
    func finish(_ unfinished: UnfinishedForward) async -> Ending {
        switch unfinished {
        case .response(let now):
            guard let request = http1.request(now.forward.head) else {
                now.upstream.abort()
                return .reset
            }
            let exchange = Exchange(
                request,
                from: client,
                http1,
                slot,
                resources,
                now.forward.record.snapshot,
                nil,
                bytesBefore: now.clientBytes.received,
                begun: now.begun
            )
            exchange.notes.underWay = now
            exchange.passed = now.forward.known.pass
            repeating.digest = now.forward.digest
            repeating.head = now.forward.head
            return await run(exchange)
        case .body(let record, let rest, let now, let failure):
            let exchange = Exchange(
                nil,
                from: client,
                http1,
                slot,
                resources,
                now.forward.record.snapshot,
                nil,
                bytesBefore: now.clientBytes.received,
                begun: now.begun
            )
            let ending = await exchange.goOn(
                as: record,
                with: BytesBody(rest),
                to: http1.bodySink,
                bytesSentBefore: now.clientBytes.sent,
                failure
            )
            http1.endAnswer()
            return ending
        }
    }
}

extension WorkerResources {
    /// Writes the line of a request that was forwarded as an equal one, and remembers it.
    func record(_ now: ForwardUnderWay, from client: Client) {
        let forward = now.forward
        forward.noteUse()
        record(forward.record, from: client, date: forward.date) { fill(&$0, now) }
    }

    /// The record of a request that was forwarded as an equal one, for an exchange that ends it.
    func copiedRecord(of now: ForwardUnderWay) -> ExchangeRecord? {
        guard var record = now.forward.record.copy else { return nil }
        fill(&record, now)
        if let date = now.forward.date { record.response?.fields.set(date: date) }
        return record
    }

    private func fill(_ record: inout ExchangeRecord, _ now: ForwardUnderWay) {
        let elapsed = Int64(loop.now &- now.begun)
        record.startMicroseconds = wallNow &- elapsed
        record.attempts[0].timing.blocked = nil
        record.attempts[0].timing.wait = elapsed
        record.attempts[0].peer = now.upstream.peer?.address
        record.attempts[0].peerPort = now.upstream.peer?.port ?? 0
        record.timing.wait = elapsed
        record.timing.total = elapsed
    }
}
