// Decodes `oauth2:`: the token server, the requested scope, and the client's credentials.

import LupinCore
import LupinPolicy

extension DecodingContext {
    private static let oauth2Keys = [
        "grant", "url", "client", "scope", "params", "refresh_token", "store",
        "share", "encoding", "retry",
    ]

    /// The decoded keys; nil when a key is absent or has a problem.
    private struct OAuth2Parts {
        var grant: OAuth2Source.Grant?
        var url: HTTPURL?
        var client: OAuth2Client?
        var scope: String?
        var parameters: [OAuth2Source.Parameter] = []
        var refreshToken: SecretText?
        var store: String?
        var isShared: Bool? = false
        var encoding: OAuth2Source.Encoding? = .form
        var retries: Int? = 2
        var isBroken = false
    }

    private struct OAuth2Client {
        var id: String
        var secret: SecretText?
        var authentication: OAuth2Source.ClientAuthentication?
    }

    /// Decodes `oauth2:`; returns nil after reporting a problem.
    func oauth2(_ entry: YAMLNode.Entry) -> OAuth2Source? {
        let example = "{grant: client_credentials, url: \"https://…\", client: {id: …, secret: …}}"
        guard case .map(let entries) = entry.value.content else {
            tellUnexpected(entry.value, expected: "a map", hint: "write \(example)")
            return nil
        }
        var parts = OAuth2Parts()
        for part in entries { decode(part, into: &parts) }
        for key in ["grant", "url", "client"] where !entries.contains(where: { $0.key == key }) {
            missing(key, in: entry, hint: "write \(entry.key): \(example)")
        }
        guard let grant = parts.grant else { return nil }
        let fits = check(grant, entry, entries)
        guard fits, !parts.isBroken, let url = parts.url, let client = parts.client else {
            return nil
        }
        var source = OAuth2Source(
            grant: grant,
            url: url,
            clientID: client.id,
            clientSecret: client.secret,
            clientAuthentication: client.authentication
        )
        source.scope = parts.scope
        source.parameters = parts.parameters
        source.refreshToken = parts.refreshToken
        source.store = parts.store
        source.isShared = parts.isShared ?? false
        source.encoding = parts.encoding ?? .form
        source.retries = parts.retries ?? 2
        return source
    }

    private func decode(_ entry: YAMLNode.Entry, into parts: inout OAuth2Parts) {
        func set<Value>(_ path: WritableKeyPath<OAuth2Parts, Value?>, _ value: Value?) {
            parts[keyPath: path] = value
            if value == nil { parts.isBroken = true }
        }
        let node = entry.value
        switch entry.key {
        case "grant":
            let words = OAuth2Source.Grant.allCases.map(\.rawValue)
            let word = word(node, words, what: "grant")
            set(\.grant, word.flatMap(OAuth2Source.Grant.init))
        case "url": set(\.url, tokenURL(node))
        case "client": set(\.client, client(entry))
        case "scope": set(\.scope, scope(node))
        case "params":
            if let parameters = parameters(node) {
                parts.parameters = parameters
            } else {
                parts.isBroken = true
            }
        case "refresh_token": set(\.refreshToken, secretText(node, "a refresh token"))
        case "store":
            let name = text(node, expected: "a path", example: "~/.local/state/lupin/acme.json")
            set(\.store, name.flatMap { path($0, as: .token, at: node) })
        case "share":
            set(\.isShared, boolean(node))
            if parts.isShared == true { sharedTokens.append(entry) }
        case "encoding":
            let words = OAuth2Source.Encoding.allCases.map(\.rawValue)
            set(\.encoding, word(node, words).flatMap(OAuth2Source.Encoding.init))
        case "retry": set(\.retries, number(node, in: 0...10, what: "retry", usual: 2))
        default:
            unknownKey(entry, in: "oauth2", known: DecodingContext.oauth2Keys)
            parts.isBroken = true
        }
    }

    /// Whether all given keys belong to the grant.
    private func check(
        _ grant: OAuth2Source.Grant,
        _ entry: YAMLNode.Entry,
        _ entries: [YAMLNode.Entry]
    ) -> Bool {
        let token = entries.first { $0.key == "refresh_token" }
        let store = entries.first { $0.key == "store" }
        let sharing = entries.first { entry in
            guard case .scalar("true", _) = entry.value.content else { return false }
            return entry.key == "share"
        }
        switch grant {
        case .clientCredentials:
            for extra in [token, store].compactMap({ $0 }) {
                let message = "\"\(extra.key)\" belongs to grant: refresh_token"
                let hint = "client_credentials gives no refresh token (RFC 6749 §4.4.3)"
                error(.key, message, at: extra, hint: hint)
            }
            return token == nil && store == nil
        case .refreshToken:
            guard let token else {
                missing(
                    "refresh_token",
                    in: entry,
                    hint: "write refresh_token: \"${file:PATH}\""
                )
                return false
            }
            if let store, sharing != nil {
                let message = "\"store\" and \"share\" exclude each other"
                error(.key, message, at: store, hint: "share keeps the refresh token, too")
                return false
            }
            if store == nil, sharing == nil {
                let message = "when the server rotates it, the new one is lost at the next start"
                warning(.oauth, message, at: token, hint: "write store: and a path for it")
            }
            return true
        }
    }

    // MARK: Server

    private func tokenURL(_ node: YAMLNode) -> HTTPURL? {
        let example = "https://id.example/oauth2/token"
        guard let text = settledText(node, expected: "a URL", example: example) else { return nil }
        guard let url = HTTPURL(text) else {
            let hasUser = text.contains("@")
            return refuse(
                .type,
                hasUser ? "a token server's URL has no user" : "it is not an http or https URL",
                at: node,
                hint: hasUser ? "write client: {id, secret}" : "write \(example)"
            )
        }
        checksOfWays.append { [unowned self] in checkWay(to: url.origin, $0, at: node) }
        return url
    }

    private func checkWay(to server: Origin, _ upstream: UpstreamSettings, at node: YAMLNode) {
        if upstream.protects(server) { return }
        let isByParent = server.host.isLoopback
        let way = isByParent ? ", by a parent proxy on another machine" : ""
        let message = "the token server would be asked in clear, with all secrets\(way)"
        let host = server.host.uriText
        let hint = isByParent ? "list \(host) in upstream.no_proxy" : "write https://\(host)…"
        error(.oauth, message, at: node, hint: hint)
    }

    // MARK: Client

    private func client(_ entry: YAMLNode.Entry) -> OAuth2Client? {
        let example = "{id: lupin, secret: \"${file:PATH}\"}"
        guard case .map(let entries) = entry.value.content else {
            tellUnexpected(entry.value, expected: "a map", hint: "write \(example)")
            return nil
        }
        var id: String?
        var secret: SecretText?
        var authentication: OAuth2Source.ClientAuthentication?
        let known = ["id", "secret", "send"]
        let isComplete = every(entries, in: entry.key, known: known) { part in
            switch part.key {
            case "id":
                return set(&id, settledText(part.value, expected: "a client id", example: "lupin"))
            case "secret": return set(&secret, secretText(part.value, "a client secret"))
            default:
                let words = OAuth2Source.ClientAuthentication.allCases.map(\.rawValue)
                let word = word(part.value, words)
                return set(&authentication, word.flatMap { .init(rawValue: $0) })
            }
        }
        if !entries.contains(where: { $0.key == "id" }) {
            missing("id", in: entry, hint: "write \(example)")
        }
        let sending = entries.first { $0.key == "send" }
        if let sending, authentication == .basic, !entries.contains(where: { $0.key == "secret" }) {
            let message = "without a secret there is nothing to send by basic"
            let hint = "take it out: the id goes in the body"
            return refuse(.key, message, at: sending, hint: hint)
        }
        guard isComplete, let id else { return nil }
        return OAuth2Client(id: id, secret: secret, authentication: authentication)
    }

    // MARK: Scope and parameters

    /// Decodes scopes: one text with spaces between them, or a list (RFC 6749 §3.3).
    private func scope(_ node: YAMLNode) -> String? {
        let example = "read write"
        var scopes: [String] = []
        for item in items(node) {
            guard let text = settledText(item, expected: "a scope", example: example) else {
                return nil
            }
            let isScope = text.utf8.allSatisfy { byte in
                (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
            }
            guard isScope else {
                let message = "a scope is ASCII without quotes and backslashes"
                return refuse(.type, message, at: item, hint: "write \(example)")
            }
            scopes += text.split(separator: " ").map(String.init)
        }
        guard scopes.isEmpty else { return scopes.joined(separator: " ") }
        return refuse(.type, "expected a scope, found nothing", at: node, hint: "write \(example)")
    }

    /// Decodes server-specific parameters, such as `audience`.
    private func parameters(_ node: YAMLNode) -> [OAuth2Source.Parameter]? {
        let example = "params: {audience: https://api.example}"
        guard let entries = entries(node, of: "names and values", example: example) else {
            return nil
        }
        let own = ["scope": "scope", "refresh_token": "refresh_token", "grant_type": "grant"]
            .merging(["client_id": "client", "client_secret": "client"]) { first, _ in first }
        var isComplete = true
        let parameters = entries.compactMap { entry -> OAuth2Source.Parameter? in
            if let key = own[entry.key] {
                let message = "\"\(entry.key)\" has a key of its own"
                error(.key, message, at: entry, hint: "write \(key): … beside params")
                isComplete = false
                return nil
            }
            if entry.value.scalarText == "${token}" {
                return OAuth2Source.Parameter(name: entry.key, value: .accessToken)
            }
            let value = secretText(entry.value, "a value", isSecret: false, mayBeEmpty: true)
            if value == nil { isComplete = false }
            return value.map { OAuth2Source.Parameter(name: entry.key, value: .text($0)) }
        }
        return isComplete ? parameters : nil
    }
}
