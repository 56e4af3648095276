// Keeps lupin from connecting to itself, and to anything at all while a tape is played.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

extension WorkerResources {
    var isolation: LupinError? {
        guard shared.tape != nil else { return nil }
        return .notOnTape(nil, "A tape is played, so lupin connects to nothing.")
    }

    /// Why nothing may be sent over a connection: it leads to a lupin of this user, which does not
    /// serve as the parent proxy that the file names.
    func denial(
        of channel: Channel,
        to hop: NextHop,
        by access: AccessPolicy,
        in slot: ParkingSlot
    ) async -> LupinError? {
        guard let address = channel.addressOnThisMachine else { return nil }
        let reason: String
        switch await shared.marks.holder(of: address, shared.processes, slot: slot) {
        case .other: return nil
        case .own: return access.denial(ofOwn: hop.text, hop.host)
        case _ where hop.isThroughParent: return nil
        case .sibling: reason = "is another lupin of user \(ProcessOwner.userName)"
        case .unknown:
            let folders = shared.siblingFolders.joined(separator: " or ")
            reason =
                "may be another lupin of user \(ProcessOwner.userName), as \(folders) "
                + "can't be read, or other users may change it"
        }
        return access.denial(ofSibling: hop.text, hop.host, because: reason)
    }
}

extension Channel {
    /// The address at the other end, if that is this machine; nil elsewhere.
    fileprivate var addressOnThisMachine: SocketAddress? {
        guard let peer else { return nil }
        if peer.address.isLoopback { return peer }
        guard let local = localAddress,
            local.address.unmapped == peer.address.unmapped || peer.address.isUnspecified
        else { return nil }
        // The kernel connects 0.0.0.0 and :: to the address that it chose for this end.
        return SocketAddress(address: local.address, port: peer.port)
    }
}
