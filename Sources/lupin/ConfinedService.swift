// What serves a confined command while it runs: its proxy, and the name server that it sees.
import LupinConfinement
import LupinCore
import LupinIO
import LupinProxy

/// Who the clients of a confined command's proxy are, and where they come in.
struct ConfinedClients {
    let passed: PassedListeners
    let redirected: Redirected
    /// Looks programs up in their own network.
    let identify: ProcessLookup.Ask

    init(_ sockets: ReleasedSockets, of child: ChildProcess) {
        passed = PassedListeners(sockets.listeners)
        redirected = Redirected(sockets.redirected)
        identify = ProcessLookup.asking(inNetworkOf: child.identifier)
    }
}

/// The services of one confined command.
final class ConfinedService {
    private let proxy: Proxy
    private let redirected: Redirected
    /// What is covered where the command may write.
    private let covered: [String]
    private let loop: EventLoop
    private var slots: [ParkingSlot] = []
    private var watch: ConnectWatch?

    /// Begins to answer questions for names; the proxy serves already.
    init(
        _ proxy: Proxy,
        _ clients: ConfinedClients,
        _ names: [DatagramSocket],
        covering covered: [String],
        on loop: EventLoop
    ) {
        self.proxy = proxy
        self.covered = covered
        self.loop = loop
        redirected = clients.redirected
        let known = redirected.names
        for socket in names {
            // Without a watch on the socket no name has an address, and lupin is used by name.
            begin { try? await NameService(known).serve(socket, slot: $0) }
        }
    }

    /// Makes the connections of the command, which reaches the unix sockets in `given` outside, and
    /// notes what the user may wonder about.
    func watch(
        _ command: ConfinementSocket,
        given: Set<ConnectWatch.FileIdentity>,
        slot: ParkingSlot
    ) async {
        let redirected = redirected
        watch = await command.watch(slot: slot, given: given) { event, program in
            switch event {
            case .leaving(let target):
                redirected.note(.past, program, redirected.target(of: target))
            case .missing(let target):
                redirected.note(.missing, program, redirected.target(of: target))
            case .outside(let path): redirected.note(.outside, program, path)
            case .refused(.datagrams): redirected.note(.datagrams, program, "")
            case .refused(.rights): redirected.note(.rights, program, "")
            case .refused(.mounts): redirected.note(.mounts, program, "")
            }
        }
    }

    /// The programs that were seen to connect.
    var programs: Set<String> {
        Set(
            Redirected.Sightings.Kind.allCases.flatMap { redirected.seen($0).pairs }
                .compactMap(\.program)
        )
    }

    private func begin(_ work: @escaping (ParkingSlot) async -> Void) {
        let slot = ParkingSlot(on: loop)
        slots.append(slot)
        let local = LoopLocal((slot, work), of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let (slot, work) = local.value
            await work(slot)
            slot.retire()
        }
    }

    /// Stops, and says which programs connected past the proxy.
    func end() async {
        for slot in slots { slot.wake(.cut) }
        await proxy.stop()
        let end = redirected.addresses.isEmpty ? "could not connect" : "were led to lupin"
        tell(.past, "these ignored the proxy variables, and \(end)")
        tell(.refused, "refused by the rules")
        tell(
            .missing,
            "these looked for servers that run outside: a rule that names the host leads programs "
                + "there that use the proxy"
        )
        tell(
            .outside,
            "these were refused unix sockets of programs outside, which --show PATH gives"
        )
        tell(
            .datagrams,
            "these were refused unix datagram sockets, such as that of the system's log"
        )
        tell(.rights, "these were refused setuid and setgid files, which would outlive the command")
        let kept = covered.first.map { "\(LogText.plain($0)) is" } ?? "something is"
        tell(
            .mounts,
            "these were refused a mount namespace, as other sandboxes need it, since \(kept) kept "
                + "from the command in a folder that it may write: move it out of there"
        )
    }

    private func tell(_ kind: Redirected.Sightings.Kind, _ sentence: String) {
        let seen = redirected.seen(kind)
        guard !seen.pairs.isEmpty else { return }
        // Each sentence once, in the order of what it was first about.
        var reasons: [String?] = []
        for pair in seen.pairs where !reasons.contains(pair.reason) { reasons.append(pair.reason) }
        for reason in reasons {
            let title = reason.map { "refused: \(LogText.plain($0))" } ?? "\(sentence):"
            StandardError.print("lupin: \(title)")
            for pair in seen.pairs where pair.reason == reason {
                let program = pair.program ?? (kind == .refused ? nil : "a program")
                let parts = [program, pair.target.isEmpty ? nil : pair.target].compactMap(\.self)
                StandardError.print("  \(parts.map(LogText.plain).joined(separator: " to "))")
            }
        }
        if seen.others > 0 { StandardError.print("  and \(seen.others) more connections") }
    }
}
