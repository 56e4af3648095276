// Requests on one connection that are equal to earlier ones of any: found before they are parsed.
import LupinCore
import LupinIO
import LupinWire

/// What a connection knows of its next request, or of the one under way.
struct Repeating {
    /// What it is answered with, and how long its head is.
    var hit: (hit: RepeatedHit, headBytes: Int)?
    /// Why it goes past the cache, where an equal one has done so a moment ago.
    var pass: PassedStatus?
    /// Of its head, where an equal one may come.
    var digest: Int?
    /// The head, where an equal one has come before.
    var head: [UInt8]?
}

extension DownstreamConnection {
    /// Whether the next request is equal to one that was answered from memory a moment ago.
    func findRepetition() throws(LupinError) -> Bool {
        let snapshot = resources.snapshot
        repeating = Repeating()
        guard snapshot.repeatsHits, snapshot.number == admittedBy, enclosure == nil, !isLeaving,
            entrance.authenticator == nil,
            let count = try http1.wholeHead()
        else { return false }
        let input = channel.input
        let bytes = input.bytes
        let head = bytes.extracting(first: count)
        let digest = RepeatedHits.digest(of: head)
        let hits = resources.repeatedHits
        if let hit = hits.hit(head, digest) {
            let secrets = resources.shared.secrets.current
            if hit.holds(for: client, by: snapshot, secrets, nowUs: resources.wallNow) {
                repeating.hit = (hit, count)
                return true
            }
            hits.forget(digest)
        }
        repeating.digest = digest
        repeating.pass = hits.pass(head, digest, by: snapshot, now: resources.loop.now)?.status
        if repeating.pass == nil, hits.isExpected(digest) {
            repeating.head = [UInt8](copying: head)
            http1.keepsAnswer = true
        }
        return false
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
            sent = try http1.answer(count, with: hit.answer, hit.content)
            if sent == hit.content.count, try http1.bodySink.flush() {
                http1.endAnswer()
                resources.record(hit, from: client)
                return .keep
            }
        } catch {
            failure = error
        }
        let exchange = Exchange(
            nil,
            from: client,
            http1,
            slot,
            resources,
            hit.snapshot,
            nil,
            bytesBefore: http1.bytesBeforeRequest
        )
        let rest = BytesBody(Array(hit.content.dropFirst(sent)))
        let ending = await exchange.goOn(
            as: hit.copiedRecord,
            with: rest,
            to: http1.bodySink,
            bytesSentBefore: before,
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
            record,
            resources,
            exchange.snapshot
        )
        resources.repeatedHits.remember(hit, digest)
    }

    /// Keeps what is worth keeping of an exchange that has ended.
    func rememberAnswer(of exchange: Exchange) {
        if let made = exchange.repeatable {
            remember(made, exchange)
        } else if exchange.isRefusedByStore {
            rememberPass(of: exchange)
        }
        repeating = Repeating()
        http1.keepsAnswer = false
    }
}
