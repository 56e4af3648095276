// Everything that crosses threads, and nothing else does.

import Logging
import LupinCore
import LupinIO
import LupinTLS
import LupinWire
import Synchronization

/// What all workers share.
///
/// Each part has one owner type, and only these types may hold a lock: `Shared` (the current
/// snapshot and listeners), `RecordWriter` (the bounded queue of record lines), `ReplayMemory` and
/// `ConnectionCounter` (counts), `ResolverThreads` (name look-ups), `ProcessLookup` with
/// `RecentTables` and `SocketDiagnosis` (programs and users of clients), `LeafIssuer` with
/// `LeafCertificates` (the authority and its leaves), `TicketKeys` (what seals the tickets of TLS
/// clients), `ClientRejections` (who refused a leaf), `TicketStore` (TLS of origins to resume),
/// `OriginSecurities` and `SharedAnchors` (what TLS with origins is made with), `RevocationStore`
/// (who was withdrawn), `Authenticator` (users, their passwords that wait and those that passed),
/// `TokenStore` (credentials, who waits for them and what servers asked for), `TaintedSecrets`
/// (what no log may hold), `ThrottleBuckets` (what rules let through in a second),
/// `CompressionRefusals` (origins that want bodies plain), `ParentCredentials` (what parent proxies
/// asked for), `CookieJars` (what servers set), `ExchangeHistory` (the exchanges that ended last),
/// `OriginHealths` (how origins fared, for those who retry), `ResponseStore` with `Flight` and
/// `GrowingBody` (stored responses, and those on their way), `DiskTier` with `DiskStore` and
/// `DiskTally` (what of them lies on disk).
final class Shared: Sendable {
    let clock: LoopClock
    let logger: Logger
    /// Whether records on a terminal may be coloured.
    let allowsColour: Bool
    let records: RecordWriter
    let resolver: ResolverThreads
    let processes: ProcessLookup
    let connections = ConnectionCounter()
    let replayMemory: ReplayMemory
    /// Where request bodies go that are kept and too long for memory.
    let spillFolder: String
    let health = OriginHealths()
    let responses: ResponseStore
    let history: ExchangeHistory
    let reloads = ReloadCounter()
    let rejections = ClientRejections()
    let tickets = TicketStore()
    let revocations = RevocationStore()
    let throttles = ThrottleBuckets()
    let compressionRefusals = CompressionRefusals()
    let cookieJars: CookieJars
    let parentCredentials = ParentCredentials()
    let secrets = TaintedSecrets()
    let tokens: TokenStore
    /// Where programs print credentials and rotated tokens are written.
    let tokenThread: HelperThread
    /// Where the files of `respond` are opened and read, and bodies are edited.
    let bodyThread: HelperThread
    /// The process's variables.
    let environment: [String: String]
    /// Where the lupins of this user find each other; empty where they can't.
    let siblingFolders: [String]
    /// Whether a loop may look into them by itself: no server is asked for what is in them.
    let isSiblingFolderNear: Bool
    /// What an embedding program does to every request; nil where there is none.
    let interceptor: (any RequestInterceptor & Sendable)?
    /// What it says about redirects that rules follow.
    let redirectHandler: (any RedirectHandler & Sendable)?
    /// What it says about responses that rules store.
    let cachedResponseHandler: (any CachedResponseHandler & Sendable)?
    /// Whom it wants to be told of exchanges.
    let eventMonitors: [any EventMonitor]
    /// Our name in Via: `lupin-` and 8 hex digits that differ at every start, so that two lupins
    /// in a row are no loop.
    let pseudonym: String
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
        tokenThread: HelperThread,
        bodyThread: HelperThread,
        environment: [String: String],
        siblingFolders: [String],
        hooks: Hooks
    ) {
        self.siblingFolders = siblingFolders
        isSiblingFolderNear = siblingFolders.allSatisfy(LocalSocket.isOnLocalDisk)
        self.clock = clock
        self.logger = logger
        self.allowsColour = allowsColour
        self.records = records
        self.resolver = resolver
        self.processes = processes
        self.tokenThread = tokenThread
        self.bodyThread = bodyThread
        self.environment = environment
        spillFolder = SpillFile.folder(environment)
        interceptor = hooks.interceptor
        redirectHandler = hooks.redirectHandler
        cachedResponseHandler = hooks.cachedResponseHandler
        eventMonitors = hooks.eventMonitors
        responses = ResponseStore(bytesMax: snapshot.settings.cacheStore.memoryBytes)
        responses.adopt(snapshot.settings.cacheStore, environment, logger)
        cookieJars = CookieJars(on: tokenThread, logger: logger)
        tokens = TokenStore(secrets: secrets)
        tokens.adopt(Array(snapshot.tokens.values))
        history = ExchangeHistory(snapshot.settings.admin)
        replayMemory = ReplayMemory(
            bytesMax: snapshot.configuration.settings.limits.replayMemoryBytes
        )
        let random = RandomSource.bytes(count: 4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        pseudonym = "lupin-" + String(random | 1 << 32, radix: 16).dropFirst()
        current = Mutex(Current(snapshot: snapshot, listeners: listeners))
    }

    /// The snapshot that new exchanges begin with.
    var snapshot: Snapshot { current.withLock { $0.snapshot } }

    /// The listeners that are open.
    var listeners: [OpenListener] { current.withLock { $0.listeners } }

    /// Puts others in their place; workers take them when they are told.
    func adopt(_ snapshot: Snapshot, _ listeners: [OpenListener]) {
        current.withLock { $0 = Current(snapshot: snapshot, listeners: listeners) }
        replayMemory.limit(snapshot.limits.replayMemoryBytes)
        responses.adopt(snapshot.settings.cacheStore, environment, logger)
        tokens.adopt(Array(snapshot.tokens.values))
    }

    /// What hides secrets in everything that is said for the whole proxy, those included that came
    /// up while it runs.
    var redactor: Redactor {
        var redactor = snapshot.redactor
        for secret in secrets.all { redactor.add(secret: secret) }
        return redactor
    }

    /// How records look by these settings.
    func recordStyle(_ log: LogSettings) -> RecordStyle {
        RecordStyle(
            log,
            allowsColour: allowsColour,
            columns: nil,
            utcOffsetSeconds: Terminal.utcOffsetSeconds(at: SystemCall.wallMicroseconds())
        )
    }
}

/// Settings and rules with what follows from them, immutable; an exchange keeps the one it began
/// with.
final class Snapshot: Sendable {
    let configuration: Configuration
    let access: AccessPolicy
    let redactor: Redactor
    // What every request or connection asks for stands apart: taken out of the whole settings it
    // would cost the copy of several arrays.
    let waits: Waits
    let limits: Limits
    let rules: RuleSet
    /// There is one at least.
    let hasRules: Bool
    /// `Configuration.version`, for the record.
    let version: String
    /// Which field names and values records hold.
    let headers: LogSettings.Headers
    /// What gets a line of its own where no rule says otherwise.
    let logLevel: LogSettings.Level
    /// Whether a rule or the log wants to know the client's program.
    let needsProgram: Bool
    /// Whether any CONNECT may be more than a tunnel.
    let mayIntercept: Bool
    /// No origin is spoken to under TLS of which no rule says whom to trust.
    let demandsTrustRule: Bool
    /// The tokens of the file by their names.
    let tokens: [String: TokenDefinition]
    /// Who may use rules that hold secrets.
    let credentialUsers: CredentialUsers
    /// Shown to origins where no rule says otherwise.
    let clientCertificate: CertificateFiles?
    /// TLS with origins, as rules demand it.
    let securities: OriginSecurities
    /// No parent proxy is set, so none need be looked for.
    let isDirect: Bool
    private let addsVia: Bool
    /// Where this process listens, with the ports that the kernel chose.
    let listeners: [SocketAddress]
    /// Ends TLS of clients.
    let issuer: LeafIssuer
    /// Which of the snapshots of this run it is.
    let number: Int
    /// What the redactor knows: secrets of this configuration and of those before it, since what
    /// began with them may end now.
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

    /// Secrets of former configurations that are remembered.
    private static let secretsMax = 4096

    init(
        _ configuration: Configuration,
        after former: Snapshot? = nil,
        listeners: [SocketAddress],
        issuer: LeafIssuer,
        digest: KeyedDigest,
        anchors: SharedAnchors,
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
        securities = OriginSecurities(configuration.settings.upstream.tls, anchors: anchors)
        waits = Waits(configuration.settings.timeouts)
        limits = configuration.settings.limits
        rules = configuration.rules
        hasRules = !configuration.rules.isEmpty
        version = configuration.version
        headers = configuration.settings.log.headers
        logLevel =
            configuration.settings.log.to == .off ? .exchange : configuration.settings.log.level
        needsProgram = configuration.rules.needsProgram || configuration.settings.log.program
        mayIntercept = configuration.rules.mayIntercept(configuration.settings.intercept)
        demandsTrustRule = configuration.settings.upstream.tls.demandsTrustRule
        addsVia = configuration.settings.upstream.via
        isDirect = configuration.settings.upstream.proxy == .direct
        self.listeners = listeners
        var reachable = listeners.map { ($0.address, $0.port) }
        if let http = configuration.settings.admin.http {
            reachable.append((http.address, http.port))
        }
        access = AccessPolicy(configuration.settings.access, listeners: reachable)
        redactor = Redactor(
            settings: configuration.settings.log.redact,
            secrets: secrets,
            isOff: logsSecrets
        ) { digest.sha256Prefix16($0) }
    }

    var settings: Settings { configuration.settings }

    /// What becomes of a CONNECT.
    func interception(of subject: MatchSubject) -> InterceptionDecision {
        rules.interception(of: subject, settings: configuration.settings.intercept)
    }

    /// What Via says of a message, unless the settings turn it off.
    func via(received version: ProtocolVersion, pseudonym: String) -> ViaMember? {
        addsVia ? ViaMember(version, pseudonym: pseudonym) : nil
    }
}

/// How much memory all replay buffers hold together.
final class ReplayMemory: Sendable {
    private let used = Atomic<Int>(0)
    private let bytesMax: Atomic<Int>

    init(bytesMax: Int) { self.bytesMax = Atomic(bytesMax) }

    /// Changes how much it may be; what is kept already stays.
    func limit(_ bytesMax: Int) { self.bytesMax.store(bytesMax, ordering: .relaxed) }

    /// Whether `count` more bytes may be kept; if so they are counted.
    func reserve(_ count: Int) -> Bool {
        let now = used.add(count, ordering: .relaxed).newValue
        if now <= bytesMax.load(ordering: .relaxed) { return true }
        used.subtract(count, ordering: .relaxed)
        return false
    }

    func release(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}
