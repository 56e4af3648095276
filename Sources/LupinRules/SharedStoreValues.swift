// The values of `cache.store.shared`: where the server is, and the team's key.

import LupinPolicy

extension DecodingContext {
    private static let sharedExample = "rediss://:${file:redis.password}@cache.example:6379/0"

    /// `off`, as `.some(nil)`, or a URL; nil after a problem was told.
    func sharedServer(_ node: YAMLNode) -> SharedServer?? {
        if case .scalar("off", _) = node.content { return .some(nil) }
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(node, "off or a URL", write: "\"\(Self.sharedExample)\"")
        }
        guard let url = userinfoURL(raw, at: node) else { return nil }
        do throws(SharedServer.Problem) {
            let server = try SharedServer(url: url)
            if let password = server.password { add(secret: password) }
            return .some(server)
        } catch {
            let hint = "write \(Self.sharedExample)"
            self.error(.type, error.message, at: node, hint: hint)
            return nil
        }
    }

    /// The team's key; nil after a problem was reported.
    func sharedKey(_ node: YAMLNode) -> String? {
        if case .scalar("none", _) = node.content { return "" }
        let least = SharedStoreSettings.keyLengthMin
        return longSecret(node, "a key", least, example: "${file:team.key}")
    }

    /// A secret of so many characters at least, as `openssl rand -hex` with that number makes one;
    /// nil after a problem was told.
    func longSecret(_ node: YAMLNode, _ what: String, _ least: Int, example: String) -> String? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(node, what, write: "\"\(example)\"")
        }
        guard let secret = resolved(raw, role: .userinfo, at: node) else { return nil }
        add(secret: secret)
        // The name of a secret that was not read has any length.
        guard secret.utf8.count >= least || surroundings.secrets != .required else {
            let message = "\(what) has \(least) characters at least"
            return refuse(.range, message, at: node, hint: "openssl rand -hex \(least) makes one")
        }
        return secret
    }

    /// A server needs a key: without one, every client that can write to it could answer for any
    /// origin.
    func check(_ shared: SharedStoreSettings, _ entry: YAMLNode.Entry) {
        guard shared.server != nil, shared.key.isEmpty else { return }
        let hint = "write key: \"${file:team.key}\"; openssl rand -hex 32 makes one"
        error(.key, "\"shared\" has no \"key\"", at: entry.value, hint: hint)
    }
}
