// The values of `admin`: where lupin can be asked, and what clients must show.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// `admin.socket`; nil when a problem was told.
    func adminSocket(_ node: YAMLNode) -> AdminSettings.Socket? {
        guard let text = text(node, expected: "auto, off or a path", example: "auto") else {
            return nil
        }
        switch text {
        case "auto": return .automatic
        case "off": return .off
        default:
            return path(node, text, as: .socket, ratherThan: ["auto", "off"], "value").map {
                .path($0)
            }
        }
    }

    /// `off`, as `.some(nil)`, or a map; nil when a problem was told.
    func adminHTTP(_ node: YAMLNode) -> AdminHTTPSettings?? {
        if case .scalar("off", _) = node.content { return .some(nil) }
        let example = "{address: 127.0.0.1:9090, token: \"${file:admin.token}\"}"
        guard let entries = entries(node, of: "a map", example: example) else { return nil }
        var listener: ListenerSettings?
        var token: String?
        let known = ["address", "token"]
        let isComplete = every(entries, in: "admin.http", known: known) { entry in
            entry.key == "address"
                ? set(&listener, listenerAddress(entry.value))
                : set(&token, adminToken(entry.value))
        }
        guard isComplete else { return nil }
        for (key, isMissing) in [("address", listener == nil), ("token", token == nil)]
        where isMissing {
            error(.key, "\"http\" has no \"\(key)\"", at: node, hint: "write \(example)")
        }
        guard let listener, let token else { return nil }
        return AdminHTTPSettings(address: listener.address, port: listener.port, token: token)
    }

    /// A token as RFC 6750 §2.1 lets it stand in a field.
    private func adminToken(_ node: YAMLNode) -> String? {
        let least = AdminHTTPSettings.tokenLengthMin
        guard let token = longSecret(node, "a token", least, example: "${file:admin.token}") else {
            return nil
        }
        let marks = Array("-._~+/=".utf8)
        let isToken = token.utf8.allSatisfy { byte in
            byte.asciiLowercased &- 0x61 < 26 || byte.isASCIIDigit || marks.contains(byte)
        }
        // What was not read has the form of its reference.
        guard isToken || surroundings.secrets != .required else {
            let message = "a token is made of letters, digits and -._~+/="
            return refuse(.type, message, at: node, hint: "openssl rand -hex 16 makes one")
        }
        return token
    }
}
