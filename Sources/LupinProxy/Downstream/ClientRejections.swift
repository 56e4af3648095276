// Which clients refused lupin's certificate lately, and for which hosts.
package import LupinCore
import Synchronization

/// Clients that refused a minted certificate: the same would happen again at the next CONNECT.
package final class ClientRejections: Sendable {
    /// Who refused what.
    ///
    /// Many programs of many users share an address, and each has its own idea of whom to trust.
    /// The user is the one that the kernel or a password vouches for: nobody may switch off the
    /// rules of another user, or lock them out, by calling himself what their tool is called.
    package struct Key: Hashable {
        package var client: IPAddress
        package var user: ClientUser
        /// Where it is known; see `log.program`.
        package var program: String?
        /// What the program calls itself on the CONNECT.
        package var agent: String?
        package var origin: Origin

        package init(
            client: IPAddress,
            user: ClientUser,
            program: String?,
            agent: String?,
            origin: Origin
        ) {
            self.client = client
            self.user = user
            self.program = program
            self.agent = agent
            self.origin = origin
        }
    }

    /// Beyond this many the oldest are forgotten.
    private static let countMax = 1024
    /// The same for one user: one user's entries push out no other's.
    package static let countPerUserMax = 256

    private let until = Mutex<[Key: UInt64]>([:])

    package init() {}

    /// Notes a rejection; false when it was known already.
    ///
    /// Times are microseconds of the loops' clock.
    package func note(_ key: Key, now: UInt64, lifetime: UInt64) -> Bool {
        until.withLock { until in
            let isNew = until[key].map { $0 <= now } ?? true
            if isNew { Self.makeRoom(for: key, in: &until, now: now) }
            until[key] = now &+ lifetime
            return isNew
        }
    }

    package func holds(_ key: Key, now: UInt64) -> Bool {
        until.withLock { $0[key].map { $0 > now } ?? false }
    }

    private static func makeRoom(for key: Key, in until: inout [Key: UInt64], now: UInt64) {
        if until.count >= countPerUserMax {
            until = until.filter { $0.value > now }
            let own = until.filter { $0.key.client == key.client && $0.key.user == key.user }
            if own.count >= countPerUserMax { forgetOldest(of: own, in: &until) }
        }
        if until.count >= countMax { forgetOldest(of: until, in: &until) }
    }

    private static func forgetOldest(of some: [Key: UInt64], in until: inout [Key: UInt64]) {
        if let oldest = some.min(by: { $0.value < $1.value }) { until[oldest.key] = nil }
    }
}

/// Whom the kernel or a password says a client to be.
package enum ClientUser: Hashable, Sendable {
    /// The password of that name was right.
    case named(String)
    /// The user who made the client's socket.
    case number(UInt32)
    /// A client on another machine, or one that the kernel does not know.
    case unknown
}
