// How a storm goes: an origin, one lupin, the load, new rules all the time, and a look afterwards.
import Foundation
import LupinIO

/// One storm over one lupin.
struct StormRun {
    let parties: Parties
    let directory: URL
    let certificates: Certificates
    /// lupin's program.
    let proxy: String
    let seed: UInt64
    let requests: Int
    /// The origin of HTTP/2 doesn't wait for lupin when it leaves.
    let isAbrupt: Bool

    private static let workers = 2
    /// For what lupin does soon, not at once.
    private static let timeoutSeconds = 10.0
    /// Descriptors that a storm may leave behind, such as the connection of a helper.
    private static let surplusMax = 8

    /// - Throws: What was expected, and what came.
    func run() throws {
        let arguments = [certificates.origin, "--seed", "\(seed)"]
        let (origin, originPort) = try parties.origin(arguments, core: nil)
        defer { origin.end() }
        let (http2Origin, http2Port) = try parties.origin(
            arguments + ["--http2"] + (isAbrupt ? ["--abrupt"] : []),
            core: nil
        )
        defer { http2Origin.end() }
        let setup = Contender.Setup(
            port: try Parties.freePort(),
            originPort: originPort,
            directory: directory,
            interception: certificates,
            workers: Self.workers
        )
        let contender = try Contender.lupin(at: proxy, keepsRecords: true)
        let launch = try contender.launch(in: setup, core: nil)
        let rules = StormRules(setup: setup, file: contender.file(in: setup))
        try rules.begin(seed: seed)
        let lupin = try ChildProcess(launch, among: parties.children)
        defer { lupin.end() }
        do {
            try parties.waitForListener(at: setup.port, of: lupin)
            let plan = StormPlan(
                proxyPort: setup.port,
                originPort: originPort,
                http2OriginPort: http2Port,
                seed: seed,
                requests: requests,
                rootFile: certificates.authority
            )
            try run(plan, rules, lupin, [origin, http2Origin])
        } catch {
            throw BenchError("\(error)\(Parties.lastWords(in: launch.log))")
        }
    }

    // MARK: Private

    private func run(
        _ plan: StormPlan,
        _ rules: StormRules,
        _ lupin: ChildProcess,
        _ origins: [ChildProcess]
    ) throws {
        let before = OpenDescriptors.count(of: lupin.identifier)
        let reloads = StormReloads()
        reloads.begin(rules)
        let result = try load(plan)
        let version = try reloads.end()
        StandardOutput.print(StormTable.text(result))
        if let last = result.versions?.upperBound, last > version {
            throw StormFailure("expected versions of the rules up to \(version), came \(last)")
        }
        let extra = try askOnceMore(plan, rules: version)
        say("lupin still answers, by version \(version) of its rules, the last one")
        try checkLive(rules.socket)
        say("no exchange is under way")
        for origin in origins { origin.end() }
        let after = try descriptors(of: lupin, before)
        let peak = MemoryUse.peak(lupin.identifier) >> 10
        say("\(after) open descriptors, \(before) before the storm; at most \(peak) MiB of memory")
        guard lupin.isRunning else { throw StormFailure("lupin ended before it was told to") }
        lupin.end()
        let log = try StormLog(rules.log)
        let sent = (0..<requests + extra).map { StormRequest.id(of: $0, seed: seed) }
        let problems = log.problems(sent: sent) { number in
            plan.request(number).leavesEarly
        }
        if !problems.isEmpty {
            throw StormFailure("the log: " + problems.prefix(5).joined(separator: "; "))
        }
        say(
            "\(log.exchanges) lines in \(log.files) files of the log, one for each request; "
                + "\(log.nameless) don't say which; \(log.dropped) were dropped"
        )
    }

    private func say(_ line: String) { StandardOutput.print("ok: \(line)") }

    private func load(_ plan: StormPlan) throws -> StormResult {
        let result: StormResult = try parties.load(
            StormLoadCommand.name,
            plan,
            core: nil,
            secondsMax: plan.secondsMax + 30
        ) { line, _ in StandardError.print(line) }
        if let failure = result.failure { throw StormFailure(failure) }
        guard result.requests == plan.requests else {
            throw StormFailure("\(result.requests) of \(plan.requests) requests have an outcome")
        }
        return result
    }

    /// Sends plain requests until one is answered by the last version of the rules; how many.
    private func askOnceMore(_ plan: StormPlan, rules version: Int) throws -> Int {
        var last = plan
        last.isPlain = true
        last.first = plan.requests
        last.requests = 1
        last.clients = [StormClientCount(kind: .http1, count: 1)]
        let end = Date(timeIntervalSinceNow: Self.timeoutSeconds)
        while true {
            let result = try load(last)
            last.first += 1
            if result.versions?.upperBound == version { return last.first - plan.requests }
            guard end.timeIntervalSinceNow > 0 else {
                let found = result.versions.map { "\($0.upperBound)" } ?? "none"
                throw StormFailure("expected rules of version \(version), came \(found)")
            }
        }
    }

    private func checkLive(_ socket: String) throws {
        struct Live: Decodable {
            struct Exchange: Decodable { var id: String }
            var exchanges: [Exchange]
        }
        let end = Date(timeIntervalSinceNow: Self.timeoutSeconds)
        while true {
            let body = try AdminQuestion.answer(to: "/v1/exchanges/live", at: socket)
            let live = try JSONDecoder().decode(Live.self, from: Data(body)).exchanges
            if live.isEmpty { return }
            guard end.timeIntervalSinceNow > 0 else {
                throw StormFailure("\(live.count) exchanges are under way, such as \(live[0].id)")
            }
            try parties.children.pause(0.1)
        }
    }

    /// What is left of lupin's descriptors once nobody speaks with it.
    private func descriptors(of lupin: ChildProcess, _ before: Int) throws -> Int {
        let end = Date(timeIntervalSinceNow: Self.timeoutSeconds)
        while true {
            let count = OpenDescriptors.count(of: lupin.identifier)
            if count <= before + Self.surplusMax { return count }
            guard end.timeIntervalSinceNow > 0 else {
                throw StormFailure("\(count) open descriptors, \(before) before the storm")
            }
            try parties.children.pause(0.1)
        }
    }
}

/// What a process has open.
enum OpenDescriptors {
    static func count(of process: Int32) -> Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []).count
    }
}
