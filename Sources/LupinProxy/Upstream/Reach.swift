// Who may use a connection that was made for somebody else.

/// Whom the access rules let use a connection that was made for somebody.
struct Reach {
    /// The access rules don't let everybody there.
    var isRestricted = false
    /// But they do let clients on this machine.
    var isOpenToLocalClients = false

    /// Whether a client may use it without being looked at; `isLocal` says that it is here.
    func isOpen(toLocal isLocal: Bool) -> Bool {
        !isRestricted || (isOpenToLocalClients && isLocal)
    }
}
