// What the file says of the store that several machines share.

package import LupinCore

/// The keys of `cache.store.shared` and their defaults.
package struct SharedStoreSettings: Sendable, Equatable {
    /// Where the server is; nil is `off`.
    package var server: SharedServer?
    /// The team's key, a secret: it signs what is stored, and names it.
    package var key = ""
    /// The longest time that a response stays there.
    package var lifetimeMax = Duration.seconds(7 * 24 * 3600)
    /// The largest response that is stored there, head and body.
    package var objectBytesMax = 1 << 20
    /// How long a request waits for the server.
    package var timeout = Duration.milliseconds(50)
    /// How long other machines leave a fetch to the one that announced it.
    package var lease = Duration.seconds(10)
    /// How long a request waits for another machine's fetch.
    package var collapseWait = Duration.seconds(2)

    /// The fewest characters of `key`.
    package static let keyLengthMin = 32

    package init() {}

    /// Whether there is a store.
    package var isOn: Bool { server != nil && !key.isEmpty }
}

/// A Redis or Valkey server, or the first node of a cluster.
package struct SharedServer: Sendable, Hashable {
    /// How it is reached.
    package enum Endpoint: Sendable, Hashable {
        case network(Host, UInt16)
        /// A socket with this path.
        case path(String)
    }

    package var endpoint: Endpoint
    /// With TLS.
    package var isSecure = false
    /// nil for the server's default user.
    package var user: String?
    /// A secret.
    package var password: String?
    /// The number of the database; a cluster has only 0.
    package var database = 0

    /// Text for people, without user and password.
    package var text: String {
        switch endpoint {
        case .network(let host, let port): "\(host.uriText):\(port)"
        case .path(let path): path
        }
    }

    /// Why a text is no URL of a server.
    package struct Problem: Error, Equatable {
        /// A sentence without the URL, which may have a password.
        package var message: String
    }

    /// The largest number of a database.
    private static let databaseMax: UInt64 = 1023

    /// Parses `redis[s]://[user:password@]host[:port][/database]` or
    /// `unix://[user:password@]/path[?db=database]`; userinfo is percent-decoded.
    package init(url: String) throws(Problem) {
        guard let marker = url.firstRange(of: "://") else {
            throw Problem(message: "a server needs a scheme: redis, rediss or unix")
        }
        var rest = url[marker.upperBound...]
        let scheme = url[..<marker.lowerBound].lowercased()
        var credentials: Substring?
        if let at = rest.lastIndex(of: "@") {
            credentials = rest[..<at]
            rest = rest[rest.index(after: at)...]
        }
        switch scheme {
        case "redis", "rediss":
            isSecure = scheme == "rediss"
            let (authority, path) = Self.cut(rest, at: "/")
            endpoint = try Self.network(authority)
            if let path, !path.isEmpty { database = try Self.database(path) }
        case "unix":
            let (path, query) = Self.cut(rest, at: "?")
            guard path.hasPrefix("/"), path.utf8.count < 108 else {
                throw Problem(message: "a socket's path begins with / and has 107 bytes at most")
            }
            endpoint = .path(String(path))
            if let query {
                guard query.hasPrefix("db=") else {
                    throw Problem(message: "behind the path of a socket only ?db=NUMBER may stand")
                }
                database = try Self.database(query.dropFirst(3))
            }
        default: throw Problem(message: "a server is reached by redis, rediss or unix")
        }
        if let credentials { (user, password) = try Self.credentials(credentials) }
    }

    private static func cut(_ text: Substring, at mark: Character) -> (Substring, Substring?) {
        guard let at = text.firstIndex(of: mark) else { return (text, nil) }
        return (text[..<at], text[text.index(after: at)...])
    }

    private static func network(_ authority: Substring) throws(Problem) -> Endpoint {
        var name = authority
        var port: UInt16 = 6379
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") {
            guard let number = NumberReader.port(name[name.index(after: colon)...]) else {
                throw Problem(message: "the port of a server is a number from 1 to 65535")
            }
            port = number
            name = name[..<colon]
        }
        guard !name.isEmpty, let host = Host(String(name)) else {
            throw Problem(message: "the host of the server is not a name or an address")
        }
        return .network(host, port)
    }

    private static func database(_ text: Substring) throws(Problem) -> Int {
        guard let number = NumberReader.unsigned(text, max: databaseMax) else {
            throw Problem(message: "the database of a server is a number from 0 to \(databaseMax)")
        }
        // Bounded: `databaseMax`.
        return Int(number)
    }

    private static func credentials(_ text: Substring) throws(Problem) -> (String?, String?) {
        let (user, password) = cut(text, at: ":")
        func decoded(_ part: Substring) throws(Problem) -> String? {
            if part.isEmpty { return nil }
            guard let bytes = Array(part.utf8).span.percentDecoded,
                let text = String(validating: bytes, as: UTF8.self)
            else {
                throw Problem(message: "a % in the user or password must be written %25")
            }
            return text
        }
        guard let password, !password.isEmpty else {
            throw Problem(message: "a user without a password; write user:password@, or :password@")
        }
        return (try decoded(user), try decoded(password))
    }
}
