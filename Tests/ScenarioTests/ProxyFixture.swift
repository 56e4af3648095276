// A whole proxy for one test: rules in, record lines out, and nothing left behind.
import Foundation
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinRules
import LupinTLS
import LupinTestKit
import Synchronization
import Testing

/// A running proxy with the origins and clients of one test.
///
/// ```swift
/// try await ProxyFixture.run("upstream: {via: false}") { proxy in
///     let origin = try proxy.origin { try $0.request(); try $0.reply(body: "hello") }
///     #expect(try proxy.client().get(origin.url()).bodyText == "hello")
///     #expect(try proxy.record()["outcome"] == "ok")
/// }
/// ```
final class ProxyFixture: Sendable {
    let proxy: Proxy
    private let listeners: Set<UInt64>
    /// Sockets of other tests that have a port in common with ours, by their inodes.
    private let strangers = Mutex<Set<UInt64>>([])
    /// Time, where the test moves it.
    let clock: VirtualClock?
    let logPath: String
    /// Where the test's files lie: the log, lupin's authority, and what a test adds.
    let directory: String
    /// Signs for the origins that the test plays; the proxy trusts nobody else unless its rules
    /// say so.
    let authority: TestAuthority
    private let environment: [String: String]
    let diagnostics = Diagnostics()
    private let stopping = Mutex<Task<Void, Never>?>(nil)
    private let origins = Mutex<[ScriptedOrigin]>([])
    private let clients = Mutex<[ScriptedClient]>([])

    /// Answers for every name with 127.0.0.1, where a test's origins are.
    static let here: @Sendable (String) -> Resolver.Answer = { _ in .success([.v4(0x7F00_0001)]) }

    /// Starts a proxy, runs `body` on a thread where it may block, stops everything and checks
    /// that no socket is left.
    ///
    /// - Parameters:
    ///   - rules: The rules file without `lupin: 1`; `DIR` in it is the test's directory. The
    ///     listener is 127.0.0.1 with a port of the kernel's choice, the log a file, and there is
    ///     one worker unless it says otherwise. `intercept.ca` and `upstream.tls.roots` lead into
    ///     the test's directory.
    ///   - clock: Moves the proxy's time instead of the system's clock.
    ///   - environment: For `${env:…}` and `upstream.proxy: environment`.
    ///   - files: What lies in the test's directory, by name.
    ///   - resolve: Answers for names; without it the system is asked.
    ///   - authentication: Whom the listeners ask for a password, in their order.
    ///   - watchesRules: Whether a change of the rules file is taken by itself.
    ///   - verify: Says whether a password is right; without it libcrypt is asked.
    ///   - identify: Says whose a client is; without it the kernel is asked.
    ///   - siblings: The folder in which it and others of the test find each other.
    ///   - hooks: What an embedding program adds.
    ///   - body: The test.
    /// - Throws: What `body` throws, or why there is no proxy.
    static func run(
        _ rules: String = "",
        clock: VirtualClock? = nil,
        environment: [String: String] = [:],
        files: [String: [UInt8]] = [:],
        resolve: @escaping @Sendable (String) -> Resolver.Answer = { Resolver.ask($0) },
        authentication: [ClientAuthentication] = [],
        watchesRules: Bool = false,
        verify: @escaping @Sendable ([UInt8], String) -> Bool = {
            PasswordHash.verify($0, against: $1)
        },
        identify: ProcessLookup.Ask? = nil,
        siblings: String? = nil,
        hooks: Hooks = Hooks(),
        _ body: @Sendable @escaping (ProxyFixture) async throws -> Void
    ) async throws {
        let loops = LoopWatch()
        try await Turnstile.scenarios.pass {
            let fixture = try await ProxyFixture(
                rules,
                clock: clock,
                environment: environment,
                files: files,
                resolve: resolve,
                authentication: authentication,
                watchesRules: watchesRules,
                verify: verify,
                identify: identify,
                siblings: siblings,
                hooks: hooks
            )
            loops.watch(fixture.proxy.executors)
            let result: Result<Void, any Error>
            do {
                result = .success(try await ScriptThread.run { try await body(fixture) })
            } catch {
                result = .failure(error)
            }
            try await fixture.stop()
            try result.get()
        }
        await loops.expectEnd()
    }

    private init(
        _ rules: String,
        clock: VirtualClock?,
        environment: [String: String],
        files: [String: [UInt8]],
        resolve: @escaping @Sendable (String) -> Resolver.Answer,
        authentication: [ClientAuthentication],
        watchesRules: Bool,
        verify: @escaping @Sendable ([UInt8], String) -> Bool,
        identify: ProcessLookup.Ask?,
        siblings: String?,
        hooks: Hooks
    ) async throws {
        self.clock = clock
        self.environment = environment
        let directory = NSTemporaryDirectory() + "lupin-scenario-\(UUID().uuidString)"
        self.directory = directory
        logPath = directory + "/log"
        authority = try TestAuthority()
        try Self.write(files.merging(["roots.pem": authority.pem]) { $1 }, to: directory)
        let path = Self.rulesPath(in: directory)
        try Self.write([Self.rulesName: Self.file(rules, in: directory)], to: directory)
        let check: @Sendable ([UInt8], String) -> RulesSource.Reading = { bytes, _ in
            Self.read(
                String(decoding: bytes, as: UTF8.self),
                directory,
                environment,
                authentication
            )
        }
        let source = RulesSource(file: watchesRules ? path : nil, check: check) {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            var reading = Self.read(text, directory, environment, authentication)
            if clock == nil { Self.beLenient(&reading.configuration) }
            return reading
        }
        let loaded = source.read()
        let configuration = try #require(loaded.configuration, "\(loaded.errors)")
        proxy = try await Proxy(
            configuration,
            clock: clock?.loopClock ?? .system,
            resolve: resolve,
            verify: verify,
            identify: identify,
            logger: diagnostics.logger,
            environment: environment,
            siblingFolders: siblings.map { [$0] },
            hooks: hooks,
            source: source,
            about: ProxyDescription(version: "test")
        )
        for executor in proxy.executors { clock?.add(executor) }
        // By their inodes, since a port may be somebody else's a moment after it was closed.
        let ports = Set(proxy.addresses.map(\.port))
        listeners = Set(
            OpenSocket.all { ports.contains($0.local) }.filter(\.isListening).map(\.inode)
        )
        for port in ports { noteStrangers(at: port) }
    }

    /// The kernel gives a port anew as soon as nobody listens there, and connections of another
    /// test to its former owner may still stand.
    private func noteStrangers(at port: UInt16) {
        let inodes = OpenSocket.all { $0.local == port || $0.remote == port }
            .filter { !$0.isListening }
            .map(\.inode)
        strangers.withLock { $0.formUnion(inodes) }
    }

    private static func write(_ files: [String: [UInt8]], to directory: String) throws {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        for (name, bytes) in files {
            _ = manager.createFile(
                atPath: "\(directory)/\(name)",
                contents: Data(bytes),
                attributes: [.posixPermissions: 0o600]
            )
        }
    }

    /// In a test's environment: the bytes that may wait for the capture's writer.
    static let captureQueue = "TEST_CAPTURE_QUEUE"

    private static let rulesName = "lupin.yaml"

    private static func rulesPath(in directory: String) -> String { "\(directory)/\(rulesName)" }

    private static func file(_ rules: String, in directory: String) -> [UInt8] {
        Array("lupin: 1\n\(rules.replacingOccurrences(of: "DIR", with: directory))".utf8)
    }

    /// Reads the text of a rules file as a test's proxy is to have it.
    private static func read(
        _ text: String,
        _ directory: String,
        _ environment: [String: String],
        _ authentication: [ClientAuthentication]
    ) -> RulesSource.Reading {
        let loaded = RulesFile.decode(
            text: text,
            fileName: "test.yaml",
            surroundings: Surroundings(environment: environment, readFile: FileAccess.read)
        )
        var reading = RulesSource.Reading(
            configuration: loaded.configuration,
            errors: loaded.errors.map(\.text),
            warnings: loaded.warnings.map(\.text),
            files: loaded.files
        )
        guard var configuration = loaded.configuration else { return reading }
        for i in configuration.settings.listeners.indices {
            configuration.settings.listeners[i].port = 0
            if i < authentication.count {
                configuration.settings.listeners[i].authentication = authentication[i]
            }
        }
        configuration.settings.workers = configuration.settings.workers ?? 1
        if configuration.settings.log.to == .stdout {
            configuration.settings.log.to = .file("\(directory)/log")
        }
        configuration.settings.log.format = .json
        // The usual socket is for one lupin, and tests have many.
        if configuration.settings.admin.socket == .automatic {
            configuration.settings.admin.socket = .off
        }
        place(&configuration.settings, in: directory)
        if let room = environment[captureQueue].flatMap(Int.init) {
            configuration.settings.capture.queueBytes = room
        }
        reading.configuration = configuration
        return reading
    }

    /// Has a client begin inside a CONNECT as late as a busy machine makes it.
    ///
    /// In a fifth of a second of real time not every test gets from the 200 to its TLS, and then
    /// the origin meets a connection that the test does not know of. Who speaks first is a matter
    /// for tests with a clock.
    private static func beLenient(_ configuration: inout Configuration?) {
        guard configuration?.settings.timeouts.sniff == Timeouts().sniff else { return }
        configuration?.settings.timeouts.sniff = PlainSocket.timeout
    }

    /// Writes other rules, as `run` takes them, in one step.
    func write(rules: String) throws {
        let path = Self.rulesPath(in: directory)
        let bytes = Self.file(rules, in: directory)
        try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// Writes another file of the test's directory in one step.
    func write(_ text: String, to name: String) throws {
        let place = URL(fileURLWithPath: "\(directory)/\(name)")
        try Data(text.utf8).write(to: place, options: .atomic)
    }

    /// Has the proxy take other rules.
    func reload(_ rules: String) async throws -> ReloadResult {
        try write(rules: rules)
        return await proxy.reload()
    }

    /// Has what the rules leave open lie in the test's directory.
    private static func place(_ settings: inout Settings, in directory: String) {
        if settings.intercept.authority.files == nil {
            settings.intercept.authority.files = CertificateFiles(
                certificate: directory + "/ca.pem",
                key: directory + "/ca.key"
            )
        }
        if settings.capture.path == nil { settings.capture.path = directory + "/capture" }
        if settings.upstream.tls.roots == TrustAnchorSettings() {
            settings.upstream.tls.roots.usesSystem = false
            settings.upstream.tls.roots.files = [directory + "/roots.pem"]
        }
    }

    // MARK: Parties

    /// Where the proxy listens.
    var address: SocketAddress { proxy.addresses[0] }

    /// A connection to the proxy.
    func client(receiveBuffer: Int32? = nil) throws -> ScriptedClient {
        let client = try ScriptedClient(to: address, receiveBuffer: receiveBuffer)
        clients.withLock { $0.append(client) }
        return client
    }

    /// An origin; what its script throws fails the test.
    func origin(
        at host: SocketAddress = .loopback(port: 0),
        security: SecureSocket.Server? = nil,
        _ script: @escaping ScriptedOrigin.Script
    ) throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin(at: host, security: security, script)
        noteStrangers(at: origin.address.port)
        origins.withLock { $0.append(origin) }
        return origin
    }

    /// Holds the first worker until the bell is rung, so that several things happen at once for it.
    func holdWorker() -> Bell {
        let (isHeld, go) = (Bell(), Bell())
        proxy.executors[0].mailbox.post {
            isHeld.ring()
            _ = go.wait()
        }
        #expect(isHeld.wait())
        return go
    }

    /// An origin that answers every request with the same bytes.
    func origin(answering response: String) throws -> ScriptedOrigin {
        try origin { connection in
            while try connection.nextRequest() != nil { try connection.send(response) }
        }
    }

    /// An origin that speaks TLS with a certificate for 127.0.0.1, or for `name`.
    func secureOrigin(
        name: String = "127.0.0.1",
        _ script: @escaping ScriptedOrigin.Script
    ) throws -> ScriptedOrigin {
        try origin(security: try authority.server(name), script)
    }

    /// lupin's own authority, once it has been made.
    func ownAuthority() throws -> Certificate {
        let text = try Data(contentsOf: URL(fileURLWithPath: directory + "/ca.pem"))
        return try Certificate.parse(pem: [UInt8](text).span)
    }

    // MARK: Records

    /// The first `count` record lines, when there are that many.
    func records(_ count: Int) throws -> [RecordLine] {
        var lines: [RecordLine] = []
        var looks = 0
        try eventually("\(count) record lines") {
            lines = recordsSoFar()
            if lines.count >= count { return true }
            looks += 1
            // After ever longer pauses, or a busy machine would bring a test's time far ahead.
            if looks.nonzeroBitCount == 1 { try? clock?.advance(by: .milliseconds(20)) }
            return false
        }
        return lines
    }

    /// The first record line.
    func record() throws -> RecordLine { try #require(records(1).first) }

    /// The record lines that are written by now.
    func recordsSoFar() -> [RecordLine] {
        logText.split(separator: "\n").compactMap { RecordLine(String($0)) }
    }

    /// The log as it is written by now.
    var logText: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }

    /// What lupin warned of so far.
    var warnings: [String] { diagnostics.warnings }

    // MARK: Time

    /// Moves the virtual clock step by step until `condition` holds.
    func advance(
        by step: Duration,
        until what: String,
        _ condition: () -> Bool
    ) throws {
        let clock = try #require(clock)
        try eventually(what) {
            if condition() { return true }
            try? clock.advance(by: step)
            return condition()
        }
    }

    /// Sends zeros until nothing moves any more, `count` at most, and says how many it took to
    /// fill the buffers on the whole way.
    @discardableResult
    func fill(_ socket: PlainSocket, _ count: Int = 64 << 20) throws -> Int {
        var total = 0
        try rest {
            total += socket.fill(count - total)
            return total
        }
        return total
    }

    /// Waits until `progress` stands still while everybody has had turns.
    func rest(_ progress: () -> Int) throws {
        var last = -1
        var restingRounds = 0
        while restingRounds < 20 {
            let now = progress()
            restingRounds = now == last ? restingRounds + 1 : 0
            last = now
            try settle()
            if restingRounds > 0 { usleep(1000) }
        }
    }

    /// Lets each worker finish what it is doing.
    func settle() throws {
        for executor in proxy.executors {
            let bell = Bell()
            executor.mailbox.post { bell.ring() }
            guard bell.wait() else { throw SocketFailure("a worker is stuck") }
        }
    }

    /// Waits until `value` has begun to grow and stands still.
    func waitForStandstill(_ value: () -> Int) throws {
        var last = 0
        var rounds = 0
        try eventually("a standstill") {
            let now = value()
            rounds = now == last && now > 0 ? rounds + 1 : 0
            last = now
            return rounds > 100
        }
    }

    // MARK: The end

    /// Has the proxy stop as SIGTERM does, and comes back at once.
    @discardableResult
    func beginStopping() -> Task<Void, Never> {
        stopping.withLock { stopping in
            if let stopping { return stopping }
            let task = Task(executorPreference: ScriptThread.spare) { [proxy] in
                await proxy.stop()
            }
            stopping = task
            return task
        }
    }

    private func stop() async throws {
        for client in clients.withLock({ $0 }) { client.close() }
        let origins = origins.withLock { $0 }
        let originPorts = origins.map(\.address.port)
        let failures = origins.flatMap(\.failures)
        let mine = ownSockets(originPorts)
        for origin in origins { origin.endConnections() }
        let done = Bell()
        let stopping = beginStopping()
        Task {
            await stopping.value
            done.ring()
        }
        try await ScriptThread.run { [clock] in
            guard let clock else { return }
            while !done.wait(.milliseconds(20)) { clock.push(by: .seconds(1)) }
        }
        await stopping.value
        for executor in proxy.executors { clock?.remove(executor) }
        try? FileManager.default.removeItem(atPath: directory)
        for failure in failures { Issue.record("a script failed: \(failure)") }
        // By inode: once it is closed, a port may belong to another test's socket.
        let open = OpenSocket.inodes
        let left = mine.filter { open.contains($0.inode) }
        #expect(left.isEmpty, "sockets of the proxy at \(proxy.addresses) are still open")
        for origin in origins { origin.stop() }
    }

    /// 127.0.0.1, where proxies and scripted origins are.
    private static let host: UInt32 = 0x7F00_0001

    /// The proxy's listeners, its clients' connections and those to the origins.
    private func ownSockets(_ originPorts: [UInt16]) -> [OpenSocket] {
        let ports = Set(proxy.addresses.map(\.port))
        let strangers = strangers.withLock { $0 }
        let sockets = OpenSocket.all {
            ports.contains($0.local) || originPorts.contains($0.remote)
        }
        return sockets.filter { socket in
            if strangers.contains(socket.inode) { return false }
            if socket.isListening { return listeners.contains(socket.inode) }
            // Other tests may have the same ports at other addresses.
            return socket.ends.localHost == Self.host && ports.contains(socket.ends.local)
                || socket.ends.remoteHost == Self.host && originPorts.contains(socket.ends.remote)
        }
    }
}
