// How a cell of the table is measured: a fresh proxy, a sanity check, a warm-up, a window.
import Foundation
import LupinIO

/// Measures cells, one after the other.
struct Bench {
    let cores: Cores
    let seconds: Double
    /// Ends a window after so many responses, which has no warm-up then; nil for one of `seconds`.
    let requests: Int?
    let directory: URL
    let certificates: Certificates
    let parties: Parties

    private static let warmUpSeconds = 0.6
    private static let countingSecondsMax = 300.0

    private var children: Children { parties.children }

    /// A measurement with figures, or with the reason why there are none.
    ///
    /// - Throws: On interruption only: a proxy that fails is a result.
    func measure(
        _ contender: Contender,
        _ scenario: Scenario,
        run: Int
    ) throws -> Measurement {
        var cell = Measurement(proxy: contender.name, scenario: scenario, run: run)
        let setup = directory.appendingPathComponent("cell")
        do {
            try FileManager.default.createDirectory(
                at: setup,
                withIntermediateDirectories: false
            )
            defer { try? FileManager.default.removeItem(at: setup) }
            try measure(contender, in: setup, into: &cell)
        } catch {
            try children.check()
            cell.failure = "\(error)"
        }
        return cell
    }

    private func measure(
        _ contender: Contender,
        in folder: URL,
        into cell: inout Measurement
    ) throws {
        var plan = cell.scenario.plan
        // Where nothing is intercepted the origin is in clear, and speaks HTTP/1.1.
        let flags = plan.isIntercepted && plan.streams > 0 ? ["--http2"] : []
        let (origin, originPort) = try parties.origin(
            [certificates.origin] + flags,
            core: cores.origin
        )
        defer { origin.end() }
        let setup = Contender.Setup(
            port: try Parties.freePort(),
            originPort: originPort,
            directory: folder,
            interception: plan.isIntercepted ? certificates : nil,
            listenerFile: plan.isListenerSecure ? certificates.listener : nil,
            rules: cell.scenario.rules,
            // Counted requests may be slow ones, under an emulator: connections that only seem idle
            // must not be closed and made anew.
            idleConnections: requests.map { _ in plan.connections * max(1, plan.streams) }
        )
        let launch = try contender.launch(in: setup, core: cores.proxy)
        let proxy = try ChildProcess(launch, among: children)
        defer { proxy.end() }
        do {
            try parties.waitForListener(at: setup.port, of: proxy)
            plan.proxyPort = setup.port
            plan.originPort = originPort
            try checkSanity(plan)
            if cell.scenario.kind == .memory {
                try measureMemory(plan, of: proxy, into: &cell)
            } else {
                try measureWindow(plan, of: proxy, into: &cell)
            }
            guard proxy.isRunning else { throw BenchError("the proxy died") }
        } catch {
            throw BenchError("\(error)\(Parties.lastWords(in: launch.log))")
        }
    }

    // MARK: The kinds of measurement

    /// A few exchanges that must be right before anything is timed.
    private func checkSanity(_ plan: LoadPlan) throws {
        var few = plan
        few.connections = min(2, plan.connections)
        few.isHeldIdle = false
        few.rootFile = plan.isSecure ? certificates.authority : nil
        few.seconds = 10
        few.requestsMax = plan.bodyBytes > 1 << 20 ? 3 : 20
        let result = try runLoad(few) { _ in }
        guard result.errors == 0, result.requests >= few.requestsMax else {
            let why = result.errors > 0 ? result.firstError : "too slow"
            throw BenchError("sanity check: \(why)")
        }
    }

    private func measureWindow(
        _ plan: LoadPlan,
        of proxy: ChildProcess,
        into cell: inout Measurement
    ) throws {
        var plan = plan
        plan.warmUpSeconds = requests == nil ? Self.warmUpSeconds : 0
        plan.seconds = requests == nil ? seconds : Self.countingSecondsMax
        plan.requestsMax = requests ?? 0
        // The sanity check has begun with 0.
        plan.firstRequest = 1 << 32
        var before = ProcessTable()
        var after = before
        let result = try runLoad(plan) { line in
            if line == LoadLine.start { before = ProcessTable() }
            if line == LoadLine.stop { after = ProcessTable() }
        }
        let window = after.time - before.time
        guard result.requests > 0, window > 0, result.seconds > 0 else {
            throw BenchError(result.errors > 0 ? result.firstError : "no response in the window")
        }
        if let requests, result.requests < requests {
            let why = result.errors > 0 ? result.firstError : "too slow"
            throw BenchError("\(result.requests) of \(requests) responses: \(why)")
        }
        cell.requests = result.requests
        let start = before.usage(of: before.family(of: proxy.identifier))
        let end = after.usage(of: after.family(of: proxy.identifier))
        let user = end.user - start.user
        let system = end.system - start.system
        let bytes = Double(result.bytes)
        let isLong = cell.scenario.kind == .bytes
        let count = isLong ? bytes / Double(plan.bodyBytes) : Double(result.requests)
        cell.userUsPerRequest = user * 1e6 / count
        cell.systemUsPerRequest = system * 1e6 / count
        cell.requestsPerSecond = count / result.seconds
        cell.megabytesPerSecond = bytes / 1e6 / result.seconds
        if user + system > 0 { cell.gigabytesPerCPUSecond = bytes / 1e9 / (user + system) }
        cell.p50Us = result.p50Us
        cell.p99Us = result.p99Us
        cell.p999Us = result.p999Us
        cell.proxyCPUPercent = 100 * (user + system) / window
        let foreign = after.foreignSeconds - before.foreignSeconds
        cell.othersCPUPercent = max(0, 100 * foreign / window)
        cell.peakMemoryKiB = Double(MemoryUse.peak(proxy.identifier))
        note(result, in: &cell)
    }

    /// Growth of resident memory by connections that have had one response each.
    private func measureMemory(
        _ plan: LoadPlan,
        of proxy: ChildProcess,
        into cell: inout Measurement
    ) throws {
        // What the proxy allocates once is not what a connection costs.
        var warmUp = plan
        warmUp.connections = 32
        warmUp.isHeldIdle = false
        warmUp.seconds = 10
        warmUp.requestsMax = 2000
        _ = try runLoad(warmUp) { _ in }
        try children.pause(1)
        let empty = MemoryUse.resident(proxy.identifier)
        var full = 0
        let result = try runLoad(plan) { line in
            guard line == LoadLine.held else { return }
            try children.pause(1)
            full = MemoryUse.resident(proxy.identifier)
        }
        guard result.stillOpen >= plan.connections * 95 / 100 else {
            let kept = "keeps \(result.stillOpen) of \(plan.connections) connections open"
            throw BenchError(result.errors > 0 ? "\(kept): \(result.firstError)" : kept)
        }
        cell.kibPerIdleConnection = Double(full - empty) / Double(result.stillOpen)
        cell.peakMemoryKiB = Double(MemoryUse.peak(proxy.identifier))
        note(result, in: &cell)
    }

    private func note(_ result: LoadResult, in cell: inout Measurement) {
        cell.errors = result.errors
        cell.reconnects = result.reconnects
        if result.errors > 0 { cell.firstError = result.firstError }
    }

    // MARK: Processes

    /// Runs a load process to its end and hands its announcements over as they come.
    private func runLoad(
        _ plan: LoadPlan,
        _ heard: (String) throws -> Void
    ) throws -> LoadResult {
        try parties.load(
            "load",
            plan,
            core: cores.load,
            secondsMax: plan.warmUpSeconds + plan.seconds + 120
        ) { line, load in
            try heard(line)
            if line == LoadLine.held { load.closeInput() }
        }
    }
}
