// Clients that refused lupin's certificate lately, and how long they bypass the rules.
package import LupinCore
package import LupinUpstream
import Synchronization

/// Clients that refused a minted certificate, and would refuse it again at the next CONNECT.
///
/// A refusal counts for 30 s at first, and twice as long each time it repeats. When the client then
/// accepts the CA at another host it has learnt to trust it, so its refusals are dropped. A client
/// that accepted the CA before a refusal has a reason of its own for this host, such as a pin.
package final class ClientRejections: Sendable {
    /// A program of a user: each has its own trust store.
    ///
    /// The user comes from the kernel or a password: no client may switch off the rules of another
    /// user, or lock that user out, by using the User-Agent of its program.
    package struct Who: Hashable, Sendable {
        package var client: IPAddress
        package var user: ClientUser
        /// The program, if known; see `log.program`.
        package var program: String?
        /// The User-Agent of the CONNECT.
        package var agent: String?

        package init(client: IPAddress, user: ClientUser, program: String?, agent: String?) {
            self.client = client
            self.user = user
            self.program = program
            self.agent = agent
        }

        /// What people know it by: its program, or what it calls itself, its address, and its user
        /// unless that is `own`.
        ///
        /// Cleaned before it is cut: a secret that lost its end would not be recognised.
        package func name(_ redactor: Redactor, own: UInt32? = nil) -> String {
            var owner = ""
            if let own, case .number(let number) = user, number != own {
                owner = " of user \(number)"
            }
            guard let name = program ?? agent else { return "\(client.text)\(owner)" }
            let cleaned = redactor.cleaned(name).prefix(60)
            return "\(LogText.plain(String(cleaned)))\(owner) at \(client.text)"
        }
    }

    /// A client and the origin whose certificate it refused.
    package struct Key: Hashable, Sendable {
        package var who: Who
        package var origin: Origin

        package init(who: Who, origin: Origin) {
            self.who = who
            self.origin = origin
        }
    }

    /// The present on both clocks, in microseconds.
    package struct Moment: Sendable {
        /// By the loops' clock.
        package var loop: UInt64
        /// Since 1970.
        package var wall: Int64

        package init(loop: UInt64, wall: Int64) {
            self.loop = loop
            self.wall = wall
        }
    }

    private struct Entry {
        var bypass: BypassRecord
        /// By the loops' clock.
        var until: UInt64
        /// The lifetime of the next refusal.
        var nextLifetime: UInt64
        /// Until then a repetition doubles the lifetime.
        var remembered: UInt64
        /// The client trusts the CA, and refused nevertheless.
        var isPin: Bool
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// Clients that accepted a minted certificate, with the time of the last acceptance.
        var trusting: [Who: UInt64] = [:]
    }

    /// The lifetime of the first refusal.
    package static let firstLifetime: UInt64 = 30_000_000
    /// Beyond this many the oldest are dropped.
    private static let countMax = 1024
    /// The same limit for one user: a user's entries displace no other user's.
    package static let countPerUserMax = 256

    private let state = Mutex(State())

    package init() {}

    /// Notes a refusal by the alert `cause`.
    ///
    /// `longest` is the maximum lifetime, in microseconds.
    /// - Returns: The bypass from now on; nil when it was known already.
    package func note(
        _ key: Key,
        because cause: String,
        at now: Moment,
        longest: UInt64
    ) -> BypassRecord? {
        state.withLock { state in
            let former = state.entries[key].flatMap { $0.remembered > now.loop ? $0 : nil }
            if let former, former.until > now.loop { return nil }
            if former == nil { Self.makeRoom(for: key, in: &state.entries, now: now.loop) }
            let lifetime = min(former?.nextLifetime ?? Self.firstLifetime, longest)
            let until = now.loop &+ lifetime
            let bypass = BypassRecord(
                sinceMicroseconds: former?.bypass.sinceMicroseconds ?? now.wall,
                untilMicroseconds: now.wall &+ Int64(clamping: lifetime),
                cause: cause
            )
            state.entries[key] = Entry(
                bypass: bypass,
                until: until,
                nextLifetime: lifetime.addingReportingOverflow(lifetime).partialValue,
                remembered: until &+ max(longest, Self.firstLifetime),
                isPin: state.trusting[key.who] != nil
            )
            return bypass
        }
    }

    /// The bypass of a client at an origin; nil when there is none.
    package func bypass(_ key: Key, now: UInt64) -> BypassRecord? {
        state.withLock { state in
            state.entries[key].flatMap { $0.until > now ? $0.bypass : nil }
        }
    }

    /// Notes that a client accepted a minted certificate.
    package func noteAcceptance(by who: Who, now: UInt64) {
        state.withLock { state in
            if state.trusting.count >= Self.countMax, state.trusting[who] == nil {
                let oldest = state.trusting.min { $0.value < $1.value }
                if let oldest { state.trusting[oldest.key] = nil }
            }
            state.trusting[who] = now
            if state.entries.isEmpty { return }
            state.entries = state.entries.filter { $0.key.who != who || $0.value.isPin }
        }
    }

    /// Drops all entries: the rules have changed, or more clients may trust the CA now.
    package func clear() {
        state.withLock { state in
            state.entries = [:]
            state.trusting = [:]
        }
    }

    /// The bypasses in force, the oldest first.
    package func all(now: UInt64) -> [(key: Key, bypass: BypassRecord)] {
        state.withLock { state in
            state.entries.filter { $0.value.until > now }
                .map { (key: $0.key, bypass: $0.value.bypass) }
                .sorted { $0.bypass.sinceMicroseconds < $1.bypass.sinceMicroseconds }
        }
    }

    private static func makeRoom(for key: Key, in entries: inout [Key: Entry], now: UInt64) {
        if entries.count >= countPerUserMax {
            entries = entries.filter { $0.value.remembered > now }
            let own = entries.filter {
                $0.key.who.client == key.who.client && $0.key.who.user == key.who.user
            }
            if own.count >= countPerUserMax { forgetOldest(of: own, in: &entries) }
        }
        if entries.count >= countMax { forgetOldest(of: entries, in: &entries) }
    }

    private static func forgetOldest(of some: [Key: Entry], in entries: inout [Key: Entry]) {
        if let oldest = some.min(by: { $0.value.until < $1.value.until }) {
            entries[oldest.key] = nil
        }
    }
}
