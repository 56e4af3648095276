// Addresses that stand for names: a command without a network gets one for every name that it
// resolves, so that its connection tells the name.
package import LupinCore
import Synchronization

/// The names that were resolved, each with an address of its own.
///
/// The addresses are from the range for network benchmarks (RFC 2544), which no host has.
package final class FakeIPPool: Sendable {
    /// How many names have an address at a time; a new one replaces the oldest.
    package static let countMax = 60_000

    private struct State {
        var addresses: [String: UInt32] = [:]
        /// In the order in which they came; used as a ring.
        var names: [String] = []
        var next = 0
    }

    /// The first address, 198.18.0.1.
    private static let first: UInt32 = 0xC612_0001
    private let state = Mutex(State())

    package init() {}

    /// The address that stands for a name.
    package func address(of name: String) -> IPAddress {
        state.withLock { state in
            if let known = state.addresses[name] { return .v4(known) }
            let index = state.next
            let address = Self.first + UInt32(truncatingIfNeeded: index)
            if index == state.names.count {
                state.names.append(name)
            } else {
                state.addresses[state.names[index]] = nil
                state.names[index] = name
            }
            state.addresses[name] = address
            state.next = (index + 1) % Self.countMax
            return .v4(address)
        }
    }

    /// The name that an address stands for; nil for any other address.
    package func name(of address: IPAddress) -> String? {
        guard case .v4(let number) = address.unmapped, number >= Self.first else { return nil }
        let index = Int(number - Self.first)
        return state.withLock { state in
            index < state.names.count ? state.names[index] : nil
        }
    }
}
