// How a running proxy adopts another configuration: all of it, or nothing.
import LupinCore
import LupinIO
import LupinTLS
import LupinUpstream

extension Control {
    /// Uses `configuration` for new exchanges; those under way keep the one that they began with.
    ///
    /// Everything that can fail comes first, so that a failure changes nothing: binding listeners,
    /// reading certificates and password files, opening the log.
    func adopt(_ configuration: Configuration) async throws(ReloadFailure) {
        let former = shared.snapshot
        let fixed = Self.restartDemands(former.settings, configuration.settings)
        guard fixed.isEmpty else { throw ReloadFailure(fixed) }
        let unclaimed = surroundings.maker.passed.problems(
            configuration.settings,
            environment: surroundings.environment
        )
        guard unclaimed.isEmpty else { throw ReloadFailure(unclaimed) }
        let made: ListenerMaker.Listeners
        do throws(Proxy.StartFailure) {
            made = try surroundings.maker.listeners(
                for: configuration.settings.listeners,
                keeping: shared.listeners
            )
        } catch {
            throw ReloadFailure([error.message])
        }
        let snapshot: Snapshot
        do throws(ReloadFailure) {
            snapshot = try self.snapshot(configuration, after: former, made.all)
            try prepareLog(configuration.settings.log, former.settings.log)
        } catch {
            for socket in made.added { socket.close() }
            throw error
        }
        shared.adopt(snapshot, made.all)
        // Other rules may intercept other hosts, and the user who reloads may have fixed the cause.
        shared.rejections.clear()
        for worker in workers { await worker.adopt(snapshot, made.all) }
        // No worker watches them any more.
        for socket in made.removed { socket.close() }
        shared.records.change(to: configuration.settings.log)
        exporter?.adopt(snapshot)
    }

    /// The settings that cannot change while lupin runs, one sentence each.
    static func restartDemands(_ old: Settings, _ new: Settings) -> [String] {
        SettingsTable.settings.filter { $0.demandsRestart?(old, new) ?? false }
            .map { "a change of \($0.name) needs a restart" }
    }

    private func snapshot(
        _ configuration: Configuration,
        after former: Snapshot,
        _ listeners: [OpenListener]
    ) throws(ReloadFailure) -> Snapshot {
        let settings = configuration.settings
        var issuer = former.issuer
        if settings.intercept.authority != former.settings.intercept.authority {
            issuer = LeafIssuer(
                settings.intercept.authority,
                surroundings.environment,
                logger: shared.logger
            )
        }
        do throws(Proxy.StartFailure) {
            try Proxy.prepare(issuer, for: configuration)
        } catch {
            throw ReloadFailure([error.message])
        }
        return Snapshot(
            configuration.hiding(shared.standIns),
            after: former,
            listeners: listeners.map(\.socket.address),
            besides: [inspectorAddress].compactMap(\.self),
            issuer: issuer,
            digest: surroundings.digest,
            // Read again on first use: the system's store may have changed.
            anchors: SharedAnchors(settings.upstream.tls.roots, surroundings.environment),
            environment: surroundings.environment,
            logsSecrets: surroundings.logsSecrets
        )
    }

    private func prepareLog(
        _ log: LogSettings,
        _ former: LogSettings
    ) throws(ReloadFailure) {
        guard case .file(let path) = log.to, log.to != former.to else { return }
        do throws(SystemError) {
            try RecordWriter.probe(log)
        } catch {
            throw ReloadFailure(["cannot write records to \(path): \(error.message)"])
        }
    }
}
