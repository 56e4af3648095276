// Who is in another network, and whether that may be a confined command.
import LupinIO
import Testing

struct LocalClientTests {
    private static let networks: [(LocalClient.Owner, isOpen: Bool, LocalClient.Network)] = [
        (.told(isOwn: true), false, .other), (.told(isOwn: true), true, .other),
        (.told(isOwn: false), false, .enclosed), (.told(isOwn: false), true, .enclosed),
        (.withheld, true, .other), (.withheld, false, .enclosed),
        (.unknown, true, .enclosed), (.unknown, false, .enclosed),
    ]

    @Test(arguments: networks)
    func `another network is open unless a user namespace owns it, or may own it`(
        owner: LocalClient.Owner,
        isOpen: Bool,
        network: LocalClient.Network
    ) {
        #expect(LocalClient.network(ownedBy: owner, isOpen: isOpen) == network)
    }
}
