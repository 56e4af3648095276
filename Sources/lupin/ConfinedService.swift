// What serves a confined command while it runs: its proxy, and the name server that it sees.
import LupinCore
import LupinIO
import LupinProxy

/// Who the clients of a confined command's proxy are, and where they come in.
struct ConfinedClients {
    let passed: PassedListeners
    /// nil where all other connections fail.
    let redirected: Redirected?
    /// Looks programs up in their own network.
    let identify: ProcessLookup.Ask

    init(_ sockets: ReleasedSockets, of child: ChildProcess) {
        passed = PassedListeners(sockets.listeners)
        redirected = sockets.isRedirecting ? Redirected(sockets.redirected) : nil
        identify = ProcessLookup.asking(inNetworkOf: child.identifier)
    }
}

/// The services of one confined command.
final class ConfinedService {
    private let proxy: Proxy
    private let redirected: Redirected?
    private var slots: [ParkingSlot] = []

    /// Begins to answer questions for names; the proxy serves already.
    init(
        _ proxy: Proxy,
        _ clients: ConfinedClients,
        _ names: [DatagramSocket],
        on loop: EventLoop
    ) {
        self.proxy = proxy
        redirected = clients.redirected
        guard let redirected else { return }
        for socket in names {
            let slot = ParkingSlot(on: loop)
            slots.append(slot)
            let local = LoopLocal(slot, of: loop.executor)
            Task.immediate(executorPreference: loop.executor) {
                // Without a watch on the socket no name has an address, and lupin is used by name.
                try? await NameService(redirected.names).serve(socket, slot: local.value)
                local.value.retire()
            }
        }
    }

    /// Stops, and says which programs connected past the proxy.
    func end() async {
        for slot in slots { slot.wake(.cut) }
        await proxy.stop()
        guard let seen = redirected?.seen, !seen.pairs.isEmpty else { return }
        StandardError.print("lupin: these ignored the proxy variables, and were led to lupin:")
        for pair in seen.pairs {
            StandardError.print("  \(LogText.plain(pair.program)) to \(LogText.plain(pair.target))")
        }
        if seen.others > 0 { StandardError.print("  and \(seen.others) more connections") }
    }
}
