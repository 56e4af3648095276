// Which clients may use a connection that was made for another one.

/// Which clients the access rules let use a connection that was made for another client.
package struct AddressAccess {
    /// The number of the snapshot whose access rules were checked; 0 before any check.
    package var judgedBy: Int
    /// The kernel was asked whether another lupin serves it, as `access.deny_targets: self` wants.
    package var isKnownNotOwn: Bool
    /// The access rules deny the peer to some clients.
    var isRestricted: Bool
    /// The access rules allow the peer to clients on this machine.
    var isOpenToLocalClients: Bool

    package init(
        judgedBy: Int = 0,
        isKnownNotOwn: Bool = false,
        isRestricted: Bool = false,
        isOpenToLocalClients: Bool = false
    ) {
        self.judgedBy = judgedBy
        self.isKnownNotOwn = isKnownNotOwn
        self.isRestricted = isRestricted
        self.isOpenToLocalClients = isOpenToLocalClients
    }

    /// Returns true when a client may use the connection without another check, under exactly that
    /// snapshot, by its number; `isLocal` means that the client is on this machine.
    package func isOpen(toLocal isLocal: Bool, by snapshot: Int) -> Bool {
        judgedBy == snapshot && (!isRestricted || (isOpenToLocalClients && isLocal))
    }
}
