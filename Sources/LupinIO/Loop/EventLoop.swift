// One thread's loop: run what is ready, wait for events, pass them to channels, wake due tasks.

/// An epoll loop.
///
/// Everything it hands out is confined to its thread; only `executor` may leave it.
package final class EventLoop {
    package let executor: LoopExecutor
    /// Microseconds of the loop's clock, taken once per batch of events.
    package var now: UInt64 { time }
    /// Counts the batches of events.
    package var turn: UInt64 { turns }
    package let clock: LoopClock

    private var time: UInt64
    private var turns: UInt64 = 0
    let poller: Poller
    private let wheel: TimerWheel
    private var entries: [Entry] = []
    private var firstFree = none
    /// Entries closed during this batch: they must not be reused before it ends.
    private var closed = (first: none, last: none)
    private var isStopping = false
    private var postponed: [() -> Void] = []
    /// What is done before the loop waits.
    private var departing: [() -> Void] = []
    private var hasDeparting = false
    private var steps = TurnSteps()
    private var hasSteps = false
    /// The memory of the last step's list, for the next one.
    private var stepMemory: [any TurnWork] = []
    /// Channels whose bytes accumulate in the kernel.
    private var gathering: [Channel] = []
    /// Whether there is work that no event announces: postponed work, or a channel to poll.
    private var hasUnannounced = false
    let memory = BufferPool()
    package let pipes = PipePool()

    private struct Entry {
        var channel: Channel?
        /// For descriptors without a channel: the slot to wake with `.ready`.
        var watcher: ParkingSlot?
        var generation: UInt32 = 0
        /// The next entry in the list of free entries, or of those closed during this batch.
        var next = none
    }

    /// The index that means "no entry".
    private static let none = -1
    /// The bit in the token of a connection that lupin made.
    private static let outgoingBit: UInt64 = 1 << 31

    private static let mailToken = UInt64.max

    /// Makes the loop of the calling thread; `run` must be called on the same one.
    package init(executor: LoopExecutor, clock: LoopClock = .system) throws(SystemError) {
        self.executor = executor
        self.clock = clock
        time = clock.now()
        wheel = TimerWheel(now: time)
        poller = try Poller()
        executor.adoptThread(running: self)
        try poller.addReader(executor.mailbox.descriptor, token: Self.mailToken)
    }

    /// Runs until `stop`.
    package func run() {
        while true {
            executor.runReady()
            if hasSteps { runSteps() }
            if isStopping { return letGo() }
            if hasDeparting { runDeparting() }
            let count = poller.wait(milliseconds: timeout)
            time = clock.now()
            turns &+= 1
            dispatch(count, areOutgoing: true)
            dispatch(count, areOutgoing: false)
            if hasSteps { runSteps() }
            if hasUnannounced { seeToUnannounced() }
            for slot in wheel.advance(to: now) { slot.wake(.timedOut) }
            if hasSteps { runSteps() }
            executor.runReady()
            if closed.first >= 0 { releaseClosedEntries() }
        }
    }

    /// Lets go of what would keep the loop in memory: its descriptors are closed with it.
    private func letGo() {
        wheel.removeAll()
        (postponed, departing, gathering) = ([], [], [])
        executor.mailbox.close()
    }

    /// Ends `run` after the current batch.
    package func stop() { isStopping = true }

    /// The deadline that lies `microseconds` ahead; `.max` is never.
    package func deadline(in microseconds: UInt64) -> UInt64 {
        let (deadline, isOverflow) = time.addingReportingOverflow(microseconds)
        return isOverflow ? .max : deadline
    }

    /// Has `work` go on in a step behind this turn's events, or behind this step.
    package func inStep(_ step: TurnStep, _ work: any TurnWork) {
        var steps = TurnSteps()
        swap(&steps, &self.steps)
        steps.add(work, step)
        swap(&steps, &self.steps)
        hasSteps = true
    }

    /// Runs `work` before the loop next waits for events, when no task has anything to do.
    package func beforeWait(_ work: @escaping () -> Void) {
        var works: [() -> Void] = []
        swap(&works, &departing)
        works.append(work)
        swap(&works, &departing)
        hasDeparting = true
    }

    /// Runs `work` after the next batch of events, so that others get their turn first.
    package func later(_ work: @escaping () -> Void) {
        var works: [() -> Void] = []
        swap(&works, &postponed)
        works.append(work)
        swap(&works, &postponed)
        hasUnannounced = true
    }

    /// The deadline that lies `duration` ahead.
    @inline(__always)
    package func deadline(in duration: Duration) -> UInt64 {
        let (deadline, isBeyond) = now.addingReportingOverflow(duration.microseconds)
        return isBeyond ? .max : deadline
    }

    // MARK: For channels and slots

    func register(_ channel: Channel, isOutgoing: Bool) -> UInt64 {
        register { $0.channel = channel } | (isOutgoing ? Self.outgoingBit : 0)
    }

    func register(watcher: ParkingSlot) -> UInt64 {
        register { $0.watcher = watcher }
    }

    /// Wakes `watcher` whenever a descriptor is readable.
    package func register(
        watcher: ParkingSlot,
        reading descriptor: Int32
    ) throws(SystemError) -> UInt64 {
        let token = register(watcher: watcher)
        do throws(SystemError) {
            try poller.addReader(descriptor, token: token)
        } catch {
            unregister(token)
            throw error
        }
        return token
    }

    /// Forgets a channel or a watcher.
    ///
    /// The generation changes, so late events find nothing; the entry is free after this batch.
    func unregister(_ token: UInt64) {
        let index = Self.index(token)
        let next = closed.first
        let former = change { entries in
            var entry = Entry(generation: entries[index].generation &+ 1, next: next)
            swap(&entry, &entries[index])
            return entry
        }
        if closed.first < 0 { closed.last = index }
        closed.first = index
        // Released only now that the state is consistent: the release may close other channels.
        _ = consume former
    }

    /// Polls a channel every millisecond while its bytes accumulate.
    func look(at channel: Channel) {
        var channels: [Channel] = []
        swap(&channels, &gathering)
        channels.append(channel)
        swap(&channels, &gathering)
        hasUnannounced = true
    }

    @inline(__always)
    func fileTimer(_ slot: ParkingSlot) { wheel.file(slot) }

    func removeTimer(_ slot: ParkingSlot) { wheel.remove(slot) }

    // MARK: Private

    private var timeout: Int32 {
        if !executor.isIdle || hasDeparting { return 0 }
        if hasUnannounced && !postponed.isEmpty { return 0 }
        if clock.isVirtual { return -1 }
        let next = wheel.millisecondsToNext(from: now)
        return hasUnannounced && next != 0 ? 1 : next
    }

    private func seeToUnannounced() {
        hasUnannounced = false
        if !gathering.isEmpty { lookAtGathered() }
        if !postponed.isEmpty { runPostponed() }
    }

    private func lookAtGathered() {
        var channels: [Channel] = []
        swap(&channels, &gathering)
        for channel in channels where channel.lookAtGathered() { look(at: channel) }
    }

    /// Moves the entries out and back, which saves exclusivity checks at run time.
    @inline(__always)
    private func change<Result>(_ change: (inout [Entry]) -> Result) -> Result {
        var entries: [Entry] = []
        swap(&entries, &self.entries)
        let result = change(&entries)
        swap(&entries, &self.entries)
        return result
    }

    private func register(_ fill: (inout Entry) -> Void) -> UInt64 {
        let free = firstFree
        let (index, next, generation) = change { entries in
            if free < 0 { entries.append(Entry()) }
            let index = free < 0 ? entries.count - 1 : free
            fill(&entries[index])
            return (index, entries[index].next, entries[index].generation)
        }
        if free >= 0 { firstFree = next }
        return UInt64(index) | UInt64(generation) << 32
    }

    @inline(__always)
    private static func index(_ token: UInt64) -> Int { Int(token & (outgoingBit - 1)) }

    /// Passes on the events of the connections that lupin made, or all others.
    ///
    /// lupin's own connections come first. So bytes on an idle one are seen before a request could
    /// take them for its response, and connections that become idle serve requests of the same
    /// turn.
    @inline(__always)
    private func dispatch(_ count: Int, areOutgoing: Bool) {
        for i in 0..<count {
            let (token, readiness) = poller.event(i)
            if token == Self.mailToken {
                if !areOutgoing { readMail() }
            } else if (token & Self.outgoingBit != 0) == areOutgoing {
                dispatch(readiness, to: token)
            }
        }
    }

    @inline(__always)
    private func dispatch(_ readiness: Readiness, to token: UInt64) {
        let index = Self.index(token)
        guard entries[index].generation == UInt32(token >> 32) else { return }
        if let channel = entries[index].channel {
            channel.signal(readiness)
        } else {
            entries[index].watcher?.wake(.ready)
        }
    }

    private func runSteps() {
        var works: [any TurnWork] = []
        swap(&works, &stepMemory)
        while !steps.isEmpty {
            var steps = TurnSteps()
            swap(&steps, &self.steps)
            let step = steps.takeNext(&works)
            swap(&steps, &self.steps)
            for work in works { work.go(step) }
        }
        works.removeAll(keepingCapacity: true)
        swap(&works, &stepMemory)
        hasSteps = false
    }

    private func runDeparting() {
        hasDeparting = false
        var works: [() -> Void] = []
        swap(&works, &departing)
        for work in works { work() }
    }

    private func runPostponed() {
        var works: [() -> Void] = []
        swap(&works, &postponed)
        for work in works { work() }
    }

    private func readMail() {
        let (letters, jobs) = executor.mailbox.collect()
        executor.adopt(jobs)
        for letter in letters { letter() }
    }

    private func releaseClosedEntries() {
        let (last, next) = (closed.last, firstFree)
        change { $0[last].next = next }
        firstFree = closed.first
        closed = (Self.none, Self.none)
    }
}

extension Duration {
    /// Whole microseconds, at least 0; an unbounded duration is `.max`.
    package var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 10_000_000_000_000 else { return .max }
        return UInt64(seconds) &* 1_000_000 &+ UInt64(attoseconds / 1_000_000_000_000)
    }
}
