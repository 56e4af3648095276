// An address of `--listen`, and who can reach it.
import ArgumentParser
import LupinCore

/// `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the kernel choose.
struct ListenAddress: ExpressibleByArgument {
    let settings: ListenerSettings

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":") else { return nil }
        let digits = argument[argument.index(after: colon)...]
        var name = argument[..<colon]
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        if isBracketed { name = name.dropFirst().dropLast() }
        guard let port = NumberReader.unsigned(digits, max: 65535),
            let address = IPAddress(String(name)), isBracketed == name.contains(":")
        else { return nil }
        let number = UInt16(truncatingIfNeeded: port)
        settings = ListenerSettings(address: address, port: number)
    }
}

extension ListenerSettings {
    /// Whether only this machine reaches it.
    ///
    /// Asked of networks and not of `isLoopback`, which sees
    /// loopback in addresses that merely carry one.
    var isForThisMachineOnly: Bool {
        CIDR(.v4(0x7F00_0000), prefix: 8).contains(address)
            || CIDR(.v6(high: 0, low: 1), prefix: 128).contains(address)
    }
}
