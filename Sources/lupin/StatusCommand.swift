// `lupin status`: prints the status of a running lupin.
import ArgumentParser
import LupinCore
import LupinRecords

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of the running lupin.",
        discussion: """
            Prints where it listens, which rules are in force and whether a newer file was \
            refused, and counts since its start.

              lupin status
              lupin status --json | jq .rules.version

            Exit codes: 0 it answered, 1 no lupin answers.
            """
    )

    @Flag(help: "Print the answer in JSON.")
    var json = false

    @OptionGroup var admin: AdminOptions

    func run() throws {
        try admin.ask("GET", "/v1/status") { [json] reply in
            reply.tell(asJSON: json, as: RunningStatus.self) { StandardOutput.print($0.text) }
        }
    }
}

/// The response of `/v1/status`.
struct RunningStatus: Decodable {
    struct Rules: Decodable {
        var file: String?
        var version: String
        /// Why the file as it is now was refused; nil when the rules in force are its.
        var refused: [String]?
    }

    struct Reloads: Decodable {
        var loaded: Int
        var rejected: Int
    }

    struct Share: Decodable {
        var bytes: Int
        var limit: Int
    }

    var version: String
    var pid: Int
    /// Milliseconds.
    var uptime: Double
    var listeners: [String]
    /// The address of the first listener, in the form of proxy variables.
    var proxy: String
    var rules: Rules
    var connections: Int
    var live: Int
    /// How many of these wait for what; nil from an older lupin.
    var waiting: [String: Int]?
    var bypasses: Int
    var exchanges: [String: Int]
    var attempts: Int
    var dropped: Int
    var reloads: Reloads
    /// Bodies that are kept on disk for another attempt; nil from an older lupin.
    var replayDisk: Share?

    enum CodingKeys: String, CodingKey {
        case version, pid, uptime, listeners, proxy, rules, connections, live, waiting, bypasses
        case exchanges, attempts, dropped, reloads
        case replayDisk = "replay_disk"
    }

    /// The lines for users.
    var text: String {
        let file = rules.file.map { "from \($0)" } ?? "without a file"
        let total = exchanges.values.reduce(0, +)
        let kinds = ["ok", "error", "denied", "aborted", "truncated"]
        let parts = kinds.compactMap { kind in
            exchanges[kind].flatMap { $0 > 0 ? "\($0) \(kind)" : nil }
        }
        var lines = [
            "lupin \(version), pid \(pid), up \(Self.time(uptime))",
            "listens on \(listeners.joined(separator: " and "))",
            "rules \(rules.version) \(file); reloads: \(reloads.loaded) taken, "
                + "\(reloads.rejected) refused",
            "\(Self.count(connections, "client connection")), "
                + "\(Self.count(live, "exchange")) under way\(waits)",
            "\(Self.count(total, "exchange")) so far"
                + (parts.isEmpty ? "" : ": \(parts.joined(separator: ", "))")
                + "; \(Self.count(attempts, "attempt")) upstream",
        ]
        if let error = rules.refused?.first?.split(separator: "\n").first {
            lines.append("the file has changed and was refused (see lupin check): \(error)")
        }
        if bypasses > 0 {
            lines.append(
                "\(Self.count(bypasses, "bypass", "bypasses")) of rules: clients refused the "
                    + "certificate (lupin explain URL tells which)"
            )
        }
        if let replayDisk, replayDisk.bytes > 0 {
            lines.append(
                "\(Self.size(replayDisk.bytes)) of \(Self.size(replayDisk.limit)) on disk for "
                    + "bodies that may be sent again (limits.replay_disk)"
            )
        }
        if dropped > 0 { lines.append("\(Self.count(dropped, "line")) of the log lost") }
        return lines.joined(separator: "\n")
    }

    /// `, waiting for the response head (2), the next attempt (1)`: the most first.
    private var waits: String {
        let sorted = (waiting ?? [:]).sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let texts = sorted.map { "the \(LogText.plain(LiveLine.words(of: $0.key))) (\($0.value))" }
        return texts.isEmpty ? "" : ", waiting for \(texts.joined(separator: ", "))"
    }

    private static func size(_ bytes: Int) -> String { SummaryText.size(UInt64(max(0, bytes))) }

    private static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? "\(noun)s")"
    }

    /// `2d 3h`, `3h 5m`, `5m 7s` or `7s`.
    static func time(_ milliseconds: Double) -> String {
        // Bounded: clamped to a trillion.
        let seconds = Int(min(max(0, milliseconds / 1000), 1e12))
        let units = [(86400, "d"), (3600, "h"), (60, "m"), (1, "s")]
        guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0s" }
        var rest = seconds
        var parts: [String] = []
        for (size, name) in units[first...].prefix(2) {
            if parts.isEmpty || rest >= size { parts.append("\(rest / size)\(name)") }
            rest %= size
        }
        return parts.joined(separator: " ")
    }
}
