// Values of single settings that are more than a number or a word: which clients are served, which
// targets are refused, and where the log goes.

import LupinCore
import LupinPolicy

// MARK: Access

extension DecodingContext {
    /// `owner`, `any` or users.
    func credentialAccess(_ node: YAMLNode) -> CredentialAccess? {
        let example = "owner"
        guard case .list(let items) = node.content else {
            guard let text = text(node, expected: "owner, any or users", example: example) else {
                return nil
            }
            switch text {
            case "owner": return .owner
            case "any": return .any
            default: return .users([text])
            }
        }
        guard let names = texts(node, expected: "a user", example: "[ann, ben]") else { return nil }
        if let index = names.firstIndex(where: { $0 == "owner" || $0 == "any" }) {
            let message = "\"\(names[index])\" is a word for itself and not one of several users"
            let hint = "write credentials: \(names[index])"
            return refuse(.type, message, at: items[index], hint: hint)
        }
        if names.isEmpty {
            return refuse(.range, "there is no user", at: node, hint: "write \(example)")
        }
        return .users(names)
    }

    /// `any`, as `.some(nil)`, or ports; nil when a problem was told.
    func portsOrAny(_ node: YAMLNode) -> PortSet?? {
        if case .scalar("any", _) = node.content { return .some(nil) }
        return ports(node).map { .some($0) }
    }

    func deniedTargets(_ node: YAMLNode) -> [DeniedTarget]? {
        let words: [String: DeniedTarget] = [
            "link-local": .linkLocal, "self": .own, "private": .privateNetwork,
            "loopback": .loopback, "metadata": .metadata,
        ]
        let known = ["link-local", "self", "private", "loopback", "metadata"]
        return all(node) { item in
            guard let text = text(item, expected: "a target", example: "link-local") else {
                return nil
            }
            if let word = words[text] { return word }
            if let network = network(text, at: item) { return .network(network) }
            if !text.contains("."), nearest(to: text, among: known) != nil {
                return unknownWord(item, text, for: "target", known: known)
            }
            return hostPattern(item).map { .host($0) }
        }
    }

    func noProxy(_ node: YAMLNode) -> [NoProxyEntry]? {
        all(node) { item in
            guard let text = text(item, expected: "a host or a network", example: "localhost")
            else { return nil }
            if let entry = NoProxyEntry(text) { return entry }
            let message = "\"\(text)\" is not a host, an address or a network"
            let hint = "write .corp.example, 10.0.0.0/8 or host:port"
            return refuse(.host, message, at: item, hint: hint)
        }
    }
}

// MARK: The log

extension DecodingContext {
    /// Globs over field names, which have no case.
    func redactedHeaders(_ node: YAMLNode) -> [String]? {
        texts(node, expected: "a field name", example: "[\"*-token\"]")?.map { $0.lowercased() }
    }

    func logDestination(_ node: YAMLNode) -> LogSettings.Destination? {
        guard let text = text(node, expected: "a destination", example: "stdout") else {
            return nil
        }
        switch text {
        case "stdout": return .stdout
        case "stderr": return .stderr
        default:
            let words = ["stdout", "stderr"]
            guard let path = path(node, text, as: .log, ratherThan: words, "destination")
            else { return nil }
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
            guard folder.isEmpty || surroundings.isDirectory(folder) else {
                let message = "there is no directory \(folder) for the log"
                return refuse(.file, message, at: node, hint: "mkdir -p \(folder)")
            }
            return .file(path)
        }
    }

    /// A path, unless `text` looks like one of the words that may stand in its place.
    func path(
        _ node: YAMLNode,
        _ text: String,
        as role: PathRole,
        ratherThan words: [String],
        _ what: String
    ) -> String? {
        let isBare = !text.contains("/") && !text.contains(".")
        if isBare, nearest(to: text, among: words) != nil {
            return unknownWord(node, text, for: what, known: words + ["a path"])
        }
        return path(text, as: role, at: node)
    }

    /// `none`, `names`, `all` or a list of names.
    func loggedHeaders(_ node: YAMLNode) -> LogSettings.Headers? {
        if case .list = node.content {
            let names = texts(node, expected: "a field name", example: "[Content-Type]")
            return names.map { .listed($0.map { $0.lowercased() }) }
        }
        guard let text = text(node, expected: "none, names, all or a list", example: "names") else {
            return nil
        }
        switch text {
        case "none": return LogSettings.Headers.none
        case "names": return .names
        case "all": return .all
        default:
            return unknownWord(node, text, for: "value", known: ["none", "names", "all", "a list"])
        }
    }

    /// `exchange`, `attempt` or `event`.
    func logLevel(_ node: YAMLNode, _ setting: Setting) -> LogSettings.Level? {
        word(node, setting)
    }
}
