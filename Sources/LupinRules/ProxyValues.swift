// Decodes `proxy:` at the top and in rules: direct, the environment's, or a parent; never lupin.

import LupinCore
import LupinPolicy

extension DecodingContext {
    private static let proxyExample = "http://proxy.example:3128"

    /// Decodes `direct`, `environment` or a URL; returns nil after reporting a problem.
    func proxy(_ node: YAMLNode) -> UpstreamProxy? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(
                node,
                "direct, environment or a URL",
                write: DecodingContext.proxyExample
            )
        }
        switch raw {
        case "direct": return .direct
        case "environment": return environmentProxy(node)
        default: return parentProxy(raw, at: node).map { .parent($0) }
        }
    }

    private func environmentProxy(_ node: YAMLNode) -> UpstreamProxy? {
        noteUnread()
        let environment = ProxyEnvironment(surroundings.environment)
        for (variable, problem) in environment.problems {
            let code = problem.isUnavailable ? Diagnostic.Code.unavailable : .environment
            let isList = variable.lowercased() == "no_proxy"
            let hint = isList ? "taken as if it were not there" : "requests that need it get 502"
            let text =
                problem.isUnavailable
                ? DecodingContext.unavailability(variable, problem.message)
                : "\(variable): \(problem.message)"
            warning(code, text, at: node, hint: hint)
        }
        for case let userinfo? in [environment.http?.userinfo, environment.https?.userinfo] {
            taint(userinfo)
        }
        return .environment(environment)
    }

    private func parentProxy(_ raw: String, at node: YAMLNode) -> ParentProxy? {
        guard let url = userinfoURL(raw, at: node) else { return nil }
        guard url.contains("://") else {
            let known = ["direct", "environment"]
            if Self.meaning(of: url) == false {
                error(.name, "unknown proxy \"\(url)\"", at: node, hint: "write direct")
            } else if let near = nearest(to: url, among: known) {
                let message = "unknown proxy \"\(url)\""
                error(.name, message, at: node, hint: "did you mean \"\(near)\"?")
            } else {
                let isAddress = (try? ParentProxy(url: "http://\(url)")) != nil && url.contains(":")
                let example = isAddress ? "http://\(url)" : DecodingContext.proxyExample
                error(.type, "a proxy needs a scheme", at: node, hint: "write \(example)")
            }
            return nil
        }
        do {
            let proxy = try ParentProxy(url: url)
            if let userinfo = proxy.userinfo { taint(userinfo) }
            return proxy
        } catch {
            if error.isUnavailable {
                let scheme = String(url[..<(url.firstRange(of: "://")?.lowerBound ?? url.endIndex)])
                let hint = "name its port for HTTP, if it has one: \(DecodingContext.proxyExample)"
                unavailable(scheme, error.message, at: node, hint: hint)
            } else {
                let message = error.message
                self.error(.type, message, at: node, hint: "write \(DecodingContext.proxyExample)")
            }
            return nil
        }
    }

    /// Fills in the references of the URL.
    ///
    /// References before a literal `@` are percent-encoded, so that a password may contain `@`, `/`
    /// and `%`.
    func userinfoURL(_ raw: String, at node: YAMLNode) -> String? {
        let pieces = ValuePiece.pieces(of: raw)
        let lastAt = pieces.lastIndex {
            if case .text(let text) = $0 { return text.contains("@") }
            return false
        }
        guard let lastAt else { return resolved(raw, role: .userinfo, at: node) }
        guard acceptsVariables(of: raw, isCredential: true, at: node) else { return nil }
        var result = ""
        for (index, piece) in pieces.enumerated() {
            guard case .text(let value) = part(piece, role: .userinfo, at: node) else { return nil }
            if case .text = piece {
                result += value
            } else {
                result +=
                    index < lastAt
                    ? value.percentEncoded { $0.isUnreserved || $0 == 0x3A } : value
            }
        }
        return result
    }

    /// Both the userinfo and its password are redacted.
    private func taint(_ userinfo: String) {
        add(secret: userinfo)
        if let colon = userinfo.firstIndex(of: ":") {
            add(secret: String(userinfo[userinfo.index(after: colon)...]))
        }
    }
}

// MARK: Our own listeners

extension DecodingContext {
    /// Removes a proxy that points at one of our own listeners: reports an error for a parent in
    /// the file, and a warning for the environment's, which becomes direct.
    func withoutLoop(
        _ proxy: UpstreamProxy,
        _ listeners: [ListenerSettings],
        at node: YAMLNode
    ) -> UpstreamProxy {
        switch proxy {
        case .direct:
            return proxy
        case .parent(let parent):
            guard listeners.containListener(at: parent.host, port: parent.port) else {
                return proxy
            }
            let message = "the proxy is one of lupin's own listeners"
            error(.loop, message, at: node, hint: "write direct")
            return .direct
        case .environment(var environment):
            func isOwn(_ parent: ParentProxy?) -> Bool {
                guard let parent else { return false }
                return listeners.containListener(at: parent.host, port: parent.port)
            }
            guard isOwn(environment.http) || isOwn(environment.https) else { return proxy }
            let message = "the environment's proxy is one of lupin's own listeners"
            warning(.loop, message, at: node, hint: "taken as direct")
            if isOwn(environment.http) { environment.http = nil }
            if isOwn(environment.https) { environment.https = nil }
            return .environment(environment)
        }
    }
}

extension [ListenerSettings] {
    /// Whether a connection to `host` and `port` would certainly reach one of the listeners.
    func containListener(at host: Host, port: UInt16) -> Bool {
        contains { listener in
            guard listener.port == port, port != 0 else { return false }
            let isLocal = listener.address.isLoopback || listener.address.isUnspecified
            guard let address = host.address else { return host.isLoopback && isLocal }
            if address == listener.address { return true }
            if listener.address.isUnspecified { return address.isLoopback || address.isUnspecified }
            return listener.address.isLoopback && address.isUnspecified
        }
    }
}
