// The address in `--listen`.
import ArgumentParser
import LupinCore
import LupinPolicy

/// `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the kernel choose.
struct ListenAddress {
    let settings: ListenerSettings

    /// - Throws: A sentence about what is wrong with `argument`.
    init(argument: String) throws {
        guard let (address, port) = AuthorityText.listener(argument) else {
            throw ValidationError(Self.problem(with: argument))
        }
        settings = ListenerSettings(address: address, port: port)
    }

    private static func problem(with argument: String) -> String {
        guard let colon = argument.lastIndex(of: ":") else {
            return "\"\(argument)\" has no port: write 127.0.0.1:8080"
        }
        let port = argument[argument.index(after: colon)...]
        let name = argument[..<colon]
        if NumberReader.unsigned(port, max: 65535) == nil {
            return "\"\(port)\" is no port: it is a number from 0 to 65535"
        }
        if IPAddress(String(name)) != nil {
            return "an IPv6 address stands in brackets: [\(name)]:\(port)"
        }
        let hint = name == "localhost" ? "write 127.0.0.1 or [::1]" : "names are not resolved here"
        return "\"\(name)\" is no IP address: \(hint)"
    }
}
