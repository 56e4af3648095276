// What `lupin exec --confine` keeps from its command, and how the command is started then.
import ArgumentParser
import LupinCore
import LupinIO
import LupinProxy

/// A command that may reach nothing but its proxy.
struct ChildConfinement: Sendable {
    /// Files and folders that appear empty to it.
    private let hidden: [String]
    /// Whether connections that ignore the proxy variables are led to lupin where that is possible.
    private let isRedirecting: Bool

    /// Hides all that lupin reads and keeps, and the given paths.
    init(_ configuration: Configuration, hiding others: [String], isRedirecting: Bool) {
        self.isRedirecting = isRedirecting
        let environment = LocatedRules.environment
        let settings = configuration.settings
        var paths = others + configuration.filesRead
        // A running lupin would take what the command writes there.
        let running = RunningLupin.find(socket: nil)?.rules.file
        paths += [configuration.fileName, running].compactMap(\.self)
        if let key = try? AuthorityFiles(settings.intercept.authority, environment: environment) {
            paths.append(key.key)
        }
        paths += UserFolder.all(environment).map { "\($0)/lupin" }
        paths += SiblingFolder.ofThisUser
        paths += ConfinedDoors.all(environment)
        if case .file(let log) = settings.log.to { paths.append(log) }
        let home = ProcessOwner.home(environment)
        if let cache = settings.cacheStore.folder(environment: environment, home: home) {
            paths.append(cache)
        }
        if let capture = settings.capture.folder(environment: environment, home: home) {
            paths.append(capture)
        }
        if let admin = settings.admin.place(environment: environment, home: home)?.path {
            paths.append(admin)
        }
        for token in settings.tokens {
            if case .oauth2(let source) = token.source, let store = source.store {
                paths.append(store)
            }
        }
        var seen: Set<String> = []
        hidden = paths.filter { !$0.isEmpty && seen.insert($0).inserted }
    }

    /// Starts lupin in the place of the command, to confine itself and become that.
    /// - Returns: Where the listener comes from.
    func wrap(_ launch: inout ChildLaunch) throws(SystemError) -> ConfinementSocket {
        let socket = try ConfinementSocket()
        let words = [launch.program] + launch.arguments
        launch.program = "/proc/self/exe"
        launch.arguments =
            [ConfinedCommand.name] + hidden.flatMap { ["--hide", $0] }
            + (isRedirecting ? [] : ["--no-redirect"]) + ["--"] + words
        launch.passedDescriptor = socket.otherEnd
        return socket
    }
}

extension Configuration {
    /// The configuration of a proxy for a confined command: the kernel can't tell whose its clients
    /// are, since they are in another network, and nobody else can be there.
    ///
    /// - Parameter redirected: Where connections arrive that know of no proxy.
    /// - Returns: A copy with listeners for both.
    func confined(at redirected: [SocketAddress]) -> Configuration {
        var copy = self
        let proxy = ListenerSettings(address: .v4(0x7F00_0001), port: Confinement.proxyPort)
        let others = redirected.map { address in
            var listener = ListenerSettings(address: address.address, port: address.port)
            listener.isForRedirected = true
            return listener
        }
        copy.settings.listeners = ([proxy] + others).map { listener in
            var own = listener
            own.user = SystemUsers.own
            return own
        }
        // Whatever the file allows to the user's own tools: what watches or steers lupin is not for
        // who is confined.
        if !copy.settings.access.denyTargets.contains(.own) {
            copy.settings.access.denyTargets.append(.own)
        }
        return copy
    }
}

/// `lupin confined`: what `lupin exec --confine` starts; not for people.
struct ConfinedCommand: ParsableCommand {
    static let name = "confined"
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Run a command for lupin exec --confine.",
        shouldDisplay: false
    )

    @Option(parsing: .unconditionalSingleValue)
    var hide: [String] = []

    @Flag
    var noRedirect = false

    @Argument(parsing: .captureForPassthrough)
    var command: [String]

    func run() throws {
        let words = Array(command.first == "--" ? command[1...] : command[...])
        guard !words.isEmpty else { throw ExitCode.failure }
        let sockets: ConfinedSockets
        do throws(ConfinementProblem) {
            sockets = try Confinement.enter(isRedirecting: !noRedirect)
        } catch {
            StandardError.print("lupin: error: \(error.message)")
            throw ExitCode(126)
        }
        // Without an answer lupin has ended, or has said why it does not serve.
        guard sockets.handOver() else { throw ExitCode.failure }
        throw ExitCode(
            Confinement.run(
                words,
                seeing: ConfinedView(hidden: hide),
                isWatched: !sockets.isRedirecting
            ) { StandardError.print("lupin: error: \($0)") }
        )
    }
}
