// Delivers a response while storing it, and stores it to its end when its client leaves.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Delivers a response, and stores it if the policy allows.
    func deliverStoring(
        _ use: CacheUse,
        _ obtained: ObtainedResponse
    ) async throws(LupinError) {
        let response = obtained.response
        use.hear(response.head)
        let decision = use.policy.decide(
            response: response.head,
            request: use.base.head,
            asked: use.asked,
            attachments: use.attachments,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: resources.wallNow
        )
        let length = response.framing.knownLength
        var refusal: NoStoreReason?
        var storing: Storing?
        switch decision {
        case .refuse(let reason): refusal = reason
        case .store(let advice):
            if let (head, vary) = try await modified(response.head, use) {
                if let part = advice.range {
                    refusal = self.refusal(of: part, head, vary, use, length: length)
                    if refusal == nil { storing = begin(part, head, vary) }
                    break
                }
                let new = begin(head, vary, use, length: length)
                // A response larger than the room is not stored either.
                if (length ?? 0) > new.room.bytesMax { refusal = .tooLarge } else { storing = new }
            } else {
                refusal = .handler
            }
        }
        guard let storing else {
            if use.outdated != nil { unshare(use) }
            dropOutdated(use)
            if use.status.forward != .method { use.status.detail = refusal?.token }
            // A method that is never stored does not show whether GET responses can be.
            land(use, .released, isAlone: !use.asked.isHead)
            return try await deliverPast(use, obtained)
        }
        use.status.isStored = storing.isKept
        if !storing.isKept { use.status.detail = NoStoreReason.storeFailed.token }
        if use.conditions != nil { use.status.forwardStatus = response.status }
        invite(storing, use)
        noteCache(use)
        try await deliver(obtained, use, storing)
    }

    /// Lets the requests that wait for this fetch read along, or releases them where they can't use
    /// the response.
    private func invite(_ storing: Storing, _ use: CacheUse) {
        guard let flight = use.flight else { return }
        let facts = storing.announced ?? storing.facts(use, HeldContent(complete: 0))
        guard facts.answersOthers(policy: use.policy, nowUs: storing.responseTimeUs) else {
            return land(use, .released, isAlone: true)
        }
        if let length = storing.length, storing.part == nil {
            flight.resolve(.joinable(facts, storing.body, length: length))
        } else if !storing.isKept {
            land(use, .released, isAlone: true)
        }
    }

    private func begin(
        _ head: ResponseHead,
        _ vary: VaryKey,
        _ use: CacheUse,
        length: UInt64?
    ) -> Storing {
        let settings = snapshot.settings.cacheStore
        let now = resources.wallNow
        let facts = StoredResponse(
            head,
            vary: vary,
            content: HeldContent(complete: length ?? 0),
            policy: use.policy,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: now
        )
        var disk = resources.shared.responses.disk
        if disk != nil, !mayLieOnDisk(facts, use) { disk = nil }
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
                || sharingLifetimeMs(facts, length: length ?? 0, use) > 0
        )
    }

    /// Whether a response may be written to a file.
    func mayLieOnDisk(_ facts: StoredResponse, _ use: CacheUse) -> Bool {
        // A key with a secret must not be written to a file, nor to any record.
        if isSecret(use.key) || (use.variance != nil && isSecret(use.storingKey)) { return false }
        return facts.diskRefusal == nil
    }

    private func isSecret(_ key: CacheKey) -> Bool {
        resources.redactor.cleaned(key.text.utf8Span.span) != nil
    }

    /// The head to store: as received, changed by `cache.modify` and an embedding program's
    /// handler; nil when the response must not be stored.
    func modified(
        _ response: ResponseHead,
        _ use: CacheUse
    ) async throws(LupinError) -> (ResponseHead, VaryKey)? {
        var head = response
        if !use.policy.modify.isEmpty {
            do throws(StepProblem) {
                _ = try ResponseSteps.apply(
                    use.policy.modify.map { PlannedStep(rule: 0, step: $0, isOfResponse: true) },
                    to: &head.fields,
                    original: request,
                    id: record.id
                )
            } catch {
                return nil
            }
        }
        if let handler = resources.shared.cachedResponseHandler {
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
    func deliverPast(_ use: CacheUse, _ obtained: ObtainedResponse) async throws(LupinError) {
        noteCache(use)
        // A response fetched for the store alone is useless outside it, and may have no end.
        if downstream is NoClient { return try await letGo(of: obtained) }
        try await deliver(obtained)
    }

    private func deliver(
        _ obtained: ObtainedResponse,
        _ use: CacheUse,
        _ storing: Storing
    ) async throws(LupinError) {
        let response = obtained.response
        let length = response.framing.knownLength
        // A body fetched for the store alone has no reader.
        let joined = downstream is NoClient ? nil : JoinedBody(storing.body, length: length) {}
        let reader: any BodySource = joined ?? AwaitedEnd(storing.body)
        let sink = try present(
            response.takeHead(),
            response.framing,
            contentLength: response.contentLength
        )
        try await fill(use, storing, obtained, from: reader, to: sink)
    }

    /// Moves a body from the origin into the store, and from there, by way of `reader`, to the
    /// client.
    func fill(
        _ use: CacheUse,
        _ storing: Storing,
        _ obtained: ObtainedResponse,
        from reader: any BodySource,
        to sink: any BodySink
    ) async throws(LupinError) {
        let filler = StoreSink(storing.body, wake: bodyWake)
        filling = BodyRelay(from: obtained.body, to: filler, slot: slot)
        let relay = BodyRelay(from: reader, to: sink, slot: slot)
        download = relay
        isServedFromStore = true
        pumpBodies()
        let failure: LupinError
        do throws(LupinError) {
            while !relay.isOver {
                try await lookAfterFilling(obtained, use, storing, filler)
                if !relay.isOver { try await awaitMore(of: relay) }
            }
            try await lookAfterFilling(obtained, use, storing, filler)
            switch relay.state {
            case .running, .finishing, .finished:
                if let upload, !upload.isOver { upload.cancel() }
                return
            case .sourceFailed(let error), .sinkFailed(let error): failure = error
            }
        } catch {
            failure = error
        }
        if failure != .stopping, use.flight?.hasFollowers ?? false {
            // A reader that has stopped must not set the pace for the others.
            (reader as? any LeavableBody)?.leave()
            await finishFilling(use, storing, filler)
        }
        // A request that comes now makes its own fetch.
        land(use, .released)
        if failure != .stopping { keepBeginning(storing, use) }
        storing.body.finish(.failed(failure.toReaders))
        throw failure
    }

    /// Has this exchange move its bodies, from any thread.
    ///
    /// Held by a body that the exchange holds, so it doesn't hold the exchange.
    var bodyWake: @Sendable () -> Void {
        let executor = slot.loop.executor
        let local = LoopLocal(Weak(self), of: executor)
        return { executor.mailbox.post { local.value.object?.pumpBodies() } }
    }

    /// Handles the end of the origin's side: stores the body, resumes it, or fails.
    private func lookAfterFilling(
        _ obtained: ObtainedResponse,
        _ use: CacheUse,
        _ storing: Storing,
        _ filler: StoreSink
    ) async throws(LupinError) {
        guard let filling else { return }
        switch filling.state {
        case .running, .finishing: return
        case .finished: store(use, storing)
        case .sourceFailed(let error), .sinkFailed(let error):
            self.filling = nil
            do throws(LupinError) {
                guard case .sourceFailed = filling.state, let resumable = obtained.resumable
                else { throw error }
                let received = storing.body.count
                let source = try await resume(resumable, received: received, after: error)
                self.filling = BodyRelay(from: source, to: filler, slot: slot)
                pumpBodies()
            } catch {
                land(use, .released)
                storing.body.finish(.failed(error.toReaders))
                pumpBodies()
            }
        }
    }

    private func dropOutdated(_ use: CacheUse) {
        guard let outdated = use.outdated else { return }
        use.outdated = nil
        resources.shared.responses.remove([outdated])
    }

    /// The whole body has come: stores it, and releases the upstream connection.
    private func store(_ use: CacheUse, _ storing: Storing) {
        filling = nil
        defer { dropOutdated(use) }
        let (body, disk) = (storing.body, storing.room.disk)
        let content = body.content
        noteBodyFlaws()
        if !record.flaws.isEmpty {
            land(use, .released, isAlone: true)
        } else if let part = storing.part {
            let isKept = content.map { keep($0, as: part, storing, use) } ?? false
            land(use, isKept ? .landed : .released, isAlone: !isKept)
        } else if content != nil || body.isInFile {
            let facts = storing.wholeFacts(use)
            let response = resources.shared.responses.insert(
                use.key,
                use.variance,
                facts,
                content,
                by: use.planned,
                mayLieOnDisk: disk != nil,
                requestTimeUs: use.requestTimeUs
            )
            if let response {
                share(facts, content, use)
                if content == nil { disk?.commit(body, as: response) }
            }
            land(use, response == nil ? .released : .landed)
        } else {
            land(use, .released, isAlone: true)
        }
        passUpstreamOn(isResponseComplete: true)
    }

    /// Fills the body to its end after the client has left, since others read along.
    private func finishFilling(_ use: CacheUse, _ storing: Storing, _ filler: StoreSink) async {
        while let filling {
            switch filling.state {
            case .finished: return store(use, storing)
            case .sourceFailed(let error), .sinkFailed(let error):
                storing.body.finish(.failed(error))
                return self.filling = nil
            case .running, .finishing:
                let deadline = min(filling.lastActivity &+ timeouts.idle, totalDeadline)
                let woken = await slot.park(for: .relayEnded | .cut, until: deadline)
                if woken.meets(.cut) || slot.loop.now >= deadline { return filling.cancel() }
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
