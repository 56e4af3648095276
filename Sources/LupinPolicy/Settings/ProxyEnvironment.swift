// What `http_proxy` and its relatives mean: which parent proxy, and which hosts go without one.

package import LupinCore

/// One entry of `upstream.no_proxy` or of the `NO_PROXY` variable.
///
/// Programs disagree about the forms, so every one in use is understood: a name covers itself and
/// all names below it, with or without a leading dot or `*.`; `*` covers everything; addresses,
/// networks, `10.*` and `10.` cover literal addresses; each may end in `:port`.
package struct NoProxyEntry: Sendable, Equatable {
    package enum Target: Sendable, Equatable {
        case everything
        /// A canonical name without leading dot: itself and what is below it.
        case name(String)
        case network(CIDR)
    }

    package var target: Target
    /// nil covers every port.
    package var port: UInt16?

    package init(_ target: Target, port: UInt16? = nil) {
        self.target = target
        self.port = port
    }

    /// The entry that `text` spells, or nil when it is none of the forms.
    package init?(_ text: String) {
        if let network = CIDR(text) {
            self.init(.network(network))
            return
        }
        var name = Substring(text)
        var port: UInt16?
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") {
            port = NumberReader.port(name[name.index(after: colon)...])
            guard port != nil else { return nil }
            name = name[..<colon]
        }
        if name == "*" {
            self.init(.everything, port: port)
            return
        }
        if let network = NoProxyEntry.network(from: name) {
            self.init(.network(network), port: port)
            return
        }
        if name.hasPrefix("*.") { name = name.dropFirst(2) }
        if name.hasPrefix(".") { name = name.dropFirst() }
        guard !name.contains("*"), let host = Host(String(name)) else { return nil }
        if let address = host.address, let network = CIDR(address.text) {
            self.init(.network(network), port: port)
        } else {
            self.init(.name(host.text), port: port)
        }
    }

    /// The network of `10.*`, `192.168.*.*` or `10.1.`, whose first bytes are these.
    private static func network(from text: Substring) -> CIDR? {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true { parts[parts.count - 1] = "*" }
        let bytes = parts.prefix { $0 != "*" }
        guard (1...3).contains(bytes.count), (bytes.count + 1...4).contains(parts.count),
            parts[bytes.count...].allSatisfy({ $0 == "*" }),
            bytes.allSatisfy({ NumberReader.unsigned(Array($0.utf8).span, max: 255) != nil })
        else { return nil }
        let zeros = Array(repeating: "0", count: 4 - bytes.count)
        return CIDR("\((bytes.map(String.init) + zeros).joined(separator: "."))/\(8 * bytes.count)")
    }

    /// The entry in one of its forms, such as `127.0.0.0/8` or `corp.example:8080`.
    package var text: String {
        let endpoint =
            switch target {
            case .everything: "*"
            case .name(let name): name
            case .network(let network): network.text
            }
        return port.map { "\(endpoint):\($0)" } ?? endpoint
    }

    /// Whether a request to `host` and `port` goes without the parent proxy.
    package func bypasses(host: Host, port: UInt16) -> Bool {
        if let wanted = self.port, wanted != port { return false }
        switch target {
        case .everything:
            return true
        case .network(let network):
            guard let address = host.address else { return false }
            return network.contains(address)
        case .name(let name):
            guard host.address == nil, host.text.hasSuffix(name) else { return false }
            let rest = host.text.utf8.dropLast(name.utf8.count)
            return rest.isEmpty || rest.last == UInt8(ascii: ".")
        }
    }
}

extension [NoProxyEntry] {
    /// `[localhost, 127.0.0.0/8, "::1"]`: what no parent proxy could reach for us.
    package static let localOnly =
        [NoProxyEntry(.name("localhost"))] + CIDR.loopback.map { NoProxyEntry(.network($0)) }

    /// Whether one of the entries covers `host` and `port`.
    package func bypasses(host: Host, port: UInt16) -> Bool {
        for entry in self where entry.bypasses(host: host, port: port) { return true }
        return false
    }
}

/// Why a text is not the URL of a proxy that lupin can use.
package struct ProxyURLProblem: Error, Equatable {
    /// A sentence without the URL, which may hold a password.
    package var message: String
    /// The kind of proxy is understood and comes with a later version.
    package var isUnavailable = false
}

extension ParentProxy {
    /// The proxy at `url`, which is `http[s]://[user:password@]host[:port]`.
    ///
    /// The scheme may be missing, as many programs accept it in variables; then it is http.
    /// Userinfo is percent-decoded (RFC 3986 §2.1).
    package init(url: String) throws(ProxyURLProblem) {
        var rest = Substring(url)
        var scheme = Scheme.http
        if let marker = rest.firstRange(of: "://") {
            let name = rest[..<marker.lowerBound].lowercased()
            switch name {
            case "http": scheme = .http
            case "https": scheme = .https
            default: throw ParentProxy.problem(withScheme: name)
            }
            rest = rest[marker.upperBound...]
        }
        if let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
            guard rest[end...] == "/" else {
                throw ProxyURLProblem(message: "a proxy is a host and a port, without a path")
            }
            rest = rest[..<end]
        }
        var userinfo: String?
        if let at = rest.lastIndex(of: "@") {
            guard let bytes = Array(rest[..<at].utf8).span.percentDecoded,
                let decoded = String(validating: bytes, as: UTF8.self)
            else {
                throw ProxyURLProblem(message: "a % in the user or password must be written %25")
            }
            userinfo = decoded
            rest = rest[rest.index(after: at)...]
        }
        var port = scheme.defaultPort
        if let colon = rest.lastIndex(of: ":"), !rest.hasSuffix("]") {
            guard let number = NumberReader.port(rest[rest.index(after: colon)...]) else {
                throw ProxyURLProblem(message: "the port of a proxy is a number from 1 to 65535")
            }
            port = number
            rest = rest[..<colon]
        }
        guard !rest.isEmpty, let host = Host(String(rest)) else {
            throw ProxyURLProblem(message: "the host of the proxy is not a name or an address")
        }
        self.init(scheme: scheme, host: host, port: port, userinfo: userinfo)
    }

    private static func problem(withScheme scheme: String) -> ProxyURLProblem {
        switch scheme {
        case "socks", "socks4", "socks4a", "socks5", "socks5h":
            ProxyURLProblem(message: "a SOCKS parent proxy", isUnavailable: true)
        default:
            ProxyURLProblem(message: "a parent proxy is reached by http or https")
        }
    }
}

/// What the variables of lupin's own environment say, read once when the file is loaded.
package struct ProxyEnvironment: Sendable, Equatable {
    /// For `http` requests; nil is direct.
    package var http: ParentProxy?
    /// For CONNECT and `https`; nil is direct.
    package var https: ParentProxy?
    package var noProxy: [NoProxyEntry] = []
    /// What could not be understood: the variable and a sentence.
    package var problems: [(variable: String, problem: ProxyURLProblem)] = []
    /// Why no request of the scheme can take its proxy; the direct way would not be what was meant.
    private var httpObstacle: String?
    private var httpsObstacle: String?

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`; lower case wins over upper.
    ///
    /// `HTTP_PROXY` is ignored where `REQUEST_METHOD` is set: there a client's `Proxy` field would
    /// have chosen it. A variable that is set but empty means direct.
    package init(_ environment: [String: String]) {
        func variable(_ name: String, upper: Bool = true) -> (name: String, value: String)? {
            if let value = environment[name] { return (name, value) }
            guard upper, let value = environment[name.uppercased()] else { return nil }
            return (name.uppercased(), value)
        }
        let all = variable("all_proxy")
        let runsAsCGI = environment["REQUEST_METHOD"] != nil
        (http, httpObstacle) = read(variable("http_proxy", upper: !runsAsCGI) ?? all)
        (https, httpsObstacle) = read(variable("https_proxy") ?? all)
        guard let (name, value) = variable("no_proxy") else { return }
        for text in value.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }) {
            if let entry = NoProxyEntry(String(text)) {
                noProxy.append(entry)
            } else {
                let message = "\"\(text)\" is not a host, an address or a network"
                problems.append((name, ProxyURLProblem(message: message)))
            }
        }
    }

    /// The way of a request.
    package func way(for scheme: Scheme, host: Host, port: UInt16) -> UpstreamWay {
        if noProxy.bypasses(host: host, port: port) { return .direct }
        if let proxy = scheme == .http ? http : https { return .parent(proxy) }
        return (scheme == .http ? httpObstacle : httpsObstacle).map(UpstreamWay.none) ?? .direct
    }

    private mutating func read(
        _ variable: (name: String, value: String)?
    ) -> (proxy: ParentProxy?, obstacle: String?) {
        guard let (name, value) = variable, !value.isEmpty else { return (nil, nil) }
        do {
            return (try ParentProxy(url: value), nil)
        } catch {
            if !problems.contains(where: { $0.variable == name }) { problems.append((name, error)) }
            let remedy = "write the URL of an HTTP proxy, or direct, into `upstream.proxy`"
            return (nil, "\(name) names no proxy that lupin can use (\(error.message)); \(remedy)")
        }
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.http == b.http && a.https == b.https && a.noProxy == b.noProxy
            && a.httpObstacle == b.httpObstacle && a.httpsObstacle == b.httpsObstacle
            && a.problems.elementsEqual(b.problems) {
                $0.variable == $1.variable && $0.problem == $1.problem
            }
    }
}

/// The way of a request to its origin.
package enum UpstreamWay: Sendable, Equatable {
    case direct
    case parent(ParentProxy)
    /// The environment names a proxy that can't be used; a clause says which.
    case none(String)
}

extension UpstreamSettings {
    /// The way that a request goes.
    ///
    /// `scheme` is `https` for a CONNECT; `override` is the `proxy:` of a rule.
    package func way(
        for scheme: Scheme,
        host: Host,
        port: UInt16,
        override: UpstreamProxy? = nil
    ) -> UpstreamWay {
        if noProxy.bypasses(host: host, port: port) { return .direct }
        let proxy = override ?? proxy
        if isOwnName(host, by: proxy, for: [scheme]) { return .direct }
        switch proxy {
        case .direct: return .direct
        case .parent(let parent): return .parent(parent)
        case .environment(let environment):
            return environment.way(for: scheme, host: host, port: port)
        }
    }

    /// Whether no machine on a network reads what is sent to `origin`: by TLS, or since neither the
    /// origin nor the parent proxy on the way is on another machine.
    ///
    /// `override` is the `proxy:` of a rule.
    package func protects(_ origin: Origin, override: UpstreamProxy? = nil) -> Bool {
        if origin.scheme == .https { return true }
        guard origin.host.isLoopback else { return false }
        let way = way(for: .http, host: origin.host, port: origin.port, override: override)
        return if case .parent(let parent) = way { parent.host.isLoopback } else { true }
    }

    /// Whether a request in clear to `host` may stay on this machine: at some port, by one of the
    /// proxies that rules name.
    package func mayProtect(_ host: Host, overrides: [UpstreamProxy]) -> Bool {
        var ports = [Scheme.http.defaultPort] + noProxy.compactMap(\.port)
        for case .environment(let environment) in overrides + [proxy] {
            ports += environment.noProxy.compactMap(\.port)
        }
        return ports.contains { port in
            let origin = Origin(scheme: .http, host: host, port: port)
            return protects(origin) || overrides.contains { protects(origin, override: $0) }
        }
    }

    /// Whether only this machine is meant by a name below `localhost`: a parent proxy elsewhere
    /// would take it for itself, or ask its DNS.
    private func isOwnName(
        _ host: Host,
        by proxy: UpstreamProxy,
        for schemes: [Scheme] = [.http, .https]
    ) -> Bool {
        if host.loopbackAddresses == nil { return false }
        let parents: [ParentProxy] =
            switch proxy {
            case .direct: []
            case .parent(let parent): [parent]
            case .environment(let environment):
                schemes.compactMap { $0 == .http ? environment.http : environment.https }
            }
        return parents.isEmpty || !parents.allSatisfy(\.host.isLoopback)
    }
}

// MARK: What goes without a parent proxy

extension UpstreamSettings {
    /// Why a request goes direct although a parent proxy is set, as a clause; nil where it goes by
    /// one, or where none is set.
    package func exception(
        for scheme: Scheme,
        host: Host,
        port: UInt16,
        override: UpstreamProxy? = nil
    ) -> String? {
        switch override ?? proxy {
        case .direct: return nil
        case .parent(let parent): return exception(for: host, port: port, by: .parent(parent))
        case .environment(let environment):
            let parent = scheme == .http ? environment.http : environment.https
            guard let parent else { return nil }
            if let exception = exception(for: host, port: port, by: .parent(parent)) {
                return exception
            }
            return environment.noProxy.first { $0.bypasses(host: host, port: port) }
                .map { "no_proxy of the environment lists \($0.text)" }
        }
    }

    /// Why the proxy of `rule` is never used, as a clause: all its hosts go without one.
    package func exception(forAllOf rule: Rule) -> String? {
        guard let proxy = rule.proxy, proxy != .direct else { return nil }
        // Requests that it sends elsewhere are another matter.
        if rule.changesTarget || rule.matches.isEmpty { return nil }
        var first: String?
        for match in rule.matches {
            guard let hosts = match.hosts, !hosts.isEmpty else { return nil }
            for pattern in hosts {
                guard let exception = exception(forAllOf: pattern, by: proxy) else { return nil }
                first = first ?? exception
            }
        }
        return first
    }

    private func exception(forAllOf pattern: HostPattern, by proxy: UpstreamProxy) -> String? {
        var first: String?
        let other = pattern.first { part in
            // A name that goes direct takes along what is below it.
            let host =
                part.exactHost
                ?? part.starredName.flatMap {
                    Host(String(decoding: $0.name, as: UTF8.self))
                }
            guard let host, part.exactHost != nil || host.address == nil,
                let exception = exception(for: host, port: nil, by: proxy)
            else { return true }
            first = first ?? exception
            return false
        }
        return other == nil ? first : nil
    }

    /// The same for a host, and for all its ports if `port` is nil.
    private func exception(for host: Host, port: UInt16?, by proxy: UpstreamProxy) -> String? {
        if isOwnName(host, by: proxy) { return "\(host.text) is this machine" }
        let entry = noProxy.first { entry in
            (port != nil || entry.port == nil) && entry.bypasses(host: host, port: port ?? 0)
        }
        return entry.map { "upstream.no_proxy lists \($0.text)" }
    }
}
