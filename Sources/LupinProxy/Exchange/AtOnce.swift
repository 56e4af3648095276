// Runs an exchange without a task for as long as it waits for bytes only.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// The owner of an exchange that runs without a task.
protocol ExchangeKeeper: AnyObject {
    /// The exchange has ended.
    func exchangeEnded(_ exchange: Exchange, _ ending: Ending)
    /// The exchange needs a task from here on.
    func resumeInTask(_ exchange: Exchange, from entry: Exchange.Entry)
    /// Takes back the memory of the request's fields, after the exchange has ended.
    func recycle(_ fields: consuming FieldSection)
}

extension Exchange {
    /// The point where a task takes the exchange over.
    enum Entry {
        /// Nothing was done yet; with an authenticator the client must authenticate.
        case request(behind: Authenticator?)
        /// lupin answers itself.
        case own(OwnAnswer)
        /// The rules were matched.
        case match(KnownTarget)
        /// Memory has no response to serve at once.
        case lookUp(CacheUse, KnownTarget)
        /// A look into the shared store has begun.
        case shared(SharedWait)
        /// An attempt has begun.
        case attempt(BegunAttempt, KnownTarget)
        /// The response's body is being sent.
        case body(BodyRelay)
        /// The response has been sent, and the origin still reads the request.
        case upload
        case failure(LupinError)
    }

    /// Serves the request as far as bytes have come; the rest follows with the events.
    ///
    /// A task costs more than forwarding a request. It is started when the exchange has to wait for
    /// anything but bytes: a new connection, a decision, a client that has left, or bytes that take
    /// so long that timeouts begin to matter.
    func begin(for keeper: any ExchangeKeeper, behind authenticator: Authenticator? = nil) {
        self.keeper = keeper
        isTaskless = true
        enter()
        let cause = Promotion.atRequest(
            request.method,
            asksForPassword: authenticator != nil,
            isWebSocket: protocolName != nil,
            expectsContinue: expectsContinue,
            hasInterceptor: resources.shared.hasInterceptor
        )
        if let cause { return promote(from: .request(behind: authenticator), because: cause) }
        do throws(LupinError) {
            var own: OwnAnswer?
            if let known = try admit(&own) {
                record.origin = known.origin
                match(known)
                if let cause = try serve(known) { promote(from: .match(known), because: cause) }
            } else if let own {
                promote(from: .own(own), because: .ownAnswer)
            }
        } catch {
            promote(from: .failure(error), because: .failure)
        }
    }

    /// Answers from a rule or from memory, or sends the request over an available connection.
    /// - Returns: Why it can't.
    private func serve(_ known: KnownTarget) throws(LupinError) -> TaskCause? {
        let handler = handler
        let cause = Promotion.atMatch(
            plan,
            handler,
            isPatient: isPatient,
            asksForOwner: mustAskForOwner(at: known.origin)
        )
        if let cause { return cause }
        try checkPath(at: known.origin)
        if let canned = plan?.respond {
            let (source, sink) = try present(response(canned))
            try deliver(from: source, to: sink)
            return nil
        }
        if handler == .cache, let planned = plan?.caching {
            return try lookUpAtOnce(planned, known)
        }
        return try forwardAtOnce(to: known)
    }

    /// Sends the request over an available connection.
    /// - Returns: Why it can't.
    private func forwardAtOnce(to known: KnownTarget) throws(LupinError) -> TaskCause? {
        if goesAsItCame, isDirect(to: known) {
            markHopByHop(for: known.directHop)
            if wishes.upgrade != nil { return .upgrade }
            try send(try attempt(.asItCame(known), because: .first), to: known)
            return nil
        }
        let plain = try unadapted(for: known)
        let adapted = if let plain { plain } else { try adaptAtOnce(for: known, signs: true) }
        guard let adapted else { return .credential }
        if plain == nil, remembersHeads { sent = SentRequest(adapted.head) }
        try send(try attempt(.adapted(adapted), because: .first), to: known)
        return nil
    }

    /// Serves a response from memory, or asks the store that machines share for one.
    /// - Returns: Why it can't.
    private func lookUpAtOnce(
        _ planned: PlannedCache,
        _ known: KnownTarget
    ) throws(LupinError) -> TaskCause? {
        let plain = try unadapted(for: known)
        // A look-up needs no credentials, and a task attaches them.
        let base = if let plain { plain } else { try adaptAtOnce(for: known, signs: false) }
        guard let base else { return .credential }
        if wishes.upgrade != nil { return .upgrade }
        // The content of a QUERY is a part of its key, and must be read first.
        guard request.method != .query, let use = useAtOnce(planned, base) else { return .store }
        if try serveFromMemory(use) { return nil }
        // A task gives credentials to a request that has none yet.
        guard authentication == nil else { return .store }
        if !askOthers(use, known) { promote(from: .lookUp(use, known), because: .store) }
        return nil
    }

    /// Serves a stored response that is fresh and in memory.
    /// - Returns: Whether there is one.
    func serveFromMemory(_ use: CacheUse) throws(LupinError) -> Bool {
        guard let (source, sink) = try openFromMemory(use) else { return false }
        try deliver(from: source, to: sink)
        return true
    }

    private func send(_ attempt: Attempt, to known: KnownTarget) throws(LupinError) {
        let isUpgrade = wishes.upgrade != nil
        note(.adapted(attempt.adapted))
        guard !isUpgrade, let upstream = attempt.connectAtOnce() else {
            // The same attempt: adapters run once for it.
            let cause = isUpgrade ? TaskCause.upgrade : .connection
            promote(from: .attempt(.ready(attempt), known), because: cause)
            return
        }
        underWay = (attempt, known)
        resources.watch()
        do throws(LupinError) {
            try attempt.send(over: upstream)
            // The client may have left with its request, and the response may have come before it.
            if downstream.isClientGone {
                promote(because: .clientLeft)
            } else if attempt.isAnswered {
                goOn()
            }
        } catch {
            let failure = attempt.failure(error, on: upstream)
            promote(from: .attempt(.failed(attempt, failure), known), because: .failure)
        }
    }

    /// Continues after bytes came, or can be sent.
    func goOn() {
        if let underWay {
            awaitResponse(to: underWay.attempt, at: underWay.target)
        } else if let download {
            awaitEnd(of: download)
        } else if sharedWait != nil, hasClientLeft {
            promote(because: .clientLeft)
        }
    }

    private func awaitResponse(to attempt: Attempt, at known: KnownTarget) {
        guard let upstream else { return promote(because: .failure) }
        let response: ParsedResponse
        do throws(LupinError) {
            guard let received = try attempt.receive(from: upstream) else {
                // A client that waits for the response must still be there.
                return downstream.isClientGone ? promote(because: .clientLeft) : ()
            }
            response = received
        } catch {
            let failure = attempt.failure(error, on: upstream)
            return promote(from: .attempt(.failed(attempt, failure), known), because: .failure)
        }
        if let cause = promotion(by: response, to: attempt) {
            return promote(from: .attempt(.answered(attempt, response), known), because: cause)
        }
        underWay = nil
        take(response, of: attempt)
        attempt.close(status: response.status, decision: .deliver, reason: "")
        do throws(LupinError) {
            try deliver(from: upstream.responseBody, to: try present(response))
        } catch {
            promote(from: .failure(error), because: .failure)
        }
    }

    /// Why a response needs a decision; nil when it goes to the client unchanged.
    private func promotion(by response: ParsedResponse, to attempt: Attempt) -> TaskCause? {
        let cause = Promotion.atResponse(
            status: response.status,
            plan,
            hasInterceptor: resources.shared.hasInterceptor
        )
        if let cause { return cause }
        if let authentication {
            if authentication.minds(response.status) { return .verdict }
            authentication.noteAuthenticationInfo(of: response.head)
        }
        return passesValidation(response, of: attempt) ? nil : .verdict
    }

    private func deliver(
        from source: any BodySource,
        to sink: any BodySink
    ) throws(LupinError) {
        if let relay = try beginRelay(from: source, to: sink) {
            // A client that reads nothing must time out.
            resources.watch()
            awaitEnd(of: relay)
        } else {
            end()
        }
    }

    private func awaitEnd(of relay: BodyRelay) {
        // What moved meanwhile may have led here before.
        guard isTaskless else { return }
        guard relay.isOver else {
            if downstream.isClientGone { return promote(because: .clientLeft) }
            return uploadFailure == nil ? () : promote(because: .failure)
        }
        do throws(LupinError) {
            try noteEnd(of: relay)
            end()
        } catch {
            promote(from: .failure(error), because: .failure)
        }
    }

    private func end() {
        if let upload, !upload.isOver {
            if uploadGoesOn { return promote(from: .upload, because: .lateness) }
            upload.cancel()
        }
        guard isTaskless, let keeper else { return }
        isTaskless = false
        let ending = wrapUp()
        // Written with those of the other exchanges that end in this turn.
        resources.inStep(.record, self)
        keeper.exchangeEnded(self, ending)
    }

    /// Starts a task for the exchange, in whatever state it is.
    func promote(because cause: TaskCause) {
        guard isTaskless else { return }
        if let (attempt, known) = underWay {
            promote(from: .attempt(.sent(attempt), known), because: cause)
        } else if let download {
            promote(from: .body(download), because: cause)
        } else if let sharedWait {
            promote(from: .shared(sharedWait), because: cause)
        }
    }

    func promote(from entry: Entry, because cause: TaskCause) {
        underWay = nil
        // An exchange that has ended keeps its keeper until its record is written.
        guard isTaskless, let keeper = keeper.take() else { return }
        isTaskless = false
        if let wait = sharedWait.take() { wait.question.wait(in: slot) }
        resources.count(cause)
        keeper.resumeInTask(self, from: entry)
    }
}

extension WorkerResources {
    /// How long an exchange may go on without a task, in microseconds.
    static let tasklessTime: UInt64 = Waits.patienceMin / 2

    /// Starts a task that watches exchanges which take long, unless there is one.
    func watch() {
        guard watchdog == nil else { return }
        let slot = ParkingSlot(on: loop)
        watchdog = slot
        let timer = LoopLocal(slot, of: loop.executor)
        let resources = LoopLocal(self, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            await resources.value.watch(in: timer.value)
        }
    }

    /// Ends when no exchange without a task is left.
    private func watch(in slot: ParkingSlot) async {
        repeat {
            let due = loop.deadline(in: Self.tasklessTime)
            _ = await slot.park(for: .cut, until: due)
            for exchange in live.all where exchange.isTaskless {
                let isLate = loop.now &- exchange.begun >= Self.tasklessTime
                if isLate { exchange.promote(because: .lateness) }
            }
        } while live.holdsTaskless && !isClosed
        slot.retire()
        watchdog = nil
    }
}
