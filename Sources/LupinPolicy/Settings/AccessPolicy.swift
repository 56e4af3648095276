// Who is served, and which targets are refused whatever the rules say.

package import LupinCore

/// The access settings, asked before any rule.
///
/// A class, since every exchange asks it, and a struct of its size would be copied each time.
package final class AccessPolicy: Sendable {
    private let settings: AccessSettings
    /// Where this process listens.
    private let listeners: [(address: IPAddress, port: UInt16)]
    private let deniedHosts: [HostPattern]

    /// - Parameters:
    ///   - settings: All settings: the addresses of admin interface and metrics count as
    ///     listeners, too.
    ///   - listeners: Where this process listens for clients.
    package init(_ settings: Settings, listeners: [(address: IPAddress, port: UInt16)]) {
        self.settings = settings.access
        let admin = settings.admin.http.map { (address: $0.address, port: $0.port) }
        let metrics = settings.telemetry.prometheus.map { (address: $0.address, port: $0.port) }
        self.listeners = listeners + [admin, metrics].compactMap(\.self)
        deniedHosts = self.settings.denyTargets.compactMap { target in
            guard case .host(let pattern) = target else { return nil }
            return pattern
        }
    }

    /// Whether a client at `address` is served at all.
    package func admits(client address: IPAddress) -> Bool {
        settings.clients.contains { $0.contains(address) }
    }

    package func allowsConnect(toPort port: UInt16) -> Bool {
        settings.connectPorts?.contains(port) ?? true
    }

    /// Whether a tunnel to `port` may carry what is neither TLS nor HTTP, under an allow list, too.
    package func mayBeOpaque(port: UInt16) -> Bool { settings.opaquePorts?.contains(port) ?? true }

    /// Whether TLS that offers Encrypted ClientHello gets no tunnel.
    package var refusesHiddenNames: Bool { settings.ech == .refuse }

    /// Whether a name inside a tunnel may be refused.
    package var judgesNames: Bool { !deniedHosts.isEmpty || refusesHiddenNames }

    /// Why a host may not be reached, by its name alone; nil when nothing speaks against it.
    package func denial(ofName host: Host) -> LupinError? {
        for pattern in deniedHosts where pattern.matches(host) {
            return LupinError.request(
                status: 403,
                host: host.text,
                detail: "access.deny_targets lists \(host.text)."
            )
        }
        return nil
    }

    /// Why an address may not be connected to; nil when nothing speaks against it.
    ///
    /// `host` is the name that was resolved to it. A `client` that is not on this machine is kept
    /// from its loopback too. `isHostFromFile` says that the host stands literally in a `url:` step
    /// or is the parent proxy: the file's owner chose it, so `loopback` and `private` do not apply.
    package func denial(
        of address: IPAddress,
        port: UInt16,
        host: Host,
        client: IPAddress,
        isHostFromFile: Bool
    ) -> LupinError? {
        if isOwn(address, port) {
            return denial(ofOwn: "\(address.text):\(port)", host)
        }
        for target in settings.denyTargets
        where denies(target, address, isExempt: isHostFromFile) {
            return prohibited(address, host, because: "access.deny_targets forbids it")
        }
        if !Self.isLocal(client), !isHostFromFile, address.reachesLoopback {
            return prohibited(
                address,
                host,
                because: "clients from elsewhere may not reach this machine"
            )
        }
        return nil
    }

    /// Whether the listeners of this user's lupin processes are refused as targets.
    package var deniesSelf: Bool { settings.isForConfined || settings.denyTargets.contains(.own) }

    /// Why nothing may be sent to this lupin; nothing came back to it, so this is no loop.
    package func denial(ofOwn place: String, _ host: Host) -> LupinError {
        denial(ofLupin: place, host, "is lupin itself", "its page is http://lupin/.")
    }

    /// Why nothing may be sent to a place that is, or may be, another lupin of this user.
    package func denial(ofSibling place: String, _ host: Host, because what: String) -> LupinError {
        denial(ofLupin: place, host, what, "upstream.proxy may name it as parent proxy.")
    }

    private func denial(
        ofLupin place: String,
        _ host: Host,
        _ what: String,
        _ advice: String
    ) -> LupinError {
        // Whatever the file says of its owner's tools.
        let reason =
            settings.isForConfined
            ? ": a confined command never reaches a lupin of yours"
            : " (access.deny_targets: [self])"
        return LupinError(
            .destinationIPProhibited,
            host: host.text,
            detail: "\(place) \(what)\(reason); \(advice)"
        )
    }

    private func denies(
        _ target: DeniedTarget,
        _ address: IPAddress,
        isExempt: Bool
    ) -> Bool {
        switch target {
        case .linkLocal: address.isLinkLocal || address.isMetadata
        case .metadata: address.isMetadata
        case .privateNetwork: !isExempt && address.isPrivate
        case .loopback: !isExempt && address.reachesLoopback
        case .network(let network): network.contains(address)
        case .own, .host: false
        }
    }

    private func isOwn(_ address: IPAddress, _ port: UInt16) -> Bool {
        guard deniesSelf else { return false }
        for listener in listeners where listener.port == port {
            if listener.address == address.unmapped { return true }
            let reachesListener = listener.address.reachesLoopback
            if address.reachesLoopback, reachesListener { return true }
        }
        return false
    }

    /// Whether a client is on this machine by the address itself.
    ///
    /// Addresses that merely embed a loopback one do not count.
    package static func isLocal(_ client: IPAddress) -> Bool {
        CIDR.loopback.contains { $0.contains(client) }
    }

    private func prohibited(
        _ address: IPAddress,
        _ host: Host,
        because reason: String
    ) -> LupinError {
        LupinError(
            .destinationIPProhibited,
            host: host.text,
            detail: "\(address.text): \(reason)."
        )
    }
}
