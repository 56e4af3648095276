// Whose kept bodies are counted together.

/// The user of a client, as reported by the kernel or a password.
package enum ClientUser: Hashable, Sendable {
    /// The authenticated user of this name.
    case named(String)
    /// The user that created the client's socket.
    case number(UInt32)
    /// A client on another machine, or one that the kernel does not know.
    case unknown
}
