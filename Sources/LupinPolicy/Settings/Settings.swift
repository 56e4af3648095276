// What a checked rules file says outside its rules; every default lives in these initial values.

package import LupinCore

/// The settings of one snapshot.
///
/// The values are checked already, so users of it need not check them again.
package struct Settings: Sendable, Equatable {
    /// Event loops; nil is `auto`: cores, at most 4.
    package var workers: Int?
    package var listeners: [ListenerSettings] = [ListenerSettings()]
    package var access = AccessSettings()
    package var upstream = UpstreamSettings()
    package var intercept = InterceptSettings()
    package var timeouts = Timeouts()
    package var limits = Limits()
    package var log = LogSettings()
    /// Where credentials come from, in the order of the file.
    package var tokens: [TokenDefinition] = []
    /// The file's own retry policies, in its order; `RetryPolicy.builtIn` are there besides.
    package var retry: [RetryPolicy] = []
    package var cacheStore = CacheStoreSettings()
    /// `standard`, which the file may change, and the file's own cache policies in its order.
    package var cache: [CachePolicy] = [.standard]
    package var capture = CaptureSettings()
    package var tape = TapeSettings()
    package var exec = ExecSettings()
    package var standIns = StandInSettings()
    package var telemetry = TelemetrySettings()
    package var admin = AdminSettings()

    package init() {}
}

/// One address that lupin accepts connections on.
package struct ListenerSettings: Sendable, Equatable {
    /// A literal address; port 0 lets the kernel choose.
    package var address = IPAddress.v4(0x7F00_0001)
    package var port: UInt16 = 8080
    /// What clients may speak.
    package var protocols: ListenProtocols = [.http1, .http2]
    /// The certificate with which clients reach lupin by https; nil is `off`.
    package var tls: CertificateFiles?
    package var authentication = ClientAuthentication.none
    /// The user of all its clients, where the kernel can't be asked; nil asks it.
    package var user: UInt32?
    /// Whether its clients know of no proxy: the kernel leads connections here that are for others.
    package var isForRedirected = false

    package init() {}

    package init(address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// Whether only this machine reaches it.
    package var isForThisMachineOnly: Bool { AccessPolicy.isLocal(address) }
}

/// Who may use the proxy and where they may go, before any rule is asked.
package struct AccessSettings: Sendable, Equatable {
    /// Client addresses that are served; others get 403.
    package var clients = CIDR.loopback
    /// Who may use rules that hold secrets.
    package var credentials = CredentialAccess.owner
    /// Ports that CONNECT may reach; nil is `any`.
    package var connectPorts: PortSet?
    /// Ports to which a tunnel may carry what shows no name; nil is `any`.
    package var opaquePorts: PortSet? = PortSet([])
    package var denyTargets: [DeniedTarget] = [.linkLocal, .own]
    /// Whether the clients are a confined command, which must not watch or control lupin: whatever
    /// the file allows to the user's own tools, no lupin is its target.
    package var isForConfined = false
    /// What becomes of a tunnel whose TLS may hide its server name.
    package var ech = HiddenNames.any
    /// What becomes of paths that servers read in different ways.
    package var paths = PathReadings.strict
}

/// `access.paths`: whether a path is refused for which other rules hold as some servers read it.
package enum PathReadings: String, SettingWord { case strict, lenient }

/// `access.ech`: what becomes of a tunnel whose TLS offers Encrypted ClientHello.
package enum HiddenNames: String, SettingWord { case any, refuse }

/// `access.credentials`: which clients may use rules that hold secrets.
package enum CredentialAccess: Sendable, Hashable {
    /// The user that lupin runs as, and root.
    case owner
    case any
    /// These users, by name.
    case users([String])

    /// Whether a user of this name may; `owner` is the user that lupin runs as, if known.
    package func admits(_ user: String, owner: String?) -> Bool {
        switch self {
        case .owner: user == owner || user == "root"
        case .any: true
        case .users(let names): names.contains(user)
        }
    }
}

/// One entry of `access.deny_targets`.
package enum DeniedTarget: Sendable, Equatable {
    /// `link-local`: 169.254.0.0/16, fe80::/10 and what cloud metadata services answer on.
    case linkLocal
    /// `self`: lupin's own listeners.
    case own
    /// `private`: RFC 1918 and unique local addresses.
    case privateNetwork
    /// `loopback`: 127.0.0.0/8, ::1 and the unspecified address.
    case loopback
    /// `metadata`: the addresses of cloud metadata services.
    case metadata
    case network(CIDR)
    case host(HostPattern)
}

/// A set of ports, as ranges.
package struct PortSet: Sendable, Equatable {
    package var ranges: [ClosedRange<UInt16>]

    package init(_ ranges: [ClosedRange<UInt16>]) { self.ranges = ranges }

    package func contains(_ port: UInt16) -> Bool {
        ranges.contains { $0.contains(port) }
    }
}

/// How lupin reaches origins.
package struct UpstreamSettings: Sendable, Equatable {
    package var proxy = UpstreamProxy.direct
    package var noProxy: [NoProxyEntry] = .localOnly
    /// Idle connections kept to one host, for the whole process.
    package var poolPerHost = 32
    package var poolIdle = Duration.seconds(300)
    /// Requests that lupin has open on one HTTP/2 connection at a time; the origin may allow fewer.
    package var poolStreams = 100
    package var dnsTTL = Duration.seconds(30)
    package var tls = UpstreamTLSSettings()
    /// Whether `Via` is added, both ways.
    package var via = true
    /// Whether a response with a `ResponseFlaw` is refused.
    package var isStrict = false

    package init() {}
}

/// The next hop towards all origins.
package enum UpstreamProxy: Sendable, Equatable {
    case direct
    /// `http_proxy` and friends of lupin's own environment, read once when the file is loaded.
    case environment(ProxyEnvironment)
    case parent(ParentProxy)
}

/// A parent HTTP proxy.
package struct ParentProxy: Sendable, Equatable, Hashable {
    /// `https` for TLS to the proxy itself.
    package var scheme = Scheme.http
    package var host: Host
    package var port: UInt16
    /// `user:password` for Basic, percent-decoded; a secret.
    package var userinfo: String?

    package init(scheme: Scheme = .http, host: Host, port: UInt16, userinfo: String? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.userinfo = userinfo
    }
}

/// The keys of `timeouts` and their defaults; nil is `none`.
package struct Timeouts: Sendable, Equatable {
    package var clientIdle = Duration.seconds(75)
    package var clientHeader = Duration.seconds(10)
    /// Bytes a request body must bring per second, measured over 30 s; nil is off.
    package var minRateBytesPerSecond: Int?
    package var sniff = Duration.milliseconds(200)
    package var expect = Duration.seconds(1)
    package var dns = Duration.seconds(5)
    package var connect = Duration.seconds(15)
    package var tls = Duration.seconds(15)
    package var responseHeader = Duration.seconds(600)
    package var idle = Duration.seconds(600)
    package var tunnelIdle = Duration.seconds(7200)
    package var drain = Duration.seconds(30)
    package var total: Duration?

    package init() {}
}
