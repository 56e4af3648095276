// Two users of one machine: whose a test's clients are, as the kernel would tell.
import Glibc
import LupinIO
import LupinTestKit
import Synchronization

/// The users of the clients of one test, by their ports; who is not noted is lupin's own user.
final class LocalUsers: Sendable {
    /// Nobody's number: no user of the machine has it, and `access.credentials` can't list it.
    static let stranger: UInt32 = 4_294_000_111

    private let users = Mutex<[UInt16: UInt32?]>([:])
    /// How often somebody was asked for.
    private let asked = Mutex(0)

    /// What `ProxyFixture.run(identify:)` takes.
    var identify: ProcessLookup.Ask {
        { [self] peer, _, _ in
            asked.withLock { $0 += 1 }
            guard let noted = users.withLock({ $0[peer.port] }) else {
                return ProcessLookup.Finding(user: geteuid())
            }
            return ProcessLookup.Finding(user: noted)
        }
    }

    var askedCount: Int { asked.withLock { $0 } }

    /// A connection of `user`; of nobody that the kernel knows for nil.
    func client(_ proxy: ProxyFixture, of user: UInt32?) throws -> ScriptedClient {
        // Whoever asks for it waits until it is noted.
        try users.withLock { users in
            let client = try proxy.client()
            if let port = client.stream.socket.address?.port { users[port] = .some(user) }
            return client
        }
    }

    /// A connection of another user than lupin's.
    func stranger(_ proxy: ProxyFixture) throws -> ScriptedClient {
        try client(proxy, of: Self.stranger)
    }
}
