// The state that crosses threads; no other state does.

import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire
import Synchronization

/// What all workers share.
///
/// Each part has one owner type, and only these types may hold a lock: `Shared` (the current
/// snapshot and listeners), `ListenerMarks` (all listening sockets), `RecordWriter` (the bounded
/// queue of record lines), `ReplayMemory`, `ReplayDisk` and `ConnectionCounter` (counts),
/// `ResolverThreads` (name look-ups), `ProcessLookup` with `RecentTables` and `SocketDiagnosis`
/// (programs and users of clients), `LeafIssuer` with `LeafCertificates` (the CA and its leaves),
/// `TicketKeys` (keys that seal the session tickets of TLS clients), `ClientRejections` (clients
/// that refused a leaf), `TicketStore` (session tickets of origins), `ShownChains` (certificates
/// that they showed), `OriginSecurities` and `SharedAnchors` (TLS contexts for origins),
/// `RevocationStore` (revocation states), `Authenticator` (users, passwords that wait for a check
/// and those that passed), `TokenStore`
/// (credentials, the exchanges that wait for them and challenges), `TaintedSecrets` (secrets that
/// no log may hold), `ThrottleBuckets` (rates that rules limit), `NotedOrigins` (what was
/// learnt of origins by their responses), `ParentCredentials` (challenges of parent proxies),
/// `CookieJars` (cookies that servers set), `ExchangeHistory` (the exchanges that ended last),
/// `CaptureQueue` with `CaptureWriter` and `CaptureFile` (captured exchanges), `TapeDeck` (what was
/// played of a tape), `OriginHealths` (the health of origins, for retries), `ResponseStore` with
/// `Flight` and `GrowingBody` (stored responses, and those on their way), `DiskTier` with
/// `DiskStore` and `DiskTally` (the part of them that lies on disk), `SharedTier` with
/// `SharedDropping` and `NodeHealth` (the part that machines share, and which servers are left
/// alone), `TelemetryQueue` (exchanges that wait for their export), `DiagnosticsMask` (what to hide
/// in lupin's own diagnostics), `FakeIPPool` and `Redirected` (the names that a confined command
/// asked for, and who connected past the proxy), `ConnectWatch` with `BoundSockets` (the
/// connections of a confined command, which threads of their own make), `Branch` (what it prints to
/// files, which a thread of its own writes).
final class Shared: Sendable {
    let clock: LoopClock
    let logger: Logger
    /// Whether records on a terminal may be coloured.
    let allowsColour: Bool
    let records: RecordWriter
    let resolver: ResolverThreads
    let processes: ProcessLookup
    let connections = ConnectionCounter()
    /// Where request bodies are kept that may be sent again.
    let replayRoom: ReplayRoom
    let health = OriginHealths()
    let responses: ResponseStore
    let history: ExchangeHistory
    let captures: CaptureQueue
    let telemetry = TelemetryQueue()
    let reloads = ReloadCounter()
    let rejections = ClientRejections()
    /// What is known of servers.
    let servers = KnownServers()
    let throttles = ThrottleBuckets()
    /// Those that refused compressed bodies.
    let compressionRefusals = NotedOrigins()
    /// Those that ask clients whose TLS lupin ends for a login to the connection.
    let connectionLogins = NotedOrigins()
    /// Limits the warning that no descriptor is left.
    let shortage = WarningPause()
    let cookieJars: CookieJars
    let secrets = TaintedSecrets()
    let tokens: TokenStore
    /// The thread that runs credential programs and writes rotated tokens.
    let tokenThread: HelperThread
    /// Reads the files of `respond` and edits bodies.
    let bodyThread: HelperThread
    /// The environment variables of the process.
    let environment: [String: String]
    /// The folders in which this user's lupin processes find each other; empty if they can't.
    let siblingFolders: [String]
    /// Whether it asks other lupins and answers them; not in most tests.
    let hasSiblings: Bool
    /// Whether a loop may read these folders itself: all of them lie on a local disk.
    let isSiblingFolderNear: Bool
    /// The listening sockets of this process, as its siblings find them.
    let marks: ListenerMarks
    /// Another process may accept from the same sockets when this one stops: a client that has just
    /// connected must not notice.
    let hasSuccessor: Bool
    /// The embedding program's interceptor of every request; nil when there is none.
    let interceptor: (any RequestInterceptor & Sendable)?
    /// The tape that everything is answered from; nil when there is a network.
    let tape: TapeDeck?
    /// The stand-ins that clients have for credentials.
    let standIns: StandIns
    /// nil where every client knows that it talks to a proxy.
    let redirected: Redirected?
    /// Whether there are any; asked for every request.
    let hasStandIns: Bool
    /// Whether there is one; asked for every request, and cheaper than a look at it.
    let hasInterceptor: Bool
    /// The embedding program's handler of redirects that rules follow.
    let redirectHandler: (any RedirectHandler & Sendable)?
    /// The embedding program's handler of responses that rules store.
    let cachedResponseHandler: (any CachedResponseHandler & Sendable)?
    /// The embedding program's monitors of exchanges.
    let eventMonitors: [any EventMonitor]
    /// Our name in Via: `lupin-` and 8 hex digits that differ at every start, so that two lupins in
    /// a row are not taken for a loop.
    var pseudonym: String { via.pseudonym }
    let networkNames: NetworkNames
    /// The name of this process in the sibling folders.
    let siblingName: String
    /// That name as a member of Via.
    let via: ViaMembers
    private struct Current {
        var snapshot: Snapshot
        var listeners: [OpenListener]
    }
    private let current: Mutex<Current>

    init(
        snapshot: Snapshot,
        listeners: [OpenListener],
        clock: LoopClock,
        logger: Logger,
        allowsColour: Bool,
        records: RecordWriter,
        resolver: ResolverThreads,
        processes: ProcessLookup,
        threads: HelperThreads,
        environment: [String: String],
        siblingFolders: [String]?,
        hasSuccessor: Bool,
        hooks: Hooks
    ) {
        self.hasSuccessor = hasSuccessor
        tape = hooks.tape
        standIns = hooks.standIns
        redirected = hooks.redirected
        hasStandIns = !hooks.standIns.isEmpty
        self.siblingFolders = siblingFolders ?? []
        hasSiblings = siblingFolders != nil
        isSiblingFolderNear = self.siblingFolders.allSatisfy(LocalSocket.isOnLocalDisk)
        self.clock = clock
        self.logger = logger
        self.allowsColour = allowsColour
        self.records = records
        self.resolver = resolver
        self.processes = processes
        tokenThread = threads.tokens
        bodyThread = threads.bodies
        self.environment = environment
        interceptor = hooks.interceptor
        hasInterceptor = hooks.interceptor != nil
        redirectHandler = hooks.redirectHandler
        cachedResponseHandler = hooks.cachedResponseHandler
        eventMonitors = hooks.eventMonitors
        responses = ResponseStore(bytesMax: snapshot.settings.cacheStore.memoryBytes)
        responses.adopt(snapshot.settings.cacheStore, environment, logger)
        cookieJars = CookieJars(on: threads.tokens, secrets: secrets, logger: logger)
        tokens = TokenStore(secrets: secrets)
        tokens.adopt(Array(snapshot.tokens.values))
        history = ExchangeHistory(snapshot.settings.admin)
        captures = CaptureQueue(
            snapshot.captureSurroundings(snapshot.redactor),
            environment,
            logger
        )
        replayRoom = ReplayRoom(
            memory: ReplayMemory(bytesMax: snapshot.limits.replayMemoryBytes),
            disk: ReplayDisk(bytesMax: snapshot.limits.replayDiskBytes),
            folder: SpillFile.folder(environment)
        )
        via = ViaMembers(pseudonym: Self.newPseudonym())
        siblingName = SiblingFolder.name(
            of: via.pseudonym,
            rulesFile: snapshot.configuration.fileName,
            environment: environment
        )
        networkNames = NetworkNames(of: via.pseudonym, in: self.siblingFolders)
        marks = ListenerMarks(
            of: siblingName,
            hasSiblings ? networkNames : nil,
            in: self.siblingFolders,
            isFolderNear: isSiblingFolderNear,
            logger
        )
        marks.set(listeners.map(\.socket))
        current = Mutex(Current(snapshot: snapshot, listeners: listeners))
    }

    private static func newPseudonym() -> String {
        let random = RandomSource.bytes(count: 4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return "lupin-" + String(random | 1 << 32, radix: 16).dropFirst()
    }

    /// The snapshot that new exchanges begin with.
    var snapshot: Snapshot { current.withLock { $0.snapshot } }

    /// The listeners that are open.
    var listeners: [OpenListener] { current.withLock { $0.listeners } }

    /// Replaces snapshot and listeners; workers adopt them when they are notified.
    func adopt(_ snapshot: Snapshot, _ listeners: [OpenListener]) {
        marks.set(listeners.map(\.socket))
        current.withLock { $0 = Current(snapshot: snapshot, listeners: listeners) }
        replayRoom.memory.limit(snapshot.limits.replayMemoryBytes)
        replayRoom.disk.limit(snapshot.limits.replayDiskBytes)
        informCapture()
        responses.adopt(snapshot.settings.cacheStore, environment, logger)
        tokens.adopt(Array(snapshot.tokens.values))
    }

    /// Redacts secrets in all output for the whole proxy, including secrets that came up at run
    /// time.
    var redactor: Redactor { secrets.redactor(of: snapshot) }

    /// Tells the capture of the secrets and limits that hold now.
    func informCapture() {
        captures.adopt(snapshot.captureSurroundings(redactor))
    }

    /// The style of records under these settings.
    func recordStyle(_ log: LogSettings) -> RecordStyle {
        RecordStyle(
            log,
            allowsColour: allowsColour,
            columns: nil,
            utcOffsetSeconds: Terminal.utcOffsetSeconds(at: SystemCall.wallMicroseconds())
        )
    }
}

/// Settings and rules with values derived from them, immutable; an exchange keeps the snapshot that
/// it began with.
final class Snapshot: Sendable {
    let configuration: Configuration
    let access: AccessPolicy
    let redactor: Redactor
    // Values that every request or connection reads are stored apart: reading them out of the whole
    // settings would copy several arrays.
    let timeouts: LoopTimeouts
    let limits: Limits
    let rules: RuleSet
    /// Whether no rule takes the host of lupin's own page away.
    let leavesSetupHost: Bool
    /// Whether there is at least one rule.
    let hasRules: Bool
    /// Whether attempts are counted, for the budget or circuit of some rule.
    let countsAttempts: Bool
    /// Whether paths and methods are refused that servers read in different ways.
    let judgesTargets: Bool
    /// `Configuration.version`, written to records.
    let version: String
    /// The field names and values that records hold.
    let headers: LogSettings.Headers
    /// The log level where no rule sets one.
    let logLevel: LogSettings.Level
    /// Whether a rule or the log uses the client's program.
    let needsProgram: Bool
    /// An origin under TLS is refused unless a rule sets which CA to trust.
    let demandsTrustRule: Bool
    /// Whether names inside tunnels are judged.
    let judgesNames: Bool
    /// The tokens of the rules file by name.
    let tokens: [String: TokenDefinition]
    /// The users that may use rules that hold secrets.
    let credentialUsers: CredentialUsers
    /// The client certificate for origins where no rule sets one.
    let clientCertificate: CertificateFiles?
    /// Whether there is one; asked for every request, and cheaper than a look at it.
    let hasClientCertificate: Bool
    /// What holds for reaching servers.
    let upstream: UpstreamPolicy
    /// No parent proxy is configured, so none is looked up.
    let isDirect: Bool
    /// Whether messages get Via.
    let addsVia: Bool
    /// What is exported; nil where telemetry is off.
    let telemetry: TelemetryPlan?
    /// What is wrong with the variables that telemetry reads, as sentences.
    let telemetryProblems: [String]
    /// The rules' names in metrics.
    let labels: RuleLabels
    /// The addresses this process listens on, with the ports that the kernel chose.
    let listeners: [SocketAddress]
    /// Issues the leaf certificates with which lupin ends TLS of clients.
    let issuer: LeafIssuer
    /// The number of this snapshot within the run.
    let number: Int
    /// The secrets that the redactor knows: those of this configuration and of former ones, since
    /// exchanges that began with a former one may end now.
    let secrets: [String]

    /// The listeners as they are set up, with the ports that the kernel chose.
    var openListeners: [ListenerSettings] {
        zip(listeners, settings.listeners).map { address, settings in
            var listener = settings
            listener.address = address.address
            listener.port = address.port
            return listener
        }
    }

    /// How many secrets of former configurations are remembered.
    private static let secretsMax = 4096

    init(
        _ configuration: Configuration,
        after former: Snapshot? = nil,
        listeners: [SocketAddress],
        besides inspectors: [SocketAddress] = [],
        issuer: LeafIssuer,
        digest: KeyedDigest,
        anchors: SharedAnchors,
        environment: [String: String],
        logsSecrets: Bool
    ) {
        self.configuration = configuration
        tokens = Dictionary(
            configuration.settings.tokens.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        self.issuer = issuer
        number = (former?.number ?? 0) + 1
        var secrets = configuration.secrets
        let own = Set(secrets)
        let others = (former?.secrets ?? []).filter { !own.contains($0) }
        secrets += others.prefix(max(0, Self.secretsMax - secrets.count))
        self.secrets = secrets
        credentialUsers = CredentialUsers(configuration.settings.access.credentials)
        clientCertificate = configuration.settings.upstream.tls.clientCertificate
        hasClientCertificate = clientCertificate != nil
        timeouts = LoopTimeouts(configuration.settings.timeouts)
        limits = configuration.settings.limits
        rules = configuration.rules
        leavesSetupHost = configuration.rules.leavesSetupHost
        hasRules = !configuration.rules.isEmpty
        countsAttempts = configuration.rules.countsAttempts
        judgesTargets =
            configuration.rules.judgesTargets && configuration.settings.access.paths == .strict
        version = configuration.version
        headers = configuration.settings.log.headers
        logLevel =
            configuration.settings.log.to == .off ? .exchange : configuration.settings.log.level
        needsProgram = configuration.rules.needsProgram || configuration.settings.log.program
        demandsTrustRule = configuration.settings.upstream.tls.demandsTrustRule
        addsVia = configuration.settings.upstream.via
        isDirect = configuration.settings.upstream.proxy == .direct
        let telemetry = configuration.settings.telemetry
        let export = telemetry.resolved(environment)
        telemetryProblems = export.problems
        self.telemetry = export.export.map {
            TelemetryPlan($0, inherited: telemetry.inherited)
        }
        labels = RuleLabels(configuration.rules, after: former?.labels)
        self.listeners = listeners
        access = AccessPolicy(
            configuration.settings,
            listeners: (listeners + inspectors).map { ($0.address, $0.port) }
        )
        upstream = UpstreamPolicy(configuration.settings, access: access, anchors: anchors)
        judgesNames = configuration.rules.judgesNames || access.judgesNames
        redactor = Redactor(
            settings: configuration.settings.log.redact,
            secrets: secrets,
            isOff: logsSecrets
        ) { digest.sha256Prefix16($0) }
    }

    var settings: Settings { configuration.settings }

    /// What the capture must know of limits and of secrets, which `redactor` knows.
    func captureSurroundings(_ redactor: Redactor) -> CaptureQueue.Surroundings {
        CaptureQueue.Surroundings(redactor: redactor, settings: settings.capture)
    }

    /// Decides about a CONNECT, for which the rules' answer is `respond`.
    func decision(on subject: MatchSubject, respond: CannedResponse?) -> ConnectDecision {
        rules.decision(on: subject, respond: respond, settings: settings)
    }
}
