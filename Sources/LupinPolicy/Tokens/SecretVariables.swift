// Which variables of an environment show a secret.

import LupinCore

/// Finds the variables that a program must not have if it must not know the secrets.
package struct SecretVariables: Sendable {
    private var matcher = SecretMatcher()
    /// The forms of secrets that the matcher doesn't take, since they occur in ordinary words.
    private var short: Set<[UInt8]> = []

    /// - Parameters:
    ///   - secrets: The secrets of the rules file.
    ///   - environment: The passwords of its proxies, and what its collectors ask for, are secrets,
    ///     too.
    package init(_ secrets: [String], in environment: [String: String]) {
        var all = secrets
        for (name, value) in environment {
            if Self.isProxy(name), let password = Self.password(in: value) {
                all += [password, Self.decoded(password)]
            }
            guard Self.isForCollectors(name) else { continue }
            for pair in TelemetryList.pairs(value) {
                all += [pair.value] + pair.value.split(separator: " ").dropFirst().map(String.init)
            }
        }
        for secret in all where !secret.isEmpty {
            let bytes = Array(secret.utf8)
            if bytes.count < SecretMatcher.secretBytesMin {
                short.formUnion(Self.forms(of: bytes))
            } else {
                _ = matcher.add(bytes)
            }
        }
    }

    /// Whether a variable shows a secret, in whatever form.
    package func show(in name: String, _ value: String) -> Bool {
        if value.isEmpty { return false }
        if Self.isForCollectors(name) { return true }
        if Self.isProxy(name), Self.password(in: value) != nil { return true }
        return !matcher.find(in: value.utf8Span.span).isEmpty || hasShort(Array(value.utf8))
    }

    // MARK: Variables with secrets of their own

    private static func isProxy(_ name: String) -> Bool { name.lowercased().hasSuffix("_proxy") }

    /// `OTEL_EXPORTER_OTLP_HEADERS`, for one signal, too.
    private static func isForCollectors(_ name: String) -> Bool {
        name.hasPrefix("OTEL_EXPORTER_OTLP_") && name.hasSuffix("HEADERS")
    }

    /// The password, or else the user, in `[scheme://]user:password@host`.
    private static func password(in url: String) -> String? {
        guard let at = url.lastIndex(of: "@") else { return nil }
        let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
        guard start < at else { return nil }
        let userinfo = url[start..<at]
        guard let colon = userinfo.firstIndex(of: ":") else { return String(userinfo) }
        return String(userinfo[userinfo.index(after: colon)...])
    }

    private static func decoded(_ text: String) -> String {
        Array(text.utf8).span.percentDecoded.map { String(decoding: $0, as: UTF8.self) } ?? text
    }

    // MARK: Short secrets

    private static func forms(of secret: [UInt8]) -> [[UInt8]] {
        let base64 = Base64Text.encode(secret)
        let text = String(decoding: secret, as: UTF8.self)
        let hex = HexText.text(secret)
        let inURL = base64.replacing("+", with: "-").replacing("/", with: "_")
        let plain = [base64, inURL].map { $0.prefix { $0 != "=" } }.map(String.init)
        let texts =
            [text, base64, inURL, hex, hex.uppercased(), text.percentEncoded { _ in false }] + plain
        // What is encoded in part.
        return texts.map { Array($0.utf8) } + [
            Array(text.percentEncoded { $0.isUnreserved }.utf8)
        ]
    }

    /// Whether a short secret is the value, or a whole part of it such as a password in a URL.
    private func hasShort(_ value: [UInt8]) -> Bool {
        short.contains { form in
            guard form.count <= value.count else { return false }
            return (0...(value.count - form.count)).contains { start in
                let end = start + form.count
                return (start == 0 || Self.leads.contains(value[start - 1]))
                    && (end == value.count || Self.ends.contains(value[end]))
                    && value[start..<end].elementsEqual(form)
            }
        }
    }

    private static let leads = Set(":=,; \t\n\"'&?".utf8)
    private static let ends = Set("@,; \t\n\"'&:".utf8)
}
