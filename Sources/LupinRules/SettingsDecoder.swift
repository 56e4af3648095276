// What the file says outside its rules: every key is looked up in the settings table, and either
// applied, told as not available yet, or told as unknown.

import LupinCore

struct SettingsDecoder {
    let context: DecodingContext
    private(set) var settings = Settings()
    private(set) var trust = TrustDefinitions()
    private(set) var retry = RetryDefinitions()
    private(set) var cache = CacheDefinitions()
    /// The line of each key, by its dotted name.
    private(set) var lines: [String: Int] = [:]
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
        return rules
    }

    /// Tells that `lupin: 1` is missing.
    func requireVersion(at place: Place = Place(line: 1, column: 1)) {
        let message = "the file does not say the version of its format"
        context.error(.key, message, at: place, hint: "write lupin: 1 as its first line")
    }

    private func checkVersion(_ root: [YAMLNode.Entry]) {
        guard let entry = root.first(where: { $0.key == "lupin" }) else {
            requireVersion(at: root.first?.keyPlace ?? Place(line: 1, column: 1))
            return
        }
        let version = context.text(entry.value, expected: "a version", example: "lupin: 1")
        if let version, version != "1" {
            let message = "version \(version) of the format is not known"
            context.error(.range, message, at: entry.value, hint: "write lupin: 1")
        }
    }

    // MARK: Walking the table

    private mutating func decode(_ entries: [YAMLNode.Entry], in section: String) {
        for entry in entries {
            let name = section.isEmpty ? entry.key : "\(section).\(entry.key)"
            lines[name] = entry.keyPlace.line
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
        if name == "intercept.client_rejects" {
            let example = "client_rejects: {then: fail}"
            let inside = context.entries(entry.value, of: "a map", example: example)
            for entry in inside ?? [] { lines["\(name).\(entry.key)"] = entry.keyPlace.line }
            context.rejection(inside ?? [], into: &settings.intercept)
            return
        }
        let keys = SettingsTable.keys(in: name).prefix(2).map { "\($0): …" }
        let example = "\(entry.key): {\(keys.joined(separator: ", "))}"
        guard let inside = context.entries(entry.value, of: "a map", example: example) else {
            return
        }
        decode(inside, in: name)
        if name == "cache.store" { context.check(&settings.cacheStore, inside) }
        if name == "intercept.ca" { context.checkAuthority(settings.intercept.authority, entry) }
    }

    /// `cache`: the store, and policies under names that no table knows.
    private mutating func decodeCache(_ entry: YAMLNode.Entry) {
        let example = "cache: {store: {memory: 128MiB}}"
        let entries = context.entries(entry.value, of: "a map", example: example) ?? []
        for entry in entries { lines["cache.\(entry.key)"] = entry.keyPlace.line }
        if let store = entries.first(where: { $0.key == "store" }) {
            decodeSection(store, "cache.store")
        }
        cache = CacheDecoder(context: context).definitions(entries.filter { $0.key != "store" })
        settings.cache = cache.policies
    }

    private mutating func decode(_ entry: YAMLNode.Entry, _ setting: Setting) {
        if case .later(let what) = setting.availability {
            if !context.isOff(entry.value, setting.offValues) {
                context.unavailable(entry.key, what, at: entry)
            }
            return
        }
        let node = entry.value
        switch setting.section {
        case "timeouts": decodeTimeout(node, setting)
        case "limits": decodeLimit(node, setting)
        case "limits.h2": context.decode(node, setting, into: &settings.limits.http2)
        case "log", "log.rotate", "log.redact": decodeLog(node, setting)
        case "access": decodeAccess(node, setting)
        case "admin": context.decode(node, setting, into: &settings.admin)
        case "cache.store": context.decode(node, setting, into: &settings.cacheStore)
        case "upstream.tls": context.decode(entry, setting, into: &settings.upstream.tls)
        case "intercept", "intercept.ca":
            context.decode(node, setting, into: &settings.intercept)
        default: decodeOther(node, setting)
        }
    }

    // MARK: Applying

    private mutating func decodeOther(_ node: YAMLNode, _ setting: Setting) {
        switch setting.name {
        case "workers": set(&settings.workers, context.number(node, setting))
        case "upstream.proxy":
            guard let proxy = context.proxy(node) else { return }
            settings.upstream.proxy = proxy
            proxyNode = node
        case "upstream.no_proxy": set(&settings.upstream.noProxy, context.noProxy(node))
        case "upstream.pool.per_host":
            set(&settings.upstream.poolPerHost, context.number(node, setting))
        case "upstream.pool.idle": set(&settings.upstream.poolIdle, context.duration(node, setting))
        case "upstream.pool.streams":
            set(&settings.upstream.poolStreams, context.number(node, setting))
        case "upstream.dns.ttl": set(&settings.upstream.dnsTTL, context.duration(node, setting))
        case "upstream.via": set(&settings.upstream.via, context.boolean(node))
        case "tokens":
            let decoder = TokenDecoder(context: context)
            settings.tokens = decoder.definitions(node)
            context.tokenNames = decoder.names(node)
        case "retry":
            retry = RetryDecoder(context: context).definitions(node)
            settings.retry = retry.all.compactMap(\.policy)
        case "trust":
            trust = TrustDecoder(context: context).definitions(node)
        default:
            break
        }
    }

    private mutating func decodeAccess(_ node: YAMLNode, _ setting: Setting) {
        switch setting.key {
        case "clients": set(&settings.access.clients, context.networks(node))
        case "credentials": set(&settings.access.credentials, context.credentialAccess(node))
        case "connect_ports":
            if case .scalar("any", _) = node.content {
                settings.access.connectPorts = nil
            } else if let value = context.ports(node) {
                settings.access.connectPorts = value
            }
        case "deny_targets": set(&settings.access.denyTargets, context.deniedTargets(node))
        default:
            break
        }
    }

    private mutating func decodeTimeout(_ node: YAMLNode, _ setting: Setting) {
        if setting.key == "min_rate" {
            set(&settings.timeouts.minRateBytesPerSecond, context.rate(node))
            return
        }
        let value = context.duration(node, setting)
        switch setting.key {
        case "client_idle": set(&settings.timeouts.clientIdle, value)
        case "client_header": set(&settings.timeouts.clientHeader, value)
        case "sniff": set(&settings.timeouts.sniff, value)
        case "expect": set(&settings.timeouts.expect, value)
        case "dns": set(&settings.timeouts.dns, value)
        case "connect": set(&settings.timeouts.connect, value)
        case "tls": set(&settings.timeouts.tls, value)
        case "response_header": set(&settings.timeouts.responseHeader, value)
        case "idle": set(&settings.timeouts.idle, value)
        case "tunnel_idle": set(&settings.timeouts.tunnelIdle, value)
        case "drain": set(&settings.timeouts.drain, value)
        case "total": set(&settings.timeouts.total, value)
        default: break
        }
    }

    private mutating func decodeLimit(_ node: YAMLNode, _ setting: Setting) {
        let value: Int??
        if case .number = setting.kind {
            value = context.number(node, setting)
        } else {
            value = context.size(node, setting)
        }
        switch setting.key {
        case "connections": set(&settings.limits.connections, value)
        case "client_connections": set(&settings.limits.clientConnections, value)
        case "request_line": set(&settings.limits.requestLineBytes, value)
        case "header_bytes": set(&settings.limits.headerBytes, value)
        case "header_fields": set(&settings.limits.headerFields, value)
        case "trailer_bytes": set(&settings.limits.trailerBytes, value)
        case "body": set(&settings.limits.bodyBytes, value)
        case "stream_buffer": set(&settings.limits.streamBufferBytes, value)
        case "replay_memory": set(&settings.limits.replayMemoryBytes, value)
        default: break
        }
    }

    private mutating func decodeLog(_ node: YAMLNode, _ setting: Setting) {
        switch setting.name {
        case "log.to": set(&settings.log.to, context.logDestination(node))
        case "log.format":
            switch context.choice(node, setting) {
            case "json": settings.log.format = .json
            case "text": settings.log.format = .text
            case "auto": settings.log.format = .auto
            default: break
            }
        case "log.level": set(&settings.log.level, context.logLevel(node, setting))
        case "log.headers": set(&settings.log.headers, context.loggedHeaders(node))
        case "log.redact.headers":
            let value = context.texts(node, expected: "a field name", example: "[\"*-token\"]")
            if let value { settings.log.redact.headers = value.map { $0.lowercased() } }
        case "log.redact.query":
            let value = context.texts(node, expected: "a parameter", example: "[code]")
            if let value { settings.log.redact.query = value }
        case "log.rotate.size": set(&settings.log.rotateBytes, context.size(node, setting))
        case "log.rotate.keep": set(&settings.log.rotateKeep, context.number(node, setting))
        case "log.program": set(&settings.log.program, context.boolean(node))
        default:
            break
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
