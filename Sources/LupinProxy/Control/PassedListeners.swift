// Which listener of the settings each socket of the service manager belongs to: by its address, and
// for the admin socket by its name or path.
package import LupinIO
import LupinPolicy

/// The listening sockets that the process was started with.
package struct PassedListeners: Sendable {
    private let sockets: [PassedSocket]

    package static let none = PassedListeners([])
    /// The name of the admin socket, `FileDescriptorName=admin`.
    package static let adminName = "admin"

    package init(_ sockets: [PassedSocket]) { self.sockets = sockets }

    package var isEmpty: Bool { sockets.isEmpty }

    /// The socket that listens on an address.
    func socket(at address: SocketAddress) -> PassedSocket? {
        sockets.first { $0.endpoint == .address(address) }
    }

    /// Whether clients of the proxy wait in a socket while lupin starts again.
    func serves(_ listeners: [ListenerSettings]) -> Bool {
        listeners.contains { listener in
            socket(at: SocketAddress(address: listener.address, port: listener.port)) != nil
        }
    }

    /// The socket of the admin interface for this user: the one with its name, or at its path.
    func adminSocket(at path: String?) -> PassedSocket? {
        sockets.first { socket in
            guard case .path(let own) = socket.endpoint else { return false }
            return socket.name == Self.adminName || own == path
        }
    }

    /// The sockets that no listener of the settings names, a sentence each.
    ///
    /// A client that connects to such a socket would wait for ever.
    func problems(_ settings: Settings, environment: [String: String]) -> [String] {
        var addresses = settings.listeners.map {
            SocketAddress(address: $0.address, port: $0.port)
        }
        if let http = settings.admin.http {
            addresses.append(SocketAddress(address: http.address, port: http.port))
        }
        let home = ProcessOwner.home(environment)
        let path = settings.admin.endpoint(environment: environment, home: home)?.path
        let admin = settings.admin.socket == .off ? nil : adminSocket(at: path)
        return sockets.compactMap { socket in
            switch socket.endpoint {
            case .address(let address):
                guard !addresses.contains(address) else { return nil }
                return "the service manager passed a socket on \(address), and no listener of the "
                    + "rules file has this address: write it under listen, or change ListenStream="
            case .path(let path):
                guard socket !== admin else { return nil }
                return "the service manager passed the socket \(path), which is not the admin "
                    + "socket: write FileDescriptorName=admin, and not admin: {socket: off}"
            }
        }
    }
}
