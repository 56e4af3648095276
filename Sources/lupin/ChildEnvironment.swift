// The variables that send each kind of program through lupin and make it trust lupin's CA.
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy

/// The variables for programs that use the proxy, shared by `exec`, `env` and `doctor`.
struct ChildEnvironment {
    /// The hosts that tools on this machine reach without lupin.
    enum Exceptions {
        /// The user's exceptions and the names of this machine, except those that rules name.
        case usual(RuleSet)
        /// The names of this machine alone: what else a tape misses, a user's exceptions hide.
        case machine(RuleSet)
        /// The machine of a confined command is its own network: every name of its loopback
        /// interface, with those that the hosts file has.
        case confined(RuleSet, names: [String])
        /// None: everything goes through lupin.
        case none

        /// Names and plain addresses mean the same to all tools; networks, wildcards and brackets
        /// don't.
        fileprivate static let machine = ["localhost", "127.0.0.1", "::1"]

        /// The names of this machine that tools reach without lupin.
        fileprivate var ownNames: [String] {
            rules == nil ? [] : Self.machine.filter(isOwn)
        }

        /// Whether no rule names a host.
        ///
        /// A rule for localhost shows that such requests must go through lupin; an entry for a name
        /// means all names below, too.
        private func isOwn(_ name: String) -> Bool {
            guard let rules else { return false }
            return Host(name).map { host in !rules.rules.contains { $0.names(host) } } ?? true
                && !names { $0.hasSuffix(".\(name)") }
        }

        /// What else a confined command may call itself.
        ///
        /// Tools compare texts, so an address stands in each form that they make of it.
        fileprivate var furtherNames: [String] {
            guard case .confined(_, let names) = self else { return [] }
            let known = Self.forms + names.map { ($0, [$0]) }
            let forms = known.filter { isOwn($0.0) }.flatMap(\.1)
            return namesLoopback ? forms : forms + ["127.0.0.0/8"]
        }

        /// The forms of addresses by the one that a rule would name.
        private static let forms = [
            ("::1", ["[::1]"]), ("0.0.0.0", ["0.0.0.0", "::", "[::]"]),
            ("127.0.1.1", ["127.0.1.1"]),
            (
                "127.0.0.1",
                [
                    "::ffff:127.0.0.1", "[::ffff:127.0.0.1]", "::ffff:7f00:1", "[::ffff:7f00:1]",
                ]
            ),
        ]

        /// Whether rules name an address that a pattern for all of this machine would cover.
        fileprivate var namesLoopback: Bool { names { $0.hasPrefix("127.") } }

        private var rules: RuleSet? {
            switch self {
            case .usual(let rules), .machine(let rules), .confined(let rules, _): rules
            case .none: nil
            }
        }

        private func names(_ isMeant: (String) -> Bool) -> Bool {
            let matches = rules?.rules.flatMap(\.matches) ?? []
            return matches.contains { $0.hosts?.contains { isMeant($0.source) } ?? false }
        }
    }

    /// The environment to extend.
    var environment: [String: String]
    let proxy: ProxyAddress
    let without: Exceptions
    /// nil when only the proxy's address is set.
    let files: BundleFiles?
    /// The variables with stand-ins for credentials.
    var standIns: [(name: String, value: String)] = []

    /// The variables to set, each once, in the order of the listing.
    var changes: [(name: String, value: String)] {
        var changes = ChildVariables.proxy.map { ($0, proxy.url) }
        let exceptions = exceptions
        changes += ChildVariables.exceptions.map { ($0, exceptions.joined(separator: ",")) }
        // Read from 22.21 and 24.5 on; older versions get the script in NODE_OPTIONS.
        changes.append(("NODE_USE_ENV_PROXY", "1"))
        if let files {
            for name in ChildVariables.bundles + ChildVariables.additions {
                if let file = files.bundles[name] { changes.append((name, file)) }
            }
            if let settings = files.wgetSettings { changes.append(("WGETRC", settings)) }
            changes.append(("NODE_OPTIONS", appended("NODE_OPTIONS", nodeOptions(files))))
            if let folder = files.programs {
                changes.append(("PATH", "\(folder):\(environment["PATH"] ?? Self.usualPath)"))
            }
        }
        changes.append(("JAVA_TOOL_OPTIONS", appended("JAVA_TOOL_OPTIONS", javaOptions)))
        return changes
    }

    /// The whole environment as `NAME=value` lines, sorted.
    var lines: [String] {
        var all = environment
        for (name, value) in changes + standIns { all[name] = value }
        return all.map { "\($0.key)=\($0.value)" }.sorted()
    }

    private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

    /// The user's exceptions, then this machine: programs that test themselves expect to reach a
    /// local server directly, unless a rule names it.
    private var exceptions: [String] {
        if case .none = without { return [] }
        var entries: [String] = []
        if case .usual = without {
            // Of both: programs differ in which one they read first.
            for own in ["no_proxy", "NO_PROXY"].compactMap({ environment[$0] }) {
                let names = own.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
                for name in names where !entries.contains(name) { entries.append(name) }
            }
        }
        for name in without.ownNames + without.furtherNames where !entries.contains(name) {
            entries.append(name)
        }
        return entries
    }

    // MARK: Node.js

    private func nodeOptions(_ files: BundleFiles) -> String {
        "--require=\(quoted(files.nodeProxy, escaping: true))"
    }

    // MARK: Java

    private var javaProxy: String {
        var options: [String] = []
        for scheme in ["http", "https"] {
            options.append("-D\(scheme).proxyHost=\(proxy.host)")
            options.append("-D\(scheme).proxyPort=\(proxy.port)")
        }
        // One property for both schemes. Java's patterns only know the wildcard *.
        let machine = ["localhost": "localhost", "127.0.0.1": "127.*", "::1": "[::1]"]
        let further = without.furtherNames
        let others = exceptions.filter { machine[$0] == nil && !further.contains($0) }
        let own = without.ownNames.compactMap { machine[$0] }
            .filter { !($0 == "127.*" && without.namesLoopback) }
        // To any list that isn't empty Java adds all three; a rule names one that is missing.
        var hosts = others.isEmpty && own.count < machine.count ? [] : own
        for entry in others {
            guard !entry.contains("/"), !entry.contains("|"), !entry.contains(" ") else { continue }
            let name = entry.hasPrefix("*.") ? entry.dropFirst() : Substring(entry)
            if !name.hasPrefix(".") { hosts.append(String(name)) }
            if name != "*" { hosts.append(name.hasPrefix(".") ? "*\(name)" : "*.\(name)") }
        }
        // It knows no networks, and has IPv6 in brackets.
        if !hosts.isEmpty {
            hosts += further.filter { name in
                !name.contains("/") && (name.hasPrefix("[") || !name.contains(":"))
                    && !hosts.contains(name)
            }
        }
        options.append("-Dhttp.nonProxyHosts=\(quoted(hosts.joined(separator: "|")))")
        return options.joined(separator: " ")
    }

    private var javaOptions: String {
        // A user's own store stays in force: it may hold CAs that lupin doesn't know.
        guard let store = files?.javaTrust, !Self.hasJavaStore(environment) else {
            return javaProxy
        }
        return javaProxy + " -Djavax.net.ssl.trustStoreType=JKS"
            + " -Djavax.net.ssl.trustStore=\(quoted(store))"
    }

    /// Whether the user names a trust store for Java, which lupin neither reads nor replaces.
    static func hasJavaStore(_ environment: [String: String]) -> Bool {
        environment["JAVA_TOOL_OPTIONS"]?.contains("javax.net.ssl.trustStore=") ?? false
    }

    // MARK: Texts

    /// Returns the variable's value followed by `addition`, unless it contains it already.
    private func appended(_ name: String, _ addition: String) -> String {
        guard let own = environment[name], !own.isEmpty else { return addition }
        return own.contains(addition) ? own : "\(own) \(addition)"
    }

    /// Quotes a word of an option list when it contains a space.
    private func quoted(_ text: String, escaping: Bool = false) -> String {
        guard text.contains(" ") else { return text }
        let inner = escaping ? text.replacing("\\", with: "\\\\") : text
        return "\"\(inner)\""
    }
}

/// The address of a proxy, in the forms that programs need.
struct ProxyAddress: Equatable {
    /// `http://[user:password@]host:port`.
    let url: String
    /// Without the brackets of an IPv6 address.
    let host: String
    let port: UInt16

    /// Parses the URL of a proxy, as in `http_proxy`.
    init(url: String) throws(ProxyURLProblem) {
        let parent = try ParentProxy(url: url)
        self.url = url.contains("://") ? url : "http://\(url)"
        host = parent.host.address?.text ?? parent.host.text
        port = parent.port
    }

    /// Where lupin listens, as clients on this machine connect to it.
    init(_ address: SocketAddress) {
        self.init(ListenerSettings(address: address.address, port: address.port))
    }

    /// A listener of lupin's, as clients on this machine connect to it.
    init(_ listener: ListenerSettings) {
        url = listener.proxyURL
        let isIPv6 = url.hasPrefix("http://[")
        let end = url.lastIndex(of: ":") ?? url.endIndex
        host = String(url[..<end].dropFirst(isIPv6 ? 8 : 7).prefix { $0 != "]" })
        port = listener.port
    }
}
