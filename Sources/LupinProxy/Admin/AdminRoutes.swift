// The routes of the admin interface below `/v1/`.
import LupinCore
import LupinIO
package import LupinPolicy
import LupinRecords
import LupinUpstream

/// What the program that starts a proxy reports about itself.
package struct ProxyDescription: Sendable {
    /// lupin's version.
    package var version: String
    /// Explains a past exchange, from its record and heads as JSON.
    package var explain: @Sendable (_ detail: [UInt8], Configuration) -> String

    package init(
        version: String = "",
        explain: @escaping @Sendable (_ detail: [UInt8], Configuration) -> String = { _, _ in "" }
    ) {
        self.version = version
        self.explain = explain
    }
}

/// The routes below `/v1/`; confined to the control loop.
struct AdminRoutes {
    let shared: Shared
    let workers: [Worker]
    let about: ProxyDescription
    /// The rules file in force; nil without one.
    let rulesFile: () -> String?
    /// The errors for which the last reload was refused; empty when it was taken.
    let refusedBecause: () -> [String]
    /// When the proxy was started, by the loop's clock.
    let begun: UInt64
    let reload: () async -> ReloadResult

    /// How the rules are read; nil without a rules file.
    let source: RulesSource?
    /// Opens the inspector's listener; returns the address of its page.
    let openInspector: () async throws(ReloadFailure) -> String
    /// Captures these hosts from now on, besides those that rules name.
    let capture: (_ hosts: [String]) async throws(ReloadFailure) -> Void
    /// What open inspectors want captured.
    let holds: () -> [CaptureHolds.Hold]
    /// Renews the hold of an inspector; with nil it ends.
    let hold: (_ name: String, _ hosts: [String]?) async throws(ReloadFailure) -> Void
    /// The archives that the inspector can show.
    let archives = ArchiveShelf()

    /// Answers a request.
    func answer(_ request: AdminRequest, on loop: EventLoop) async -> AdminAnswer {
        do throws(AdminAnswer) {
            return try await route(request, on: loop)
        } catch {
            return error
        }
    }

    private func route(
        _ request: AdminRequest,
        on loop: EventLoop
    ) async throws(AdminAnswer) -> AdminAnswer {
        let (route, words) = try AdminRoute.find(request)
        try request.demand(route.audience)
        let cache = CacheRoutes(store: shared.responses, redactor: shared.redactor, loop: loop)
        let exchanges = ExchangeRoutes(
            shared: shared,
            workers: workers,
            loop: loop,
            version: about.version
        )
        let rules = RulesRoutes(admin: self)
        let archive = ArchiveRoutes(shelf: archives, exchanges: exchanges)
        let inspector = InspectorRoutes(admin: self, exchanges: exchanges, loop: loop)
        let sending = SendRoutes(shared: shared, workers: workers, exchanges: exchanges, loop: loop)
        let name = words.first ?? ""
        if route.waitsForCapture { await exchanges.settle() }
        return switch route {
        case .status: await status(request, loop)
        case .metrics: await metrics()
        case .reload: await reloaded()
        case .rulesText: rulesText()
        case .listRules: rules.list()
        case .previewRule: try rules.preview(request.json())
        case .appendRule: try await rules.append(request.json())
        case .origins: try origins(request, loop)
        case .bypasses: bypasses(loop)
        case .clearBypasses: clearBypasses()
        case .cache: cache.figures(shared.snapshot)
        case .clearCache: await cache.dropAll()
        case .storedResponses: await cache.list(request)
        case .dropStoredResponses: await cache.drop(request)
        case .exchanges: try await exchanges.list(request)
        case .liveExchanges: await exchanges.live()
        case .exchange: try await exchanges.detail(named: name, request)
        case .cancelExchange: try await exchanges.cancel(named: name)
        case .body: try await inspector.body(words.last ?? "", of: exchanges.named(name, request))
        case .messages: try await inspector.messages(of: exchanges.named(name, request), request)
        case .explanation: try await inspector.explained(exchanges.named(name, request))
        case .note: try await inspector.noted(exchanges.named(name, request), request)
        case .deleteCaptured: try await inspector.delete(exchanges.named(name, request))
        case .archiveOfExchanges: try await archive.archive(request)
        case .keepArchive: try archive.taken(request)
        case .archive: try archive.kept(name)
        case .openInspector: try await inspector.opened()
        case .capture: try await inspector.captured()
        case .setCapture: try await inspector.setCaptured(request)
        case .clearCapture: try await inspector.clearCaptured(request)
        case .hold, .endHold: try await inspector.hold(name, request)
        case .send: try await sending.send(request)
        }
    }

    // MARK: Rules

    private func reloaded() async -> AdminAnswer {
        switch await reload() {
        case .loaded(let version, let warnings): loaded(version, warnings)
        case .unchanged(let version): loaded(version, [])
        case .rejected(let errors):
            AdminAnswer(422) { $0.add("errors", list: errors.map(clean)) }
        }
    }

    /// The text of the rules file in force, which the file itself may not have any more.
    private func rulesText() -> AdminAnswer {
        let configuration = shared.snapshot.configuration
        let file = rulesFile()
        return AdminAnswer { line in
            if let file { line.add("file", text: file) }
            line.add("version", text: configuration.version)
            // Whole, and as it is: commands read it as a rules file.
            if let text = configuration.text { line.add("text", exact: text.utf8Span.span) }
            tellVariables(of: configuration, in: &line)
        }
    }

    /// Tells of the environment what another terminal needs to explain the rules.
    private func tellVariables(of configuration: Configuration, in line: inout JSONLine) {
        let (environment, salt) = (shared.environment, shared.pseudonym)
        line.add("salt", text: salt)
        line.add("variables", objects: configuration.variables) { line, name in
            line.add("name", text: name)
            guard let value = environment[name] else { return }
            // One that is a secret elsewhere in the file is only said to be set.
            let isSecret = configuration.secrets.contains(value)
            line.add("check", text: isSecret ? "" : ToldVariables.check(of: value, salt: salt))
        }
        let proxies = ToldVariables.proxies(in: environment).sorted { $0.key < $1.key }
        line.add("proxies", objects: proxies) { line, proxy in
            line.add("name", text: proxy.key)
            line.add("value", text: proxy.value)
        }
    }

    private func loaded(_ version: String, _ warnings: [String]) -> AdminAnswer {
        let file = rulesFile()
        return AdminAnswer { line in
            if let file { line.add("file", text: file) }
            line.add("version", text: version)
            line.add("warnings", list: warnings.map(clean))
        }
    }

    private func clean(_ text: String) -> String { shared.redactor.cleaned(text) }

    /// How origins fare, as budgets and circuits count it in the last `window` milliseconds.
    private func origins(
        _ request: AdminRequest,
        _ loop: EventLoop
    ) throws(AdminAnswer) -> AdminAnswer {
        let window = Duration.milliseconds(try request.count("window") ?? 10_000)
        let all = shared.health.figures(window: window, now: loop.now)
        let notes = [
            ("uncompressed", shared.compressionRefusals), ("logins", shared.connectionLogins),
        ].map { (key: $0, origins: $1.all(now: loop.now)) }
        let redactor = shared.redactor
        func text(_ origin: Origin) -> String {
            redactor.cleaned("\(origin.scheme.name)://\(origin.hostAndPort)")
        }
        return AdminAnswer { line in
            for note in notes {
                line.add(note.key, objects: note.origins) { line, entry in
                    line.add("origin", text: text(entry.origin))
                    line.add("rest", entry.rest / 1000)
                }
            }
            line.add("origins", objects: all) { line, entry in
                let (origin, figures) = entry
                line.add("origin", text: text(origin))
                line.add("failures", UInt64(figures.failuresInRow))
                line.add("retried", figures.hasFailedRetry)
                if let since = figures.sinceFailure { line.add("ago", since / 1000) }
                line.add("requests", UInt64(figures.requests))
                line.add("retries", UInt64(figures.retries))
            }
        }
    }

    /// The clients that refused lupin's certificate, and for how long rules are bypassed for them.
    private func bypasses(_ loop: EventLoop) -> AdminAnswer {
        let all = shared.rejections.all(now: loop.now)
        let redactor = shared.redactor
        return AdminAnswer { line in
            line.openList("bypasses")
            for (key, bypass) in all {
                let target = redactor.cleaned(key.origin.hostAndPort)
                line.add(bypass, of: key.who.name(redactor, own: SystemUsers.own), at: target)
            }
            line.closeList()
        }
    }

    private func clearBypasses() -> AdminAnswer {
        shared.rejections.clear()
        return AdminAnswer { $0.add("cleared", true) }
    }

    // MARK: Figures

    /// The counts of all workers, and those of the exchanges under way.
    func figures() async -> (tally: Tally, live: LiveFigures) {
        var tally = Tally()
        var live = LiveFigures()
        for worker in workers {
            tally.add(await worker.tally())
            live.add(await worker.liveFigures())
        }
        return (tally, live)
    }

    private func status(_ request: AdminRequest, _ loop: EventLoop) async -> AdminAnswer {
        let (tally, live) = await figures()
        let snapshot = shared.snapshot
        return AdminAnswer { line in
            line.add("version", text: about.version)
            line.add("pid", UInt64(max(0, ProcessOwner.processNumber)))
            line.add("uptime", milliseconds: Int64(clamping: loop.clock.now() &- begun))
            line.add("listeners", list: snapshot.listeners.map(\.description))
            if let first = snapshot.openListeners.first { line.add("proxy", text: first.proxyURL) }
            line.openObject("rules")
            if let file = rulesFile() { line.add("file", text: file) }
            line.add("version", text: snapshot.version)
            let errors = refusedBecause()
            // They quote the file.
            if !errors.isEmpty, request.entry.isOwner {
                line.add("refused", list: errors.map(clean))
            }
            line.closeObject()
            line.add("connections", UInt64(max(0, shared.connections.count)))
            line.add("live", UInt64(live.count))
            line.openObject("waiting")
            for phase in LiveExchange.Wait.allCases {
                if let count = live.waiting[phase] { line.add(phase.rawValue, UInt64(count)) }
            }
            line.closeObject()
            line.openObject("exchanges")
            for outcome in ExchangeRecord.Outcome.allCases {
                line.add(outcome.rawValue, UInt64(tally.exchanges(outcome)))
            }
            line.closeObject()
            line.add("attempts", UInt64(tally.attempts + live.attempts))
            line.openObject("bytes")
            for (name, count) in tally.directions { line.add(name, count) }
            line.closeObject()
            line.add("dropped", UInt64(shared.records.dropped))
            line.openObject("reloads")
            line.add("loaded", UInt64(shared.reloads.loaded))
            line.add("rejected", UInt64(shared.reloads.rejected))
            line.closeObject()
            line.add("bypasses", UInt64(shared.rejections.all(now: loop.now).count))
            let (used, limit) = shared.replayRoom.disk.state
            line.openObject("replay_disk")
            line.add("bytes", UInt64(max(0, used)))
            line.add("limit", UInt64(max(0, limit)))
            line.closeObject()
            line.openObject("history")
            line.add("kept", UInt64(shared.history.count))
            line.add("limit", UInt64(shared.history.limit))
            line.closeObject()
        }
    }
}

extension JSONLine {
    /// Appends a bypass to the open list.
    fileprivate mutating func add(
        _ bypass: BypassRecord,
        of client: String,
        at target: String
    ) {
        var timestamp = TimestampText()
        openObject()
        add("client", text: client)
        add("host", text: target)
        add("reason", literal: BypassRecord.reason)
        for (key, time) in [
            ("since", bypass.sinceMicroseconds), ("until", bypass.untilMicroseconds),
        ] {
            var text: [UInt8] = []
            timestamp.append(date: time, to: &text)
            add(key, text: text.span)
        }
        add("because", text: bypass.cause)
        closeObject()
    }
}

extension ExchangeID {
    /// Parses the 32 hex digits of `text`.
    init?(text: Substring) {
        guard text.utf8.count == 32,
            let high = NumberReader.hexadecimal(text.prefix(16)),
            let low = NumberReader.hexadecimal(text.dropFirst(16))
        else { return nil }
        self.init(high: high, low: low)
    }
}
