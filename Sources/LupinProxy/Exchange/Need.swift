// What an exchange can't go on without, and the word for it.

/// What an exchange needs before it can go on.
///
/// Events bring bytes; for everything else it gets a task, which waits for it, and metrics count
/// why, by these words.
package enum Need: String, CaseIterable, Sendable {
    /// Bytes of a connection: they come, or can be sent.
    case bytes
    /// The listener requires a password.
    case password
    /// A CONNECT becomes a tunnel, or is intercepted.
    case connect
    /// An extended CONNECT (RFC 8441).
    case webSocket = "websocket"
    /// The client waits for 100 (Continue).
    case expectation
    /// An embedding program takes part in every step.
    case interceptor
    /// The request is for lupin itself.
    case ownAnswer = "own-answer"
    /// A timeout could expire before the exchange is checked.
    case shortTimeout = "short-timeout"
    case purge
    /// The kernel must be asked for the client's user.
    case unknownClient = "unknown-client"
    /// A rule, or the tape that is played, demands something that needs a wait.
    case demand
    /// A credential must be fetched.
    case credential
    case upgrade
    /// The response is not in the cache's memory, or must be validated.
    case store
    /// No connection is available.
    case connection
    case clientLeft = "client-left"
    case failure
    /// A decision about the response.
    case verdict
    /// It took so long that timeouts begin to matter.
    case lateness
    /// lupin stops, or the exchange was cancelled.
    case cut
}
