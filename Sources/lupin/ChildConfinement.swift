// What `lupin exec --confine` keeps from its command, and how the command is started then.
import ArgumentParser
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy

/// A command that may reach nothing but its proxy.
struct ChildConfinement: Sendable {
    let plan: ConfinedPlan

    /// Starts lupin in the place of the command, to confine itself and become that.
    ///
    /// - Parameters:
    ///   - launch: The command.
    ///   - files: The folder with its bundles and wrappers.
    ///   - storage: The folder for what it writes that is dropped.
    /// - Returns: Where the listener comes from.
    /// - Throws: When there is no socket, or a folder can't be made.
    func wrap(
        _ launch: inout ChildLaunch,
        files: String,
        storage: String
    ) throws(SystemError) -> ConfinementSocket {
        let socket = try ConfinementSocket()
        for folder in plan.missing + [profile(files)] { try WholeFile.makeDirectories(folder) }
        // In no argument: the command sees those, and what is absent has no name for it.
        let text = entries(files, storage).map(\.text).joined(separator: "\0")
        try WholeFile.write(Array(text.utf8), to: ConfinedCommand.entriesFile(in: storage))
        let words = [launch.program] + launch.arguments
        launch.program = "/proc/self/exe"
        launch.arguments = [ConfinedCommand.name] + arguments(storage) + ["--"] + words
        launch.passedDescriptor = socket.otherEnd
        return socket
    }

    /// Where browsers that are wrapped have a profile of their own.
    private func profile(_ files: String) -> String { "\(files)/profile" }

    private func entries(_ files: String, _ storage: String) -> [ViewEntry] {
        var view = plan.view
        for (mark, path) in [
            (ViewEntry.Mark.fresh, profile(files)), (.shown, files), (.absent, storage),
        ] {
            view.add(mark, PathTrail(path, from: ProcessOwner.directory).target)
        }
        return view.entries
    }

    private func arguments(_ storage: String) -> [String] {
        ["--storage", storage] + (plan.isRedirecting ? [] : ["--no-redirect"])
    }
}

extension Configuration {
    /// The configuration of a proxy for a confined command: the kernel can't tell the users of its
    /// clients, since they are in another network; but no other user can be there.
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
        copy.settings.access.isForConfined = true
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

    @Option
    var storage: String

    @Flag
    var noRedirect = false

    @Argument(parsing: .captureForPassthrough)
    var command: [String]

    /// The file with the places of the view, each as ``ViewEntry/text``, with NUL between.
    static func entriesFile(in storage: String) -> String { "\(storage)/places" }

    func run() throws {
        Confinement.endWithParent()
        let words = Array(command.first == "--" ? command[1...] : command[...])
        let lines = (WholeFile.content(of: Self.entriesFile(in: storage)) ?? []).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        let entries = lines.compactMap { ViewEntry($0) }
        guard !words.isEmpty, !entries.isEmpty, entries.count == lines.count else {
            throw ExitCode.failure
        }
        if let refusal = StandardStream.refusal {
            StandardError.print("lupin: error: \(refusal)")
            throw ExitCode(126)
        }
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
                seeing: ViewRequest(ConfinedView(entries), storage: storage)
            ) { StandardError.print("lupin: error: \($0)") }
        )
    }
}
