// Connections of a confined command that were led to lupin, though they were for somebody else.
package import LupinIO
import Synchronization

/// What the proxy of a confined command knows of connections that it was not asked for.
package final class Redirected: Sendable {
    /// Where they arrive.
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
            /// Was refused by a rule or a list; the target is followed by the reason.
            case refused
            /// Was refused a unix socket of a program outside.
            case outside
            /// Was refused a unix socket without connections; there is no target.
            case datagrams
        }

        package struct Pair: Sendable, Hashable {
            /// nil where nobody asked for it.
            package let program: String?
            package let target: String
        }

        /// How many pairs are told apart; the others are counted.
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
    package func note(_ kind: Sightings.Kind, _ program: String?, _ target: String) {
        let pair = Sightings.Pair(program: program, target: target)
        sightings.withLock { $0[kind, default: Sightings()].note(pair) }
    }

    /// The host and port that a connection is for: the name, if it was for the address of one.
    package func target(of original: SocketAddress) -> String {
        guard let name = names.name(of: original.address) else { return original.description }
        return "\(name):\(original.port)"
    }
}
