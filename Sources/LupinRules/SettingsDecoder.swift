// What the file says outside its rules: every key is looked up in the settings table, and either
// applied, told as not available yet, or told as unknown.

import LupinCore
import LupinPolicy

struct SettingsDecoder {
    let context: DecodingContext
    private(set) var settings = Settings()
    private(set) var trust = TrustDefinitions()
    private(set) var retry = RetryDefinitions()
    private(set) var cache = CacheDefinitions()
    /// Where each key stands, by its dotted name.
    private(set) var places: [String: (line: Int, column: Int)] = [:]
    /// The value of `exec.env`, which may stand before the tokens.
    private var variables: YAMLNode?
    /// Where `upstream.proxy` stands, for the check against our own listeners.
    private var proxyNode: YAMLNode?

    init(context: DecodingContext) { self.context = context }

    /// Reads everything but `rules`, which it hands back.
    mutating func decode(_ root: [YAMLNode.Entry]) -> YAMLNode? {
        var rules: YAMLNode?
        for entry in root where entry.key == "rules" { rules = entry.value }
        checkVersion(root)
        decode(root.filter { $0.key != "rules" }, in: "")
        if let proxyNode {
            settings.upstream.proxy =
                context.withoutLoop(settings.upstream.proxy, settings.listeners, at: proxyNode)
        }
        for check in context.checksOfWays { check(settings.upstream) }
        if let variables {
            settings.exec.variables = context.execVariables(variables, settings.tokens)
        }
        if !settings.cacheStore.shared.isOn {
            for entry in context.sharedTokens {
                let message =
                    "tokens are shared by the server of cache.store.shared, and there is none"
                context.error(.key, message, at: entry, hint: "lupin help caching shows one")
            }
        }
        return rules
    }

    /// Tells that `lupin: 1` is missing.
    func requireVersion(at location: FileLocation = FileLocation(line: 1, column: 1)) {
        let message = "the file does not say the version of its format"
        context.error(.key, message, at: location, hint: "write lupin: 1 as its first line")
    }

    private func checkVersion(_ root: [YAMLNode.Entry]) {
        guard let entry = root.first(where: { $0.key == "lupin" }) else {
            requireVersion(at: root.first?.keyLocation ?? FileLocation(line: 1, column: 1))
            return
        }
        let version = context.text(entry.value, expected: "a version", example: "lupin: 1")
        if let version, version != "1" {
            let message = "version \(version) of the format is not known"
            context.error(.range, message, at: entry.value, hint: "write lupin: 1")
        }
    }

    // MARK: Walking the table

    private mutating func note(_ entry: YAMLNode.Entry, as name: String) {
        places[name] = (line: entry.keyLocation.line, column: entry.keyLocation.column)
    }

    private mutating func decode(_ entries: [YAMLNode.Entry], in section: String) {
        for entry in entries {
            let name = section.isEmpty ? entry.key : "\(section).\(entry.key)"
            note(entry, as: name)
            if let setting = SettingsTable.setting(name) {
                decode(entry, setting)
            } else if SettingsTable.keys(in: name).isEmpty {
                let known = SettingsTable.keys(in: section) + (section.isEmpty ? ["rules"] : [])
                context.unknownKey(entry, in: section, known: known)
            } else if let what = SettingsTable.unavailability(of: name) {
                if !context.isOff(entry.value, section: name) {
                    context.unavailable(entry.key, what, at: entry)
                }
            } else {
                decodeSection(entry, name)
            }
        }
    }

    private mutating func decodeSection(_ entry: YAMLNode.Entry, _ name: String) {
        if name == "listen" {
            if let listeners = context.listeners(entry) { settings.listeners = listeners }
            return
        }
        if name == "cache" {
            decodeCache(entry)
            return
        }
        if name == "log", case .scalar("off", _) = entry.value.content {
            settings.log.to = .off
            return
        }
        let keys = SettingsTable.keys(in: name).prefix(2).map { "\($0): …" }
        let example = "\(entry.key): {\(keys.joined(separator: ", "))}"
        guard let inside = context.entries(entry.value, of: "a map", example: example) else {
            return
        }
        decode(inside, in: name)
        if name == "cache.store" { context.check(&settings.cacheStore, inside) }
        if name == "cache.store.shared" { context.check(settings.cacheStore.shared, entry) }
        if name == "telemetry.otlp" { context.checkClearText(settings.telemetry, inside) }
        if name == "intercept.ca" { context.checkAuthority(settings.intercept.authority, entry) }
    }

    /// `cache`: the store, and policies under names that no table knows.
    private mutating func decodeCache(_ entry: YAMLNode.Entry) {
        let example = "cache: {store: {memory: 128MiB}}"
        let entries = context.entries(entry.value, of: "a map", example: example) ?? []
        for entry in entries { note(entry, as: "cache.\(entry.key)") }
        if let store = entries.first(where: { $0.key == "store" }) {
            decodeSection(store, "cache.store")
        }
        cache = CacheDecoder(context: context).definitions(entries.filter { $0.key != "store" })
        settings.cache = cache.policies
    }

    private mutating func decode(_ entry: YAMLNode.Entry, _ setting: Setting) {
        if case .later(let what) = setting.availability {
            if !context.isOff(entry.value, setting.offValues) {
                context.unavailable(entry.key, what, at: entry, hint: setting.substitute)
            }
            return
        }
        switch setting.destination {
        case .plain(let keyPath): context.take(entry.value, setting, to: keyPath, in: &settings)
        case .timeouts(let keyPath):
            context.take(entry.value, setting, to: keyPath, in: &settings.timeouts)
        case .special(let special): decode(entry, setting, special)
        // Listeners and policies are read whole.
        case .listener, .nowhere: break
        }
    }

    // MARK: Values that are more than a number or a word

    private mutating func decode(
        _ entry: YAMLNode.Entry,
        _ setting: Setting,
        _ special: Setting.Special
    ) {
        let node = entry.value
        switch special {
        // It was read before all others.
        case .version: break
        case .clients: set(&settings.access.clients, context.networks(node))
        case .credentials: set(&settings.access.credentials, context.credentialAccess(node))
        case .connectPorts: set(&settings.access.connectPorts, context.portsOrAny(node))
        case .opaquePorts: set(&settings.access.opaquePorts, context.portsOrAny(node))
        case .denyTargets: set(&settings.access.denyTargets, context.deniedTargets(node))
        case .upstreamProxy:
            guard let proxy = context.proxy(node) else { return }
            settings.upstream.proxy = proxy
            proxyNode = node
        case .noProxy: set(&settings.upstream.noProxy, context.noProxy(node))
        case .offeredProtocols:
            set(&settings.upstream.tls.protocols, context.offeredProtocols(node))
        case .trustAnchors: set(&settings.upstream.tls.roots, context.trustAnchors(node))
        case .clientCertificate:
            let files = context.certificateFiles(entry, off: "none")
            set(&settings.upstream.tls.clientCertificate, files)
        case .neverDecrypted:
            set(&settings.intercept.except, context.all(node, context.hostPattern))
        case .authorityCertificate:
            context.placeCertificate(node, in: &settings.intercept.authority)
        case .authorityKey: context.placeKey(node, in: &settings.intercept.authority)
        case .tokens:
            let decoder = TokenDecoder(context: context)
            settings.tokens = decoder.definitions(node)
            context.tokenNames = decoder.names(node)
        case .retry:
            retry = RetryDecoder(context: context).definitions(node)
            settings.retry = retry.all.compactMap(\.policy)
        case .trust: trust = TrustDecoder(context: context).definitions(node)
        case .cachePath:
            set(&settings.cacheStore.path, context.cacheFolder(node, setting))
        case .sharedServer:
            set(&settings.cacheStore.shared.server, context.sharedServer(node))
        case .sharedKey: set(&settings.cacheStore.shared.key, context.sharedKey(node))
        case .logDestination: set(&settings.log.to, context.logDestination(node))
        case .logHeaders: set(&settings.log.headers, context.loggedHeaders(node))
        case .redactedHeaders: set(&settings.log.redact.headers, context.redactedHeaders(node))
        case .redactedParameters:
            let names = context.texts(node, expected: "a parameter", example: "[code]")
            set(&settings.log.redact.query, names)
        case .redactedMembers:
            let names = context.texts(node, expected: "a name", example: "[pin]")
            set(&settings.log.redact.json, names)
        case .capturePath: set(&settings.capture.path, context.captureFolder(node, setting))
        case .tapeIgnored: set(&settings.tape.ignore, context.all(node, context.tapePart))
        case .tapeMatched: set(&settings.tape.match, context.all(node, context.tapeField))
        // The tokens that it names may follow.
        case .execVariables: variables = node
        case .telemetryURL: set(&settings.telemetry.collector, context.collector(node))
        case .telemetryHeaders: set(&settings.telemetry.headers, context.collectorFields(node))
        case .telemetryTraces: set(&settings.telemetry.traces, context.keptTraces(node))
        case .telemetryMetrics: set(&settings.telemetry.metrics, context.metricInterval(node))
        case .telemetryPrometheus: set(&settings.telemetry.prometheus, context.listenEndpoint(node))
        case .adminSocket: set(&settings.admin.socket, context.adminSocket(node))
        case .adminHTTP: set(&settings.admin.http, context.adminHTTP(node))
        }
    }
}

extension DecodingContext {
    /// Whether a section that is not available yet asks for nothing.
    fileprivate func isOff(_ node: YAMLNode, section: String) -> Bool {
        if node.isEmpty { return true }
        guard case .map(let entries) = node.content else { return false }
        return entries.allSatisfy { entry in
            let name = "\(section).\(entry.key)"
            if let setting = SettingsTable.setting(name) {
                return isOff(entry.value, setting.offValues)
            }
            return SettingsTable.keys(in: name).isEmpty ? false : isOff(entry.value, section: name)
        }
    }
}
