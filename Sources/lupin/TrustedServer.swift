// Whose a lupin must be before a command tells it anything, or believes it.
import LupinCore
import LupinIO

/// The users whose lupin the commands of this user use: this user, root, and the packaged
/// service's.
///
/// A port, or a path in a shared folder, is no identity: with no lupin running any user can listen
/// there. So the kernel is asked about the very connection.
enum TrustedServer {
    /// The user of the system's service, as its unit names it.
    private static let serviceUser = "lupin"

    private static func isTrusted(_ user: UInt32) -> Bool {
        user == SystemUsers.own || user == 0 || user == SystemUsers.number(of: serviceUser)
    }

    /// Why what serves a place is left alone; nil when its user is one of them.
    static func refusal(of endpoint: String, servedBy user: UInt32?) -> String? {
        guard let user else {
            return "the kernel does not tell which user serves \(endpoint), so it is left alone"
        }
        if isTrusted(user) { return nil }
        let name = LogText.plain(SystemUsers.name(of: user) ?? "\(user)")
        return "\(endpoint) is served by user \(name), not by you, root or the service's user "
            + "\(serviceUser), so it is left alone"
    }

    /// The same for a proxy that the user named; nil also where the kernel knows of no process
    /// there.
    static func refusal(of proxy: ProxyAddress) -> String? {
        let addresses: [IPAddress] =
            proxy.host == "localhost"
            ? [.v4(0x7F00_0001), .v6(high: 0, low: 1)] : [IPAddress(proxy.host)].compactMap(\.self)
        for address in addresses where address.isLoopback {
            let endpoint = SocketAddress(address: address, port: proxy.port)
            guard let user = ProcessLookup.userServing(endpoint) else { continue }
            if let refusal = refusal(of: "\(endpoint)", servedBy: user) { return refusal }
        }
        return nil
    }
}
