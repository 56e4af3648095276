// Completes an exchange: its record, and what happens to its connections.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

extension Exchange: TurnWork {
    func go(_ step: TurnStep) { writeRecord() }

    /// Ends the exchange, writes its record, and returns what happens to the connection.
    func finish() -> Ending {
        let ending = wrapUp()
        writeRecord()
        return ending
    }

    /// Completes the record, which is still to be written.
    func wrapUp() -> Ending {
        // Read once: a member that may change is counted whenever it is read.
        let (downstream, lastUpstream) = (downstream, upstream)
        downstream.attach(nil)
        resources.remove(self)
        if let lastUpstream {
            noteEnd(of: lastUpstream)
            release(lastUpstream)
            self.lastUpstream = lastUpstream
        }
        switch complete(&record, downstream) {
        case .aborted: return .gone
        case .truncated: return .close
        case .ok, .error, .denied:
            if downstream.isClientGone { return .gone }
            let mayPersist = downstream.mayPersist && downstream.isRequestComplete
            return mayPersist && !resources.isDraining ? .keep : .close
        }
    }

    /// Hands the record to the log and the other receivers.
    private func writeRecord() {
        // Moved out: it is handed over without copying its parts.
        var finished = ExchangeRecord(id: ExchangeID(high: 0, low: 0), startMicroseconds: 0)
        swap(&finished, &record)
        report(finished)
        let isDue = finished.isDue
        var fields = finished.takeFields()
        if resources.keepsHistory, isDue {
            resources.remember(&finished, &fields, changed: sent)
        }
        // This memory, or what came back for it, serves the connections' next messages.
        if let keeper = keeper.take() {
            var taken = FieldSection()
            swap(&taken, &fields.request)
            keeper.recycle(consume taken)
        } else {
            swap(&fields.request, &request.fields)
        }
        if let upstream = lastUpstream.take() {
            var taken = FieldSection()
            swap(&taken, &fields.response)
            upstream.recycle(consume taken)
        }
    }

    /// Lends the record to the receivers that only read it.
    ///
    /// Apart, since a variable is copied whenever it is lent, and a parameter is not.
    @inline(never)
    private func report(_ finished: ExchangeRecord) {
        noteEnd(of: finished)
        let line = resources.record(
            finished,
            rule: snapshot.labels.number(of: plan),
            firstByte: firstByte,
            returnsLine: capture != nil
        )
        if let telemetry = snapshot.telemetry {
            resources.export(finished, at: trace?.spanContext, by: telemetry)
        }
        if let capture {
            let request = sent?.head ?? finished.request
            capture.end(finished, line, sent: finished.attempts.isEmpty ? nil : request)
        }
    }

    /// Notes a reset of the attempt's stream during the body.
    private func noteEnd(of upstream: any Upstream) {
        guard let reset = upstream.reset else { return }
        changeLastAttempt { last in
            last.reset = reset
            last.goAway = upstream.goAway
        }
    }

    /// Whether the heads of the exchange can be looked at later.
    var remembersHeads: Bool { resources.keepsHistory || capture != nil }

    /// Adds an attempt that has ended.
    ///
    /// The attempts are moved out and back, which avoids the run-time exclusivity check.
    func append(_ attempt: consuming AttemptRecord) {
        var attempts: [AttemptRecord] = []
        swap(&attempts, &self.attempts)
        // Nearly always the only one: then nothing has to grow.
        if attempts.isEmpty { attempts = [attempt] } else { attempts.append(attempt) }
        swap(&attempts, &self.attempts)
    }

    /// Changes the record of the last attempt; does nothing when there was none.
    func changeLastAttempt(_ change: (inout AttemptRecord) -> Void) {
        guard !attempts.isEmpty else { return }
        var attempts: [AttemptRecord] = []
        swap(&attempts, &self.attempts)
        change(&attempts[attempts.count - 1])
        swap(&attempts, &self.attempts)
    }

    /// Adds the members of the record that are known only at the end.
    ///
    /// - Returns: How the exchange ended, since each look at the record is checked for exclusive
    ///   access.
    private func complete(
        _ record: inout ExchangeRecord,
        _ downstream: any Downstream
    ) -> ExchangeRecord.Outcome {
        // Bytes of a tunnel are no message body.
        let isTunnel = record.hasRare && record.tunnel != nil
        // The parent proxy refused; its connection was released as after any whole response.
        let isRefused =
            lastUpstream != nil && record.outcome == .ok && record.hasRare
            && record.error?.parent?.status != nil
        if isRefused { record.outcome = .error }
        if hasRequest {
            record.version = request.version
            if let clientRequest {
                record.request = clientRequest
            } else {
                // Moved: nothing but the memory of its fields is needed any more.
                var head = RequestHead()
                swap(&head, &request)
                record.request = consume head
            }
        }
        if !attempts.isEmpty {
            swap(&record.attempts, &attempts)
            let last = record.attempts.count - 1
            record.attempts[last].timing.receive = received
            record.timing.wait = record.attempts[last].timing.wait
            record.timing.receive = received
            if !retry.losers.isEmpty { record.attempts += retry.losers }
        }
        record.client.address = client.address
        record.client.port = client.port
        if let program = client.program { record.client.program = program }
        if let pid = client.pid { record.client.pid = pid }
        if client.isRedirected { record.client.isRedirected = true }
        if let user = client.user { record.client.user = user }
        record.reset = downstream.reset
        record.bytes.clientIn = downstream.bytesReceived &- bytesBefore.received
        record.bytes.clientOut = downstream.bytesSent &- bytesBefore.sent
        if hasRequest, framing.isEmpty {
            record.requestBodyBytes = 0
        } else if !isTunnel, let bytes = takenBytes {
            record.requestBodyBytes = bytes
        }
        if isDelivered || download != nil, !isTunnel {
            record.responseBodyBytes = passedAtOnce &+ (download?.bytes ?? 0)
        }
        record.timing.total = Int64(now &- begun)
        return record.outcome
    }
}
