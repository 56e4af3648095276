// Who may use a connection that was made for somebody else.
import LupinCore

/// Whom the access rules let use a connection that was made for somebody.
struct Reach {
    /// The access rules don't let everybody there.
    var isRestricted = false
    /// But they do let clients on this machine.
    var isOpenToLocalClients = false

    /// Whether `client` may use it without being looked at.
    func isOpen(to client: borrowing Client) -> Bool {
        !isRestricted || (isOpenToLocalClients && client.isLocal)
    }
}
