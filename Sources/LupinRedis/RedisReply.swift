// What a Redis or Valkey server says, and why its bytes may not be a reply (RESP2).

/// One reply of a server.
package enum RedisReply: Sendable, Equatable {
    /// A null: there is no such key, or the condition of a SET was not met.
    case nothing
    case integer(Int64)
    /// A short text such as `OK`.
    case status(String)
    case text([UInt8])
    /// An error of the server, such as `MOVED 3999 127.0.0.1:6381`.
    case failure(String)
    case list([RedisReply])

    /// The bytes of a text; nil for every other reply.
    package var bytes: [UInt8]? { if case .text(let bytes) = self { bytes } else { nil } }

    /// The number; nil for every other reply.
    package var number: Int64? { if case .integer(let number) = self { number } else { nil } }
}

/// Why the bytes of a server are no replies.
package enum RedisProblem: Error, Equatable, Sendable {
    /// They don't follow RESP2; the text has nothing of theirs.
    case malformed(String)
    /// A reply is longer than what may be held.
    case tooLong
    /// The server doesn't let us in; the text is its own.
    case refused(String)

    /// A sentence without a full stop.
    package var sentence: String {
        switch self {
        case .malformed(let text): "it said what is no reply: \(text)"
        case .tooLong: "its reply is too long"
        // What follows the first word may repeat the password.
        case .refused(let text): "it refused the login: \(text.prefix { $0 != " " }.prefix(40))"
        }
    }
}
