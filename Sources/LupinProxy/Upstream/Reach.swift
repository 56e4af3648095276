// Who may use a connection that was made for somebody else.

/// Whom the access rules let use a connection that was made for somebody.
struct Reach {
    /// The number of the snapshot whose access rules these are; 0 where nobody has looked.
    var judgedBy = 0
    /// The access rules don't let everybody there.
    var isRestricted = false
    /// But they do let clients on this machine.
    var isOpenToLocalClients = false

    /// Whether a client may use it, by that very snapshot, without being looked at; `isLocal` says
    /// that it is here.
    func isOpen(toLocal isLocal: Bool, by snapshot: Snapshot) -> Bool {
        judgedBy == snapshot.number && (!isRestricted || (isOpenToLocalClients && isLocal))
    }
}
