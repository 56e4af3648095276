// How a running proxy adopts another configuration: all of it, or nothing.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream

extension Control {
    /// Uses `configuration` for new exchanges; those under way keep the one that they began with.
    ///
    /// Everything that can fail comes first, so that a failure changes nothing: binding listeners,
    /// reading certificates and password files, opening the log.
    func adopt(_ configuration: Configuration) async throws(ReloadFailure) {
        let former = shared.snapshot
        let fixed = configuration.restartDemands(after: former.configuration)
        guard fixed.isEmpty else { throw ReloadFailure(fixed) }
        let unclaimed = surroundings.maker.passed.problems(
            configuration.settings,
            environment: surroundings.environment
        )
        guard unclaimed.isEmpty else {
            throw ReloadFailure(unclaimed.map { configuration.located($0, at: "listen") })
        }
        let made: ListenerMaker.Listeners
        do throws(Proxy.StartFailure) {
            made = try surroundings.maker.listeners(
                for: configuration.settings.listeners,
                keeping: shared.listeners
            )
        } catch {
            throw ReloadFailure([configuration.located(error.message, at: "listen")])
        }
        let snapshot: Snapshot
        do throws(ReloadFailure) {
            snapshot = try self.snapshot(configuration, after: former, made.all)
            try prepareLog(of: configuration, after: former)
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
            throw ReloadFailure([configuration.located(error.message, at: "intercept.ca")])
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
        of configuration: Configuration,
        after former: Snapshot
    ) throws(ReloadFailure) {
        let log = configuration.settings.log
        guard case .file(let path) = log.to, log.to != former.settings.log.to else { return }
        do throws(SystemError) {
            try RecordWriter.probe(log)
        } catch {
            let reason = AppendFile.reason(error, of: path)
            let sentence = "cannot write records to \(path): \(reason)"
            throw ReloadFailure([configuration.located(sentence, at: "log.to")])
        }
    }
}
