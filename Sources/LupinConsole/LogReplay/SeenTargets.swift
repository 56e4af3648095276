// Which targets the exchanges of a log used, and how: a table that hostile logs can't blow up.
package import LupinCore
import LupinPolicy
import LupinRecords

/// Why a log gives no allow list: it names too much of something.
package enum SeenProblem: Error, Equatable, Sendable {
    case tooManyTargets
    /// To this `host:port`.
    case tooManyMethods(String)

    /// A sentence for users, without a full stop.
    package var sentence: String {
        switch self {
        case .tooManyTargets:
            "the log has more than \(SeenTargets.targetsMax) targets, too many for a rule each; "
                + "leave some out by a filter or --since"
        case .tooManyMethods(let target):
            "the log has more than \(SeenTargets.methodsMax) methods to \(target); "
                + "leave some out by a filter"
        }
    }
}

/// The targets of exchanges: those that were used, and those that no exchange got through to.
package struct SeenTargets: Sendable {
    /// More targets than this make no list that a person reads; such a log is refused.
    package static let targetsMax = 10_000
    /// More methods than this to one target are no honest traffic; such a log is refused.
    package static let methodsMax = 32
    /// How many programs of one target are named.
    package static let programsMax = 16
    /// Unused targets are listed up to this number, and only counted beyond it.
    package static let unusedMax = 1000

    /// How requests reach a target.
    ///
    /// In the order of a host's rules: one that names a scheme would be hidden by one without.
    package enum Way: UInt8, Sendable, Comparable {
        /// In a CONNECT that lupin did not decrypt.
        case tunnel
        /// By http, without a CONNECT.
        case http
        /// The same for an https URL.
        case https
        /// In a CONNECT that was decrypted.
        case decrypted

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    package struct Target: Hashable, Sendable {
        package var host: Host
        package var port: UInt16
        package var way: Way
    }

    package struct Use: Sendable, Equatable {
        package var count = 0
        /// RFC 3339, as the record has it; empty when none does.
        package var last = ""
        /// Tokens; empty for a tunnel.
        package var methods: Set<String> = []
        package var programs: [String: Int] = [:]
    }

    /// A target that no exchange got through to, and why.
    package struct Unused: Hashable, Sendable {
        package var host: Host
        package var port: UInt16
        package var outcome: RecordedOutcome
        /// From the record, so it may be any text.
        package var reason: String
    }

    package private(set) var uses: [Target: Use] = [:]
    package private(set) var unused: [Unused: Int] = [:]
    /// Exchanges with unused targets that found no room in `unused`.
    package private(set) var unusedElsewhere = 0
    /// Clients on other machines, which a file without `access` doesn't serve.
    package private(set) var foreignClients: Set<IPAddress> = []
    package private(set) var exchanges = 0
    /// Exchanges without a target or a method that a rule can name.
    package private(set) var unnamed = 0
    package private(set) var first = ""
    package private(set) var last = ""

    private static let defaults = AccessPolicy(Settings(), listeners: [])

    package init() {}

    /// Adds an exchange's line of the log.
    package mutating func add(_ record: JSONValue) throws(SeenProblem) {
        exchanges += 1
        let time = Self.time(record)
        if !time.isEmpty {
            first = first.isEmpty ? time : min(first, time)
            last = max(last, time)
        }
        guard let (host, port) = Self.target(record) else {
            unnamed += 1
            return
        }
        noteClient(record)
        let outcome = RecordedOutcome(record)
        guard outcome.gotThrough else {
            return note(
                Unused(host: host, port: port, outcome: outcome, reason: Self.reason(record))
            )
        }
        if let reason = Self.denial(of: host, port) {
            return note(Unused(host: host, port: port, outcome: .refused, reason: reason))
        }
        let program = record[field: .program]?.string
        let way = Self.way(record, outcome)
        var method: String?
        if way != .tunnel {
            guard let token = Self.method(record) else {
                unnamed += 1
                return
            }
            method = token
        }
        let target = Target(host: host, port: port, way: way)
        try add(target, method, program, time)
        if way == .tunnel, let name = record["tunnel", "sni"]?.string.flatMap(Host.init),
            name != host
        {
            try add(Target(host: name, port: port, way: .tunnel), nil, program, time)
        }
        for redirect in record[field: .redirects]?.list ?? [] {
            try follow(redirect, from: way, method, program, time)
        }
    }

    /// Adds the target of a redirect that lupin followed: without that rule the client goes there
    /// itself.
    private mutating func follow(
        _ redirect: JSONValue,
        from way: Way,
        _ method: String?,
        _ program: String?,
        _ time: String
    ) throws(SeenProblem) {
        guard let origin = redirect["location"]?.string.flatMap(HTTPURL.init)?.origin,
            Self.denial(of: origin.host, origin.port) == nil
        else { return }
        let next: Way =
            origin.scheme == .http ? .http : way == .http ? .tunnel : way
        let keepsMethod = [307, 308].contains(redirect["status"]?.count)
        let token = keepsMethod ? method : method == "HEAD" ? method : "GET"
        let target = Target(host: origin.host, port: origin.port, way: next)
        try add(target, next == .tunnel ? nil : token, program, time)
    }

    private mutating func add(
        _ target: Target,
        _ method: String?,
        _ program: String?,
        _ time: String
    ) throws(SeenProblem) {
        if uses[target] == nil, uses.count == Self.targetsMax { throw .tooManyTargets }
        var isTooMuch = false
        // In place: a copy of the sets for each exchange would be most of the work.
        update(&uses[target, default: Use()]) { use in
            use.count += 1
            use.last = max(use.last, time)
            if let method, !use.methods.contains(method) {
                isTooMuch = use.methods.count == Self.methodsMax
                if !isTooMuch { use.methods.insert(method) }
            }
            if let program,
                use.programs[program] != nil || use.programs.count < Self.programsMax
            {
                use.programs[program, default: 0] += 1
            }
        }
        if isTooMuch { throw .tooManyMethods("\(target.host.uriText):\(target.port)") }
    }

    private mutating func note(_ target: Unused) {
        if unused[target] == nil, unused.count == Self.unusedMax {
            unusedElsewhere += 1
        } else {
            unused[target, default: 0] += 1
        }
    }

    private mutating func noteClient(_ record: JSONValue) {
        guard let client = record[field: .clientAddress]?.string.flatMap(IPAddress.init),
            !AccessPolicy.isLocal(client), foreignClients.count < Self.programsMax
        else { return }
        foreignClients.insert(client)
    }
}

private func update<Value>(_ value: inout Value, _ body: (inout Value) -> Void) { body(&value) }

// MARK: Reading a record

extension SeenTargets {
    /// The host and the port; nil unless rules can name them.
    private static func target(_ record: JSONValue) -> (Host, UInt16)? {
        guard let host = record[field: .domain]?.string.flatMap(Host.init) else { return nil }
        let usual: UInt64 = record[field: .scheme]?.string == "http" ? 80 : 443
        guard let port = UInt16(exactly: record[field: .port]?.count ?? usual), port > 0 else {
            return nil
        }
        return (host, port)
    }

    private static func way(_ record: JSONValue, _ outcome: RecordedOutcome) -> Way {
        switch outcome {
        case .tunnelled: .tunnel
        case .decrypted: .decrypted
        // A WebSocket by http may come in a CONNECT or without.
        case _ where record[field: .mode]?.string == "upgrade": .decrypted
        default: record[field: .scheme]?.string == "https" ? .https : .http
        }
    }

    /// The method; nil unless rules can name it.
    private static func method(_ record: JSONValue) -> String? {
        let token = record[field: .originalMethod]?.string ?? record[field: .method]?.string
        guard let token, RuleName.isMethod(token) else { return nil }
        return token
    }

    /// When it began; empty unless that has the only form that lupin writes.
    private static func time(_ record: JSONValue) -> String {
        guard let text = record[field: .timestamp]?.string,
            RecordSummary.microseconds(ofDate: text) != nil
        else { return "" }
        return text
    }

    /// Why no exchange got through.
    private static func reason(_ record: JSONValue) -> String {
        record[field: .errorType]?.string ?? RecordedEnd(record).answer ?? "lupin answered itself"
    }

    /// Why a file without `access` refuses a target by itself; nil when it doesn't.
    private static func denial(of host: Host, _ port: UInt16) -> String? {
        let isDenied =
            defaults.denial(ofName: host) != nil
            || host.address.flatMap { address in
                defaults.denial(
                    of: address,
                    port: port,
                    host: host,
                    client: .v4(0x7F00_0001),
                    isHostFromFile: false
                )
            } != nil
        return isDenied ? "the default of access.deny_targets forbids it" : nil
    }
}
