// The sockets of the listeners and their requirements: made completely, or not at all.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS

/// A listening socket and its requirements for connections, which may change while it is open.
struct OpenListener: Sendable {
    let socket: ListeningSocket
    let settings: ListenerSettings
    let policy: ListenerPolicy
}

/// Makes listeners, in the same way at the start and at every reload.
struct ListenerMaker: Sendable {
    let clock: LoopClock
    let logger: Logger
    let verify: Authenticator.Verify
    /// The sockets that the service manager opened.
    let passed: PassedListeners
    /// One set for all listeners; it seals the tickets of each separately.
    let ticketKeys = TicketKeys.fresh()

    /// The listeners of a configuration: those that are open already, and new ones.
    struct Listeners {
        var all: [OpenListener] = []
        /// The sockets among them that were bound for it, to be closed when the reload fails.
        var added: [ListeningSocket] = []
        /// The sockets that were open and are no longer configured.
        var removed: [ListeningSocket] = []
    }

    /// The listeners at the start, which must take every socket of the service manager.
    /// - Throws: Why it failed, with nothing left open.
    func firstListeners(
        _ settings: Settings,
        _ environment: [String: String]
    ) throws(Proxy.StartFailure) -> [OpenListener] {
        if let problem = passed.problems(settings, environment: environment).first {
            throw Proxy.StartFailure(message: problem, isBindFailure: true)
        }
        return try listeners(for: settings.listeners).all
    }

    /// Binds the sockets that are not open yet, and makes the requirements of all.
    ///
    /// A socket that is still configured stays open, with the connections that wait in its queue.
    /// - Throws: Why it failed, with nothing left open that was not open before.
    func listeners(
        for settings: [ListenerSettings],
        keeping open: [OpenListener] = []
    ) throws(Proxy.StartFailure) -> Listeners {
        let policies = try policies(settings, keeping: open)
        var result = Listeners()
        var rest = open
        for (listener, policy) in zip(settings, policies) {
            let socket: ListeningSocket
            // Compared by the configured port, so that a port of the kernel's choice is kept too.
            let kept = rest.firstIndex {
                $0.settings.address == listener.address && $0.settings.port == listener.port
            }
            if let kept {
                socket = rest.remove(at: kept).socket
            } else {
                do throws(Proxy.StartFailure) {
                    socket = try bind(listener)
                } catch {
                    for socket in result.added { socket.close() }
                    throw error
                }
                result.added.append(socket)
            }
            result.all.append(
                OpenListener(socket: socket, settings: listener, policy: policy)
            )
        }
        result.removed = rest.map(\.socket)
        return result
    }

    private func bind(_ listener: ListenerSettings) throws(Proxy.StartFailure) -> ListeningSocket {
        let address = SocketAddress(address: listener.address, port: listener.port)
        do throws(SystemError) {
            if let socket = passed.socket(at: address) {
                return try ListeningSocket(socket, at: address)
            }
            return try ListeningSocket(address)
        } catch {
            let remedy =
                error == .addressInUse ? "; listen in the rules file names another address" : ""
            throw Proxy.StartFailure(
                message: "cannot listen on \(address): \(error.text(at: address))\(remedy)",
                isBindFailure: true
            )
        }
    }

    /// The requirements of each listener; those with the same passwords share an authenticator.
    ///
    /// Certificates are read again each time, since they are renewed under the same name.
    private func policies(
        _ listeners: [ListenerSettings],
        keeping open: [OpenListener]
    ) throws(Proxy.StartFailure) -> [ListenerPolicy] {
        var made: [ClientAuthentication: Authenticator] = [:]
        for listener in open {
            made[listener.settings.authentication] = listener.policy.authenticator
        }
        var result: [ListenerPolicy] = []
        for listener in listeners {
            if case .basic(let file, let realm) = listener.authentication,
                made[listener.authentication] == nil
            {
                made[listener.authentication] = try Authenticator(
                    file: file,
                    realm: realm,
                    clock: clock,
                    logger: logger,
                    verify: verify
                )
            }
            var tls: ListenerTLS?
            do throws(LupinError) {
                tls = try listener.tls.map { files throws(LupinError) in
                    try ListenerTLS(files, listener.protocols, ticketKeys: ticketKeys)
                }
            } catch {
                throw Proxy.StartFailure(message: error.detail, isBindFailure: false)
            }
            result.append(
                ListenerPolicy(
                    authenticator: made[listener.authentication],
                    tls: tls,
                    protocols: listener.protocols,
                    user: listener.user,
                    isForRedirected: listener.isForRedirected
                )
            )
        }
        return result
    }
}

extension SystemError {
    /// Why an address can't be bound, and who has it.
    ///
    /// It blocks.
    func text(at address: SocketAddress) -> String {
        guard self == .addressInUse else { return message }
        if let holder = ProcessLookup.listener(at: address) {
            return "\(message): \(holder.program), process \(holder.pid), listens there"
        }
        // Which process it is, is for its own user to see.
        guard let user = ProcessLookup.userServing(address), user != ProcessOwner.userNumber else {
            return message
        }
        return "\(message): a process of user \(SystemUsers.name(of: user) ?? "\(user)") "
            + "listens there"
    }
}
