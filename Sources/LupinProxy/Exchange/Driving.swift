// Drives an exchange through its phases: by events for as long as it needs only bytes, then in a
// task.
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
    func resumeInTask(_ exchange: Exchange)
    /// Takes back the memory of the request's fields, after the exchange has ended.
    func recycle(_ fields: consuming FieldSection)
}

// MARK: Events

extension Exchange {
    /// Whether there is no task: only events move the exchange on.
    var isTaskless: Bool { course.isTaskless }

    /// Serves the request as far as bytes have come; the rest follows with the events.
    ///
    /// A task costs more than forwarding a request. It is started when the exchange has to wait for
    /// anything but bytes: a new connection, a decision, a client that has left, or bytes that take
    /// so long that timeouts begin to matter.
    func begin(for keeper: any ExchangeKeeper) {
        self.keeper = keeper
        course.leaveToEvents()
        enter()
        goOn()
    }

    /// Continues after bytes came, or can be sent.
    func goOn() {
        guard isTaskless else { return }
        do throws(LupinError) {
            guard let need = try advance() else { return end() }
            if need != .bytes { promote(because: need) }
        } catch {
            guard isTaskless else { return }
            failure = error
            course.fail()
            promote(because: .failure)
        }
    }

    private func end() {
        guard isTaskless, let keeper else { return }
        course.leaveToTask()
        let ending = wrapUp()
        // Written with those of the other exchanges that end in this turn.
        resources.inStep(.record, self)
        keeper.exchangeEnded(self, ending)
    }

    /// Starts a task for the exchange, in whatever phase it is.
    func promote(because need: Need) {
        // An exchange that has ended keeps its keeper until its record is written.
        guard isTaskless, let keeper = keeper.take() else { return }
        course.leaveToTask()
        caching?.shared?.query?.wait(in: slot)
        resources.count(need)
        keeper.resumeInTask(self)
    }
}

extension WorkerResources {
    /// How long an exchange may go on without a task, in microseconds.
    static let tasklessTime: UInt64 = LoopTimeouts.taskDelayMax / 2

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

// MARK: A task

extension Exchange {
    /// Drives the exchange to its end, from wherever it stands, and writes its record.
    func run() async -> Ending {
        do throws(LupinError) {
            try await drive()
        } catch {
            // The log names the target of a refused request, but not of a client that has yet to
            // authenticate.
            if record.origin == nil, error.status != 407 { record.origin = requestedOrigin }
            await fail(error)
            course.end()
        }
        return course.phase == .targetInside ? .intercept : finish()
    }

    /// Goes on, with every wait, until nothing is left to do here.
    func drive() async throws(LupinError) {
        while let need = try advance() { try await meet(need) }
    }

    /// Waits for what is needed, or does what can't be done without waits.
    func meet(_ need: Need) async throws(LupinError) {
        switch need {
        case .bytes: try await awaitBytes()
        case .connection, .failure, .verdict: try await concludeAttempt(need)
        case .password: try await authenticate()
        case .unknownClient: try await identify()
        case .demand: try await meetDemand()
        case .interceptor: try await askProgram()
        case .credential: try await fetchCredential()
        case .ownAnswer:
            if let own = rare?.own { try await answer(own) }
            course.end()
        case .purge:
            if let target { try await purge(at: target) }
            course.end()
        case .connect:
            guard let origin = target?.origin else { throw .stopping }
            try await serveConnect(at: origin) == .intercept ? course.intercept() : course.end()
        case .store:
            try await answerThroughCache()
            course.end()
        case .upgrade:
            if let obtained = rare?.obtained.take() { try await upgrade(obtained.response) }
            course.end()
        case .lateness:
            await finishUpload()
            course.end()
        // For these a task is all that is needed.
        case .webSocket, .expectation, .shortTimeout, .clientLeft, .cut: break
        }
    }

    private func awaitBytes() async throws(LupinError) {
        if let download, course.phase == .relaying { return try await awaitMore(of: download) }
        guard course.phase == .delivering, let obtained = rare?.obtained.take() else {
            return try await concludeAttempt(.bytes)
        }
        try await deliver(obtained)
        course.end()
    }

    private func authenticate() async throws(LupinError) {
        guard let authenticator = rare?.authenticator.take() else { return }
        try await authenticate(at: authenticator)
    }

    private func identify() async throws(LupinError) {
        guard let origin = target?.origin else { throw .stopping }
        try await checkCredentialUse(at: origin)
        _ = course.permitted(handler, asksForOwner: false)
    }

    /// Does what a rule or the tape demands in this phase.
    private func meetDemand() async throws(LupinError) {
        switch course.phase {
        case .preparing: try await makeReady()
        case .answering:
            if let wait = plan?.delay { try await pause(wait, .delay) }
            if let canned = plan?.respond { try await send(canned) }
            course.end()
        default:
            if let target { try await playTape(at: target.origin) }
            course.end()
        }
    }

    private func answer(_ own: OwnAnswer) async throws(LupinError) {
        if case .page = own { record.origin = ownOrigin }
        try await answerItself(own)
    }

    /// Answers bytes that never became a request, or a request whose client has left already.
    ///
    /// Of the former only the `method` is known, which decides whether the answer has a body.
    func refuse(_ error: LupinError, to method: Method = .get) async -> Ending {
        if !hasRequest { request.method = method }
        enter()
        record.origin = requestedOrigin
        failure = error
        course.fail()
        return await run()
    }
}
