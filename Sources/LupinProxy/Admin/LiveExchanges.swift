// The exchanges under way, and their description for the admin interface.
import LupinCore
import LupinIO
import LupinRecords
import LupinUpstream

/// The exchanges under way on one worker; confined to its loop.
///
/// Every exchange pays for adding and removing, so look-ups search all.
final class LiveExchanges {
    private let roster = IndexedSet<Exchange>()

    func add(_ exchange: Exchange) { roster.add(exchange) }
    func remove(_ exchange: Exchange) { _ = roster.remove(exchange) }

    var count: Int { roster.count }

    /// Whether an exchange without a task is under way.
    var holdsTaskless: Bool { all.contains { $0.isTaskless } }

    /// The exchange with this ID.
    func find(_ id: ExchangeID) -> Exchange? { all.first { $0.record.id == id } }

    /// All of them, in no order.
    var all: [Exchange] { roster.all }
}

/// The description of an exchange under way, with secrets as placeholders.
package struct LiveExchange: Sendable {
    let id: ExchangeID
    let startMicroseconds: Int64
    let elapsedMicroseconds: Int64
    let summary: RecordSummary
    /// What the exchange waits for.
    let wait: Wait
    let mode: ExchangeRecord.Mode
    let client: ClientRecord
    let version: String
    let attempts: Int
    /// Bytes on the client's connection so far.
    let bytes: (clientIn: UInt64, clientOut: UInt64)
}

extension LiveExchange {
    /// What an exchange waits for, as `waits_for` tells it; it reads well behind "for the".
    package enum Wait: String, Sendable, CaseIterable {
        case request
        /// The check of the client's password.
        case passwordCheck = "password_check"
        /// The look-up of the user that the client runs as.
        case clientUser = "user_of_the_client"
        case tokenCommand = "token_command"
        case tokenServer = "token_server"
        case secretFile = "secret_file"
        /// What an adapter or a retrier of an embedding program decides.
        case program = "embedding_program"
        /// The delay that a rule demands.
        case delay = "delay_of_a_rule"
        /// The rate that a rule allows, in either direction.
        case throttle = "throttle_of_a_rule"
        /// The end of the pause before a retry.
        case nextAttempt = "next_attempt"
        /// The end of a pause that the origin asked for.
        case retryAfter = "end_of_retry-after"
        case network
        /// The response to an identical request that came before.
        case otherFetch = "fetch_of_another_request"
        case otherMachine = "fetch_of_another_machine"
        case sharedStore = "shared_store"
        case disk
        /// The thread that edits and compresses bodies and looks for the files of rules.
        case bodyThread = "thread_for_bodies"
        case connection
        case requestBody = "request_body"
        case responseHead = "response_head"
        case responseBody = "response_body"
        case tunnelEnd = "tunnel_end"
    }

    /// Appends it to the open list, or as the only object.
    func add(to line: inout JSONLine) {
        line.openObject()
        line.add("id", literal: id.text)
        var time: [UInt8] = []
        var timestamp = TimestampText()
        timestamp.append(date: startMicroseconds, to: &time)
        line.add("ts", text: time.span)
        line.add("elapsed", milliseconds: elapsedMicroseconds)
        line.add("mode", literal: mode.rawValue)
        line.add("waits_for", literal: wait.rawValue)
        line.openObject("client")
        if let address = client.address { line.add("address", text: address.text) }
        line.add("port", UInt64(client.port))
        if let program = client.program { line.add("program", text: program) }
        if let user = client.user { line.add("user", text: user) }
        line.closeObject()
        if !summary.method.isEmpty { line.add("method", text: summary.method) }
        if !summary.url.isEmpty { line.add("url", text: summary.url) }
        if !summary.host.isEmpty { line.add("host", text: summary.host) }
        line.openObject("rules")
        line.add("version", text: version)
        line.add("matched", list: summary.rules)
        line.closeObject()
        line.add("attempts", UInt64(attempts))
        line.openObject("bytes")
        line.add("client_in", bytes.clientIn)
        line.add("client_out", bytes.clientOut)
        line.closeObject()
        line.closeObject()
    }
}

/// What the exchanges under way wait for, and how often they were sent.
struct LiveFigures: Sendable {
    private(set) var waiting: [LiveExchange.Wait: Int] = [:]
    /// Attempts that have ended, and those that run.
    private(set) var attempts = 0

    /// How many are under way.
    var count: Int { waiting.values.reduce(0, +) }

    mutating func note(_ wait: LiveExchange.Wait, attempts: Int) {
        waiting[wait, default: 0] += 1
        self.attempts += attempts
    }

    mutating func add(_ other: LiveFigures) {
        waiting.merge(other.waiting, uniquingKeysWith: +)
        attempts += other.attempts
    }
}

extension WorkerResources {
    /// The figures of the exchanges under way.
    func liveFigures() -> LiveFigures {
        var figures = LiveFigures()
        for exchange in live.all { figures.note(exchange.wait, attempts: exchange.attemptsBegun) }
        return figures
    }

    /// The descriptions of the exchanges under way.
    func liveExchanges() -> [LiveExchange] {
        let redactor = redactor
        return live.all.map { exchange in
            // Most members of a record are filled in at the end only.
            var record = exchange.record
            if exchange.hasRequest { record.request = exchange.request }
            var client = record.client
            client.address = exchange.client.address
            client.port = exchange.client.port
            client.program = exchange.client.program.map { redactor.cleaned($0) }
            client.user = exchange.client.user.map { redactor.cleaned($0) }
            return LiveExchange(
                id: record.id,
                startMicroseconds: record.startMicroseconds,
                elapsedMicroseconds: max(0, wallNow - record.startMicroseconds),
                summary: RecordSummary(record, dropped: 0, redactor: redactor),
                wait: exchange.wait,
                mode: record.mode,
                client: client,
                version: exchange.snapshot.version,
                attempts: exchange.attemptsBegun,
                bytes: exchange.clientBytes
            )
        }
    }
}

extension Exchange {
    /// The attempts, with the one that runs, which is noted at its end or with its response.
    fileprivate var attemptsBegun: Int {
        let runs = upstream != nil && download == nil && record.tunnel == nil
        return attempts.count + (runs ? 1 : 0)
    }

    /// What the exchange waits for now.
    fileprivate var wait: LiveExchange.Wait {
        if throttleDeadline < .max { return .throttle }
        if record.tunnel != nil { return .tunnelEnd }
        if !hasRequest { return .request }
        if let awaited { return awaited }
        if download != nil { return .responseBody }
        switch course.phase {
        case .asking: return .sharedStore
        case .arrived, .matched, .tunnelling, .answering, .lookingUp, .preparing,
            .connecting, .awaiting, .broken, .obtained, .delivering, .relaying, .finishing, .failed,
            .targetInside, .over:
            guard upstream != nil else { return .connection }
            return isUploadDone ? .responseHead : .requestBody
        }
    }
}
