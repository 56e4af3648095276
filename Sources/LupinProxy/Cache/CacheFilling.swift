// Delivers a response while storing it, and stores it to its end when its client leaves.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension CacheHandler {
    /// Delivers a response, and stores it if the policy allows.
    func deliverStoring(_ obtained: ObtainedResponse) async throws(LupinError) {
        let response = obtained.response
        use.hear(response.head)
        let decision = use.policy.decide(
            response: response.head,
            request: use.base.head,
            asked: use.asked,
            attachments: use.attachments,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: nowUs
        )
        let length = response.framing.knownLength
        var refusal: NoStoreReason?
        var storing: Storing?
        switch decision {
        case .refuse(let reason): refusal = reason
        case .store(let advice):
            if let (head, vary) = try await modified(response.head) {
                if let part = advice.range {
                    refusal = self.refusal(of: part, head, vary, length: length)
                    if refusal == nil { storing = begin(part, head, vary) }
                    break
                }
                let new = begin(head, vary, length: length)
                // A response larger than the room is not stored either.
                if (length ?? 0) > new.room.bytesMax { refusal = .tooLarge } else { storing = new }
            } else {
                refusal = .handler
            }
        }
        guard let storing else {
            if use.outdated != nil { unshare() }
            dropOutdated()
            if use.status.forward != .method { use.status.detail = refusal?.token }
            // A method that is never stored does not show whether GET responses can be.
            land(.released, isAlone: !use.asked.isHead)
            return try await deliverPast(obtained)
        }
        use.status.isStored = storing.isKept
        if !storing.isKept { use.status.detail = NoStoreReason.storeFailed.token }
        if use.conditions != nil { use.status.forwardStatus = response.status }
        invite(storing)
        report()
        try await deliver(obtained, storing)
    }

    /// Lets the requests that wait for this fetch read along, or releases them where they can't use
    /// the response.
    private func invite(_ storing: Storing) {
        guard let flight = use.flight else { return }
        let facts = storing.announced ?? storing.facts(use, HeldContent(complete: 0))
        guard facts.answersOthers(policy: use.policy, nowUs: storing.responseTimeUs) else {
            return land(.released, isAlone: true)
        }
        if let length = storing.length, storing.part == nil {
            flight.resolve(.joinable(facts, storing.body, length: length))
        } else if !storing.isKept {
            land(.released, isAlone: true)
        }
    }

    private func begin(_ head: ResponseHead, _ vary: VaryKey, length: UInt64?) -> Storing {
        let settings = client.cacheStore
        let now = nowUs
        let facts = StoredResponse(
            head,
            vary: vary,
            content: HeldContent(complete: length ?? 0),
            policy: use.policy,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: now
        )
        var disk = store.disk
        if disk != nil, !mayLieOnDisk(facts) { disk = nil }
        let room = GrowingBody.Room(
            memoryBytes: settings.memoryBytes == 0 && disk != nil
                ? 0 : UInt64(settings.objectBytesMax),
            disk: disk
        )
        return Storing(
            head: head,
            vary: vary,
            responseTimeUs: now,
            room: room,
            body: GrowingBody(room, expecting: length),
            length: length,
            part: nil,
            announced: facts,
            isKept: settings.memoryBytes > 0 || disk != nil
                || sharingLifetimeMs(facts, length: length ?? 0) > 0
        )
    }

    /// Whether a response may be written to a file.
    func mayLieOnDisk(_ facts: StoredResponse) -> Bool {
        // A key with a secret must not be written to a file, nor to any record.
        if isSecret(use.key) || (use.variance != nil && isSecret(use.storingKey)) { return false }
        return facts.diskRefusal == nil
    }

    private func isSecret(_ key: CacheKey) -> Bool {
        client.resources.redactor.cleaned(key.text.utf8Span.span) != nil
    }

    /// The head to store: as received, changed by `cache.modify` and an embedding program's
    /// handler; nil when the response must not be stored.
    func modified(_ response: ResponseHead) async throws(LupinError) -> (ResponseHead, VaryKey)? {
        var head = response
        if !use.policy.modify.isEmpty {
            do throws(StepProblem) {
                _ = try ResponseSteps.apply(
                    use.policy.modify.map { PlannedStep(rule: 0, step: $0, isOfResponse: true) },
                    to: &head.fields,
                    original: client.request,
                    id: client.id
                )
            } catch {
                return nil
            }
        }
        if let handler = client.resources.cachedResponseHandler {
            guard let changed = await handler.willCache(head, for: use.base.request) else {
                return nil
            }
            head = changed
        }
        let vary = VaryKey(
            of: response.fields,
            request: use.base.head.fields,
            policy: use.policy
        )
        return vary.map { (head, $0) }
    }

    /// Delivers a response that is not stored.
    func deliverPast(_ obtained: ObtainedResponse) async throws(LupinError) {
        report()
        // A response fetched for the store alone is useless outside it, and may have no end.
        if client.isForStoreAlone { return try await client.letGo(of: obtained) }
        try await client.deliver(obtained)
    }

    private func deliver(_ obtained: ObtainedResponse, _ storing: Storing) async throws(LupinError)
    {
        let response = obtained.response
        let length = response.framing.knownLength
        // A body fetched for the store alone has no reader.
        let joined = client.isForStoreAlone ? nil : JoinedBody(storing.body, length: length) {}
        let reader: any BodySource = joined ?? AwaitedEnd(storing.body)
        let sink = try client.present(
            response.takeHead(),
            response.framing,
            contentLength: response.contentLength
        )
        try await fill(storing, obtained, from: reader, to: sink)
    }

    /// Moves a body from the origin into the store, and from there, by way of `reader`, to the
    /// client.
    func fill(
        _ storing: Storing,
        _ obtained: ObtainedResponse,
        from reader: any BodySource,
        to sink: any BodySink
    ) async throws(LupinError) {
        let filler = StoreSink(storing.body, wake: client.bodyWake)
        let relay = BodyRelay(from: reader, to: sink, slot: client.slot)
        client.beginFilling(BodyRelay(from: obtained.body, to: filler, slot: client.slot), relay)
        let failure: LupinError
        do throws(LupinError) {
            while !relay.isOver {
                try await lookAfterFilling(obtained, storing, filler)
                if !relay.isOver { try await client.awaitMore(of: relay) }
            }
            try await lookAfterFilling(obtained, storing, filler)
            switch relay.state {
            case .running, .finishing, .finished: return client.cancelUpload()
            case .sourceFailed(let error), .sinkFailed(let error): failure = error
            }
        } catch {
            failure = error
        }
        if failure != .stopping, use.flight?.hasFollowers ?? false {
            // A reader that has stopped must not set the pace for the others.
            (reader as? any LeavableBody)?.leave()
            await finishFilling(storing, filler)
        }
        // A request that comes now makes its own fetch.
        land(.released)
        if failure != .stopping { keepBeginning(storing) }
        storing.body.finish(.failed(failure.toReaders))
        throw failure
    }

    /// Handles the end of the origin's side: stores the body, resumes it, or fails.
    private func lookAfterFilling(
        _ obtained: ObtainedResponse,
        _ storing: Storing,
        _ filler: StoreSink
    ) async throws(LupinError) {
        guard let filling = client.filling else { return }
        switch filling.state {
        case .running, .finishing: return
        case .finished: finish(storing)
        case .sourceFailed(let broken), .sinkFailed(let broken):
            client.filling = nil
            let error = client.behindHead(broken)
            do throws(LupinError) {
                guard case .sourceFailed = filling.state, let resumable = obtained.resumable
                else { throw error }
                let received = storing.body.count
                let source = try await client.resume(resumable, received: received, after: error)
                client.filling = BodyRelay(from: source, to: filler, slot: client.slot)
                client.pumpBodies()
            } catch {
                land(.released)
                storing.body.finish(.failed(error.toReaders))
                client.pumpBodies()
            }
        }
    }

    private func dropOutdated() {
        guard let outdated = use.outdated else { return }
        use.outdated = nil
        store.remove([outdated])
    }

    /// The whole body has come: stores it, and releases the upstream connection.
    private func finish(_ storing: Storing) {
        client.filling = nil
        defer { dropOutdated() }
        let (body, disk) = (storing.body, storing.room.disk)
        let content = body.content
        if client.hasReadOverFlaws() {
            land(.released, isAlone: true)
        } else if let part = storing.part {
            let isKept = content.map { keep($0, as: part, storing) } ?? false
            land(isKept ? .landed : .released, isAlone: !isKept)
        } else if content != nil || body.isInFile {
            let facts = storing.wholeFacts(use)
            let response = store.insert(
                use.key,
                use.variance,
                facts,
                content,
                by: use.planned,
                mayLieOnDisk: disk != nil,
                requestTimeUs: use.requestTimeUs
            )
            if let response {
                share(facts, content)
                if content == nil { disk?.commit(body, as: response) }
            }
            land(response == nil ? .released : .landed)
        } else {
            land(.released, isAlone: true)
        }
        client.passUpstreamOn(isResponseComplete: true)
    }

    /// Fills the body to its end after the client has left, since others read along.
    private func finishFilling(_ storing: Storing, _ filler: StoreSink) async {
        while let filling = client.filling {
            switch filling.state {
            case .finished: return finish(storing)
            case .sourceFailed(let error), .sinkFailed(let error):
                storing.body.finish(.failed(client.behindHead(error)))
                return client.filling = nil
            case .running, .finishing:
                let idle = filling.lastActivity &+ client.idleTime
                let deadline = min(idle, client.totalDeadline)
                let woken = await client.slot.park(for: .relayEnded | .cut, until: deadline)
                if woken.meets(.cut) || loop.now >= deadline { return filling.cancel() }
            }
        }
    }
}

extension LupinError {
    /// The error as other readers see it: the fetching client's leaving is not their error.
    fileprivate var toReaders: LupinError {
        guard self == .clientGone else { return self }
        return LupinError(
            .connectionTerminated,
            detail: "The request that fetched the response for several was given up.",
            retry: .never
        )
    }
}

/// A response that is being stored.
struct Storing {
    /// The head as it is stored.
    let head: ResponseHead
    let vary: VaryKey
    let responseTimeUs: Int64
    let room: GrowingBody.Room
    let body: GrowingBody
    /// The number of bytes of the body; nil when unknown.
    let length: UInt64?
    /// The range of the whole that it holds; nil when it is whole.
    let part: ContentRange?
    /// The facts of the whole response as its head announced it; nil for a part.
    let announced: StoredResponse?
    /// Whether there is a store that may keep it; else others read along, and that is all.
    let isKept: Bool

    /// The facts of the whole response when all of its body has come.
    func wholeFacts(_ use: CacheUse) -> StoredResponse {
        if let announced, length == body.count { return announced }
        return facts(use, HeldContent(complete: body.count))
    }

    func facts(_ use: CacheUse, _ content: HeldContent) -> StoredResponse {
        StoredResponse(
            head,
            vary: vary,
            content: content,
            policy: use.policy,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: responseTimeUs
        )
    }
}
