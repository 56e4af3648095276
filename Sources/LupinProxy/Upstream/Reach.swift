// Who may use a connection that was made for somebody else.

/// Whom the access rules let use a connection that was made for somebody.
struct Reach {
    /// The access rules don't let everybody there.
    var isRestricted = false
    /// But they do let clients on this machine.
    var isOpenToLocalClients = false
}
