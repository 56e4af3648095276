// What a configuration says of reaching servers.
package import LupinCore
import LupinIO
package import LupinPolicy

/// What one configuration says of reaching servers; immutable.
package final class UpstreamPolicy: Sendable {
    package let settings: UpstreamSettings
    package let limits: Limits
    package let access: AccessPolicy
    /// The TLS contexts for origins, as rules demand them.
    package let securities: OriginSecurities
    /// Those of the settings; a rule may set others.
    package let timeouts: ConnectTimeouts

    package init(_ settings: Settings, access: AccessPolicy, anchors: SharedAnchors) {
        self.settings = settings.upstream
        self.access = access
        limits = settings.limits
        securities = OriginSecurities(settings.upstream.tls, anchors: anchors)
        timeouts = ConnectTimeouts(
            dns: settings.timeouts.dns.microseconds,
            connect: settings.timeouts.connect.microseconds,
            tls: settings.timeouts.tls.microseconds
        )
    }
}

/// How long the steps to a connection may take, in microseconds.
package struct ConnectTimeouts: Sendable {
    package let dns: UInt64
    /// For the socket, and for a parent proxy's tunnel.
    package let connect: UInt64
    package let tls: UInt64

    package init(dns: UInt64, connect: UInt64, tls: UInt64) {
        self.dns = dns
        self.connect = connect
        self.tls = tls
    }
}
