// Which clients may use a connection that was made for another one.

/// Which clients the access rules let use a connection that was made for another client.
struct Reach {
    /// The number of the snapshot whose access rules were checked; 0 before any check.
    var judgedBy = 0
    /// The kernel was asked whether another lupin serves it, as `access.deny_targets: self` wants.
    var isKnownNotOwn = false
    /// The access rules deny the peer to some clients.
    var isRestricted = false
    /// The access rules allow the peer to clients on this machine.
    var isOpenToLocalClients = false

    /// Returns true when a client may use the connection without another check, under exactly that
    /// snapshot; `isLocal` means that the client is on this machine.
    func isOpen(toLocal isLocal: Bool, by snapshot: Snapshot) -> Bool {
        judgedBy == snapshot.number && (!isRestricted || (isOpenToLocalClients && isLocal))
    }
}
