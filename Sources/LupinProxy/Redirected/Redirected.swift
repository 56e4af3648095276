// Connections of a confined command that were redirected to lupin.
import LupinCore
package import LupinIO
import Synchronization

/// What the proxy of a confined command knows of redirected connections.
package final class Redirected: Sendable {
    /// The listener that they arrive at.
    package let addresses: [SocketAddress]
    package let names = FakeIPPool()
    private let sightings = Mutex<[Sightings.Kind: Sightings]>([:])

    /// Programs and targets, in the order in which they were seen first.
    package struct Sightings: Sendable {
        package enum Kind: Sendable, CaseIterable {
            /// Connected past the proxy.
            case past
            /// Looked for a server of this machine on the command's own loopback interface.
            case missing
            /// Refused by a rule, whose name follows the target, or by a setting.
            case refused
            /// Was refused a unix socket of a program outside.
            case outside
            /// Was refused something, without a target: a unix socket without connections, rights
            /// for who runs a file, a mount namespace.
            case datagrams, rights, mounts
        }

        package struct Pair: Sendable, Hashable {
            /// nil where the program was not looked up.
            package let program: String?
            package let target: String
            /// The sentence that refuses it; nil where the target says all.
            package let reason: String?
        }

        /// How many pairs are listed; further ones are only counted.
        package static let pairsMax = 20

        package private(set) var pairs: [Pair] = []
        package private(set) var others = 0
        private var known: Set<Pair> = []

        mutating func note(_ pair: Pair) {
            guard !known.contains(pair) else { return }
            guard pairs.count < Self.pairsMax else {
                others += 1
                return
            }
            known.insert(pair)
            pairs.append(pair)
        }
    }

    package init(_ addresses: [SocketAddress]) { self.addresses = addresses }

    /// What was seen so far.
    package func seen(_ kind: Sightings.Kind) -> Sightings {
        sightings.withLock { $0[kind] ?? Sightings() }
    }

    /// Notes which program connected, and where to.
    package func note(
        _ kind: Sightings.Kind,
        _ program: String?,
        _ target: String,
        reason: String? = nil
    ) {
        let pair = Sightings.Pair(program: program, target: target, reason: reason)
        sightings.withLock { $0[kind, default: Sightings()].note(pair) }
    }

    /// The host and port that a connection is for: the name, if it was for the address of one, and
    /// one text for an address of IPv4 that is reached by a socket of either family.
    package func target(of original: SocketAddress) -> String {
        guard let name = names.name(of: original.address) else {
            let address = original.address.unmapped
            return SocketAddress(address: address, port: original.port).description
        }
        return "\(name):\(original.port)"
    }
}
