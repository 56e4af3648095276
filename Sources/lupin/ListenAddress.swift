// An address of `--listen`.
import ArgumentParser
import LupinCore

/// `127.0.0.1:8080`, `[::1]:8080`; port 0 lets the kernel choose.
struct ListenAddress: ExpressibleByArgument {
    let settings: ListenerSettings

    init?(argument: String) {
        guard let (address, port) = AuthorityText.listener(argument) else { return nil }
        settings = ListenerSettings(address: address, port: port)
    }
}
