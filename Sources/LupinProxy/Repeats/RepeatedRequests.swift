// Requests on one connection that are equal to earlier ones of any: found before they are parsed.
import LupinCore
import LupinIO
import LupinWire

/// What a connection knows of its next request, or of the one under way.
struct Repeating {
    /// It was looked for before there was a task.
    var isLookedFor = false
    /// What it is answered with, and how long its head is.
    var hit: (hit: RepeatedHit, headBytes: Int)?
    /// How it is forwarded, and how long its head is.
    var forward: (forward: RepeatedForward, headBytes: Int)?
    /// Why it goes past the cache, where an equal one has done so a moment ago.
    var pass: PassedStatus?
    /// Of its head, where an equal one may come.
    var digest: Int?
    /// The head, where an equal one has come before.
    var head: [UInt8]?
    /// Whether it may be worth while to forward equal ones without an exchange.
    var isForwardWanted = true
}

extension DownstreamConnection {
    /// Whether the next request is equal to one that was answered from memory a moment ago, or
    /// forwarded.
    func findRepetition() throws(LupinError) -> Bool {
        let snapshot = resources.snapshot
        repeating = Repeating()
        guard snapshot.repeatsRequests, snapshot.number == admittedBy, enclosure == nil, !isLeaving,
            entrance.authenticator == nil,
            let count = try http1.wholeHead()
        else { return false }
        let input = channel.input
        let bytes = input.bytes
        let head = bytes.extracting(first: count)
        let digest = head.digest
        let hits = resources.repeatedHits
        if let hit = hits.hit(head, digest) {
            if hit.holds(for: client.visitor, in: resources) {
                repeating.hit = (hit, count)
                return true
            }
            hits.forget(digest)
        }
        let pass = hits.pass(head, digest, by: snapshot, now: resources.loop.now)?.status
        let forwards = resources.repeatedForwards
        if !leavesForwards, let forward = forwards.forward(head, digest) {
            if forward.holds(for: client.visitor, in: resources, pass) {
                repeating.forward = (forward, count)
                return true
            }
            forwards.forget(digest)
        }
        repeating.digest = digest
        repeating.pass = pass
        repeating.isForwardWanted = forwards.isWanted(digest, now: resources.loop.now)
        // The cache may have use for it in any case.
        if hits.isExpected(digest), repeating.isForwardWanted || snapshot.caches {
            repeating.head = [UInt8](copying: head)
        }
        return false
    }

    /// The same, but for a request for which it was found out before there was a task.
    func isRepetition() throws(LupinError) -> Bool {
        guard repeating.isLookedFor else { return try findRepetition() }
        repeating.isLookedFor = false
        return repeating.hit != nil
    }

    /// Answers the request that `findRepetition` found.
    func repeatAnswer() async -> Ending? {
        guard let (hit, count) = repeating.hit else { return nil }
        repeating.hit = nil
        resources.shared.responses.noteHit(hit.response)
        let before = http1.bytesSent
        var sent = 0
        var failure: LupinError?
        do throws(LupinError) {
            http1.skip(count)
            sent = try http1.answer(with: hit.answer, hit.content, isLast: hit.isLast)
            if sent == hit.content.count, try http1.bodySink.flush() {
                http1.endAnswer()
                let now = resources.wallNow
                resources.record(hit.record, from: client.visitor) { record in
                    record.startMicroseconds = now
                    record.timing.total = 0
                }
                return hit.isLast ? .close : .keep
            }
        } catch {
            failure = error
        }
        return await send(
            StoredBody(hit.content, from: sent),
            in: exchange(nil, by: hit.record.snapshot),
            as: hit.record.copy,
            bytesSentBefore: before,
            failure
        )
    }

    /// Has an exchange send what the client did not take at once of an answer like another one's.
    func send(
        _ rest: any BodySource,
        in exchange: Exchange,
        as record: ExchangeRecord?,
        bytesSentBefore: UInt64,
        _ failure: LupinError?
    ) async -> Ending {
        let ending = await exchange.goOn(
            as: record,
            with: rest,
            to: http1.bodySink,
            bytesSentBefore: bytesSentBefore,
            failure
        )
        http1.endAnswer()
        return ending
    }

    /// Has equal requests go past the cache for a moment.
    private func rememberPass(of exchange: Exchange) {
        guard let digest = repeating.digest, let use = exchange.caching else { return }
        guard let head = repeating.head else { return resources.repeatedHits.expect(digest) }
        let pass = RepeatedPass(
            PassedStatus(text: use.text, field: use.field),
            head: head,
            until: resources.loop.deadline(in: RepeatedPass.time),
            by: exchange.snapshot
        )
        resources.repeatedHits.remember(pass, digest)
    }

    /// Keeps what an exchange was answered with for requests that are equal.
    private func remember(_ made: RepeatedHit.Made, _ exchange: Exchange) {
        guard let digest = repeating.digest else { return }
        guard let head = repeating.head, let record = exchange.writtenRecord,
            // All of it was the head, and nothing but it.
            record.bytes.clientIn == UInt64(head.count)
        else { return resources.repeatedHits.expect(digest) }
        let hit = RepeatedHit(
            made,
            head: head,
            answer: http1.keptAnswer,
            RepeatedRecord(record, resources, by: exchange.snapshot)
        )
        resources.repeatedHits.remember(hit, digest)
    }

    /// Keeps what requests that are equal are forwarded by.
    private func remember(_ known: RepeatedForward.Known, _ exchange: Exchange) {
        guard let digest = repeating.digest else { return }
        guard let head = repeating.head else { return resources.repeatedHits.expect(digest) }
        let forwards = resources.repeatedForwards
        guard let record = exchange.writtenRecord, !known.response.isEmpty,
            // All of it was the head, and nothing but it.
            record.bytes.clientIn == UInt64(head.count)
        else { return forwards.giveUp(digest, on: resources.loop) }
        if forwards.knows(known.response, digest) { return }
        let forward = RepeatedForward(
            known,
            head: .bytes(head),
            digest: digest,
            answer: RepeatedAnswer(http1.keptAnswer),
            RepeatedRecord(record, resources, by: exchange.snapshot),
            fruitless: forwards.fruitless(digest)
        )
        forwards.remember(forward, on: resources.loop)
    }

    /// Keeps what is worth keeping of an exchange that has ended.
    func rememberAnswer(of exchange: Exchange) {
        if let made = exchange.repeatable {
            remember(made, exchange)
        } else if exchange.isRefusedByStore {
            rememberPass(of: exchange)
        } else if let known = exchange.repeatableForward {
            remember(known, exchange)
        } else if let digest = repeating.digest, repeating.pass != nil, repeating.head != nil,
            repeating.isForwardWanted
        {
            resources.repeatedForwards.giveUp(digest, on: resources.loop)
        }
        repeating = Repeating()
        http1.keepsAnswer = false
    }
}
