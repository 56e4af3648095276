// An address of `--listen`, and the URL by which clients reach a listener.
import ArgumentParser
import LupinCore
import LupinIO

/// `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the kernel choose.
struct ListenAddress: ExpressibleByArgument {
    let settings: ListenerSettings

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":") else { return nil }
        let digits = argument[argument.index(after: colon)...]
        var name = argument[..<colon]
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        if isBracketed { name = name.dropFirst().dropLast() }
        guard digits.utf8.allSatisfy(\.isASCIIDigit), let port = UInt16(digits),
            let address = IPAddress(String(name)), isBracketed == name.contains(":")
        else { return nil }
        settings = ListenerSettings(address: address, port: port)
    }
}

extension ListenerSettings {
    /// The URL for clients on this machine: a wildcard address is reached by loopback.
    var proxyURL: String {
        var address = address
        switch address {
        case .v4(0): address = .v4(0x7F00_0001)
        case .v6(0, 0): address = .v6(high: 0, low: 1)
        default: break
        }
        let scheme = tls == nil ? "http" : "https"
        return "\(scheme)://\(SocketAddress(address: address, port: port))"
    }

    /// Whether only this machine reaches it.
    ///
    /// Asked of networks and not of `isLoopback`, which sees
    /// loopback in addresses that merely carry one.
    var isForThisMachineOnly: Bool {
        CIDR(.v4(0x7F00_0000), prefix: 8).contains(address)
            || CIDR(.v6(high: 0, low: 1), prefix: 128).contains(address)
    }
}
