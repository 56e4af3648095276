// Who has connected to a socket with a path, and whether a confined command can have.
import CLinux
import Glibc
import LupinCore

/// The client of a local socket, as the kernel tells.
package struct LocalClient: Sendable, Equatable {
    /// The network that a client is in.
    package enum Network: Sendable, Equatable {
        /// This process's; the kernel tells of others since Linux 5.14.
        case own
        /// Another one of the same user namespace, as `ip netns` and VPNs make them: no confined
        /// command may do that.
        case other
        /// That of another user namespace, as each confined command has one.
        case enclosed
    }

    /// What the kernel tells of the user namespace that owns the client's network.
    package enum Owner: Sendable, Equatable {
        /// Whether it is this process's.
        case told(isOwn: Bool)
        /// It tells that to nobody without rights over the network.
        case withheld
        case unknown
    }

    package let user: UInt32?
    package let network: Network

    /// Whether this user made the connection, or root.
    package var isOwner: Bool { user == ProcessOwner.userNumber || user == 0 }

    /// The client at the other end of what was accepted from `listener`.
    init(of accepted: Int32, from listener: Int32) {
        let peer = LocalSocket.peer(of: accepted)
        user = peer?.user
        guard linux_client_is_elsewhere(listener, accepted) else {
            network = .own
            return
        }
        network = Self.network(
            ownedBy: Self.owner(of: accepted),
            isOpen: ProcessOwner.isOutermost && user == ProcessOwner.userNumber
                && ProcessOwner.userMap(of: "\(peer?.process ?? 0)")?.isWhole == true
        )
    }

    /// Judges a network that is not this process's.
    ///
    /// A user has rights over the networks of all user namespaces that the user has made, and so
    /// over those of all confined commands. Only outside of all user namespaces does it follow that
    /// another network has none of them: where `isOpen`, this process is outside of all, and the
    /// client, of the same user, seems to be.
    package static func network(ownedBy owner: Owner, isOpen: Bool) -> Network {
        switch owner {
        case .told(let isOwn): isOwn ? .other : .enclosed
        case .withheld: isOpen ? .other : .enclosed
        case .unknown: .enclosed
        }
    }

    private static func owner(of descriptor: Int32) -> Owner {
        let result = SystemCall.value { Int(linux_network_owner(descriptor)) }
        guard result >= 0 else { return result == -Int(EPERM) ? .withheld : .unknown }
        let owner = Descriptor(owning: Int32(truncatingIfNeeded: result))
        guard let own = ProcessOwner.namespace, let theirs = FileStatus(owner.raw)?.identity else {
            return .unknown
        }
        return .told(isOwn: own == theirs)
    }
}
