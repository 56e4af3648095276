// How another program runs the proxy in its own process.
public import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

extension Proxy {
    /// Starts a proxy inside another program.
    ///
    /// The proxy handles no signals, and only ignores SIGPIPE: for a graceful end, call ``stop()``.
    ///
    /// ```swift
    /// var hooks = Hooks()
    /// hooks.interceptor = Interceptor(adapters: [Stamp()])
    /// let proxy = try await Proxy(rulesFile: "lupin.yaml", hooks: hooks)
    /// print(proxy.urls)
    /// ```
    /// - Parameters:
    ///   - rulesFile: The path of the rules file, read again when it changes; nil for the defaults.
    ///   - environment: The variables for `${env:…}` and for the user's directories; empty by
    ///     default, so that nothing of the program's environment leaks in.
    ///   - hooks: The program's own adapters, retriers and handlers.
    ///   - logger: Where the proxy's diagnostics go.
    /// - Throws: ``StartFailure``, with nothing left running; for a bad file its message is what
    ///   `lupin check` prints.
    public convenience init(
        rulesFile: String?,
        environment: [String: String] = [:],
        hooks: Hooks = Hooks(),
        logger: Logger = Logger(label: "lupin")
    ) async throws(StartFailure) {
        let read: @Sendable () -> RulesSource.Reading = {
            guard let rulesFile else { return RulesSource.Reading(configuration: .defaults) }
            let result = RulesFile.load(
                path: rulesFile,
                environment: environment,
                tls: .openSSL
            )
            return RulesSource.Reading(
                configuration: result.configuration,
                errors: result.errors.map(\.text),
                warnings: result.warnings.map(\.text),
                files: result.files
            )
        }
        let reading = read()
        for warning in reading.warnings { logger.warning("\(warning)") }
        guard let configuration = reading.configuration else {
            throw StartFailure(
                message: reading.errors.joined(separator: "\n"),
                isBindFailure: false
            )
        }
        try await self.init(
            configuration,
            logger: logger,
            environment: environment,
            hooks: hooks,
            source: RulesSource(file: rulesFile, read: read)
        )
    }

    /// Where clients find the proxy, such as `http://127.0.0.1:8080`, with the ports that the
    /// kernel chose.
    public var urls: [String] { openListeners.map(\.proxyURL) }
}

extension ListenerSettings {
    /// The URL for clients on this machine: a wildcard address is reached by loopback.
    package var proxyURL: String {
        var address = address
        switch address {
        case .v4(0): address = .v4(0x7F00_0001)
        case .v6(0, 0): address = .v6(high: 0, low: 1)
        default: break
        }
        let scheme = tls == nil ? "http" : "https"
        return "\(scheme)://\(SocketAddress(address: address, port: port))"
    }
}
