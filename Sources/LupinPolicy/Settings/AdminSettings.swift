// What the file says of lupin's own interface: where it can be asked, and what it remembers.

package import LupinCore

/// The keys of `admin` and their defaults.
package struct AdminSettings: Sendable, Equatable {
    /// The socket of lupin's user.
    package enum Socket: Sendable, Equatable {
        /// `lupin.sock` in the user's folder for running programs, or below the one for states.
        case automatic
        case off
        case path(String)
    }

    package var socket = Socket.automatic
    /// Exchanges kept in memory, without their bodies.
    package var history = 1000
    /// The same over TCP; nil is `off`.
    package var http: AdminHTTPSettings?

    package init() {}
}

/// `admin.http`: the address, and the token of its clients.
package struct AdminHTTPSettings: Sendable, Equatable {
    package var address: IPAddress
    package var port: UInt16
    /// What clients must show; a secret.
    package var token: String

    package init(address: IPAddress, port: UInt16, token: String) {
        self.address = address
        self.port = port
        self.token = token
    }

    /// The fewest characters of a token, so that it can't be found by trying.
    package static let tokenLengthMin = 16
}

extension AdminSettings {
    /// Where the socket goes.
    package struct Endpoint: Sendable, Equatable {
        package var path: String
        /// The directory is lupin's own, and is made when it is missing.
        package var isDirectoryOurs: Bool

        package init(path: String, isDirectoryOurs: Bool) {
            self.path = path
            self.isDirectoryOurs = isDirectoryOurs
        }
    }

    /// Where the socket goes; nil for nowhere.
    ///
    /// `environment` has `XDG_RUNTIME_DIR` and `XDG_STATE_HOME`, which count where they are whole
    /// paths; `home` is the user's, nil where there is none.
    package func endpoint(environment: [String: String], home: String?) -> Endpoint? {
        switch socket {
        case .off: return nil
        case .path(let path): return Endpoint(path: path, isDirectoryOurs: false)
        case .automatic: break
        }
        if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") {
            return Endpoint(path: "\(folder)/lupin.sock", isDirectoryOurs: false)
        }
        if let folder = environment["XDG_STATE_HOME"], folder.hasPrefix("/") {
            return Endpoint(path: "\(folder)/lupin/lupin.sock", isDirectoryOurs: true)
        }
        return home.map { home in
            Endpoint(path: "\(home)/.local/state/lupin/lupin.sock", isDirectoryOurs: true)
        }
    }
}
