// What is captured at all: hosts that were asked for, until lupin ends or an inspector is gone.
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore

extension InspectorRoutes {
    private static let hostsMax = 64

    /// What is captured at all.
    func captured() async throws(AdminAnswer) -> AdminAnswer { try await tell(deleted: nil) }

    /// Captures other hosts from now on.
    func setCaptured(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer {
        let hosts = try hosts(in: request.json())
        try await change { () async throws(ReloadFailure) in try await admin.capture(hosts) }
        return try await tell(deleted: nil)
    }

    /// Deletes what was captured.
    func clearCaptured(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer {
        try await tell(deleted: delete(by: request))
    }

    private func tell(deleted: Int?) async throws(AdminAnswer) -> AdminAnswer {
        let settings = shared.captures.settings
        var size: (exchanges: Int, bytes: Int) = (0, 0)
        if shared.captures.mayHaveExchanges {
            size = try await read { file throws(DiskProblem) in try file.size() }
        }
        return AdminAnswer { line in
            if let deleted { line.add("deleted", UInt64(max(0, deleted))) }
            line.add("hosts", list: shared.captures.hosts)
            line.add("holds", objects: admin.holds()) { add($1, to: &$0) }
            line.add("bodies", UInt64(settings.bodyBytes))
            line.add("keep", UInt64(max(0, settings.keep.components.seconds)))
            line.add("disk", UInt64(settings.diskBytes))
            line.add("exchanges", UInt64(max(0, size.exchanges)))
            line.add("bytes", UInt64(max(0, size.bytes)))
            if let folder = shared.captures.folder { line.add("folder", text: folder) }
        }
    }

    /// Begins, renews or ends the hold of an inspector.
    func hold(
        _ name: Substring,
        _ request: AdminRequest
    ) async throws(AdminAnswer) -> AdminAnswer {
        guard CaptureHolds.isName(name) else {
            let sentence = "name a hold by at most \(CaptureHolds.nameBytesMax) of A-Z a-z 0-9 -"
            throw AdminAnswer(400, sentence: sentence)
        }
        let hosts = request.method == .put ? try hosts(in: request.json()) : nil
        try await change { () async throws(ReloadFailure) in
            try await admin.hold(String(name), hosts)
        }
        return AdminAnswer { line in
            line.add("holds", objects: admin.holds()) { add($1, to: &$0) }
        }
    }

    private func add(_ hold: CaptureHolds.Hold, to line: inout JSONLine) {
        let left = hold.end > loop.now ? hold.end - loop.now : 0
        line.add("name", text: hold.name)
        line.add("hosts", list: hold.hosts)
        line.add("seconds", left / 1_000_000)
    }

    private func change(
        _ body: () async throws(ReloadFailure) -> Void
    ) async throws(AdminAnswer) {
        do throws(ReloadFailure) {
            try await body()
        } catch {
            throw AdminAnswer(422) { $0.add("errors", list: error.errors) }
        }
    }

    private func hosts(in wish: JSONValue) throws(AdminAnswer) -> [String] {
        guard let hosts = wish["hosts"]?.list?.map(\.string), hosts.count <= Self.hostsMax else {
            throw AdminAnswer(400, sentence: "send {\"hosts\": [\"api.example\"]}")
        }
        var names: [String] = []
        for host in hosts {
            guard let host, (try? HostPattern(host)) != nil else {
                throw AdminAnswer(
                    400,
                    sentence: "\(shared.redactor.cleaned(host ?? "null")) is no host"
                )
            }
            if !names.contains(host) { names.append(host) }
        }
        return names
    }
}
