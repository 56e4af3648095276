// The variables that send each kind of program through lupin and make it trust lupin's CA.
import LupinCore
import LupinIO
import LupinProxy

/// The variables for programs that use the proxy, shared by `exec`, `env` and `doctor`.
struct ChildEnvironment {
    /// The hosts that tools on this machine reach without lupin.
    enum Exceptions {
        /// The user's exceptions and the names of this machine, except those that rules name.
        case usual(RuleSet)
        /// The names of this machine alone: what else a tape misses, a user's exceptions hide.
        case machine(RuleSet)
        /// None: everything goes through lupin.
        case none

        /// Names and plain addresses mean the same to all tools; networks, wildcards and brackets
        /// don't.
        fileprivate static let machine = ["localhost", "127.0.0.1", "::1"]

        /// The names of this machine that tools reach without lupin.
        fileprivate var ownNames: [String] {
            let rules: RuleSet
            switch self {
            case .usual(let all), .machine(let all): rules = all
            case .none: return []
            }
            return Self.machine.filter { name in
                // A rule for localhost shows that such requests must go through lupin.
                Host(name).map { host in !rules.rules.contains { $0.names(host) } } ?? true
            }
        }
    }

    /// Tools disagree about the case of names, so both forms are set.
    static let proxyNames = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"]
    static let exceptionNames = ["no_proxy", "NO_PROXY"]

    /// Variables that name a file with all the CAs to trust.
    static let bundleNames = [
        // OpenSSL's own: Python's ssl and httpx, Ruby, PHP streams, wget2, rustls-native-certs. Go
        // and .NET read it too. SSL_CERT_DIR stays: its CAs are trusted in addition.
        "SSL_CERT_FILE",
        "NIX_SSL_CERT_FILE",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "PIP_CERT",
        "HTTPLIB2_CA_CERTS",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "AWS_CA_BUNDLE",
        "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "npm_config_cafile",
        "BUNDLE_SSL_CA_CERT",
        "PERL_LWP_SSL_CA_FILE",
    ]

    /// Variables that name CAs to trust in addition to the program's own.
    static let additionNames = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"]

    /// The environment to extend.
    let environment: [String: String]
    let proxy: ProxyAddress
    let without: Exceptions
    /// nil when only the proxy's address is set.
    let files: BundleFiles?

    /// The variables to set, each once, in the order of the listing.
    var changes: [(name: String, value: String)] {
        var changes = Self.proxyNames.map { ($0, proxy.url) }
        let exceptions = exceptions
        changes += Self.exceptionNames.map { ($0, exceptions.joined(separator: ",")) }
        // Read from 22.21 and 24.5 on; older versions get the script in NODE_OPTIONS.
        changes.append(("NODE_USE_ENV_PROXY", "1"))
        if let files {
            for name in Self.bundleNames + Self.additionNames {
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

    /// The names in `changes` that concern certificates or name files of lupin's.
    static var trustNames: [String] {
        ["NODE_USE_ENV_PROXY"] + bundleNames + additionNames
            + ["WGETRC", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS"]
    }

    /// The whole environment as `NAME=value` lines, sorted.
    var lines: [String] {
        var all = environment
        for (name, value) in changes { all[name] = value }
        return all.map { "\($0.key)=\($0.value)" }.sorted()
    }

    private static let usualPath = "/usr/local/bin:/usr/bin:/bin"

    /// The user's exceptions, then this machine: programs that test themselves expect to reach a
    /// local server directly, unless a rule names it.
    private var exceptions: [String] {
        if case .none = without { return [] }
        var own = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        if case .machine = without { own = "" }
        var entries = own.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
        for name in without.ownNames where !entries.contains(name) { entries.append(name) }
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
        var hosts = without.ownNames.compactMap { machine[$0] }
        for entry in exceptions where machine[entry] == nil {
            guard !entry.contains("/"), !entry.contains("|"), !entry.contains(" ") else { continue }
            let name = entry.hasPrefix("*.") ? entry.dropFirst() : Substring(entry)
            if !name.hasPrefix(".") { hosts.append(String(name)) }
            if name != "*" { hosts.append(name.hasPrefix(".") ? "*\(name)" : "*.\(name)") }
        }
        options.append("-Dhttp.nonProxyHosts=\(quoted(hosts.joined(separator: "|")))")
        return options.joined(separator: " ")
    }

    private var javaOptions: String {
        // A user's own store stays in force: it may hold CAs that lupin doesn't know.
        let own = environment["JAVA_TOOL_OPTIONS"] ?? ""
        guard let store = files?.javaTrust, !own.contains("javax.net.ssl.trustStore=") else {
            return javaProxy
        }
        return javaProxy + " -Djavax.net.ssl.trustStoreType=JKS"
            + " -Djavax.net.ssl.trustStore=\(quoted(store))"
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
