// Every key of the rules file outside its rules, once: what the help, the sample file, the editor
// schema and the checks are made of.

/// The one table of settings, in the order of the file.
package enum SettingsTable {
    package static let settings: [Setting] =
        general + access + upstream + intercept + timeouts + limits + policies
        + CacheKeyTable.store + CacheKeyTable.policy + log + admin

    /// What stands behind the step `delay`.
    package static let delay = Setting(
        name: "delay",
        kind: .duration(0...hour),
        defaultText: "0s",
        sentence: "before every attempt"
    )

    /// The setting called `name`.
    package static func setting(_ name: String) -> Setting? { byName[name] }

    /// The keys directly below `section` (`""` is the top level), in the order of the table.
    package static func keys(in section: String) -> [String] { keysBySection[section] ?? [] }

    /// What arrives later, where no key of `section` is available yet; nil for other sections.
    package static func unavailability(of section: String) -> String? {
        let inside = settings.filter { $0.name.hasPrefix(section + ".") }
        guard !inside.contains(where: \.isAvailable),
            case .later(let what) = inside.first?.availability
        else { return nil }
        return what
    }

    private static let byName: [String: Setting] =
        Dictionary(settings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

    private static let keysBySection: [String: [String]] = {
        var result: [String: [String]] = [:]
        for setting in settings {
            var section = ""
            for part in setting.name.split(separator: ".") {
                let key = String(part)
                if result[section]?.contains(key) != true {
                    result[section, default: []].append(key)
                }
                section = section.isEmpty ? key : "\(section).\(key)"
            }
        }
        return result
    }()
}

// MARK: Ranges that several settings share

private let second: Int64 = 1000
private let hour: Int64 = 3_600_000
private let day: Int64 = 86_400_000
/// Waiting: long enough to be meant, short enough to end.
private let wait: ClosedRange<Int64> = 10...7 * day
private let gibibyte = 1 << 30
/// Often enough for every client that means well, seldom enough to matter.
private let flood = Setting.Kind.count(1...1_000_000, per: second...hour)

extension Setting {
    fileprivate func later(_ what: String, off: [String] = []) -> Setting {
        var copy = self
        copy.availability = .later(what)
        copy.offValues = off
        return copy
    }

    fileprivate var perRule: Setting {
        var copy = self
        copy.isPerRule = true
        return copy
    }
}

private func row(
    _ name: String,
    _ kind: Setting.Kind,
    _ defaultText: String,
    _ sentence: String
) -> Setting {
    Setting(name: name, kind: kind, defaultText: defaultText, sentence: sentence)
}

// MARK: Rows

extension SettingsTable {
    private static let general: [Setting] = [
        row("lupin", .number(1...1), "1", "format version, required"),
        row(
            "workers",
            .number(1...256, or: "auto"),
            "auto",
            "event loops; auto = cores, at most 4"
        ),
        row(
            "listen.address",
            .text("address:port"),
            "127.0.0.1:8080",
            "IPv6 as \"[::1]:8080\"; port 0: any free one"
        ),
        row(
            "listen.protocols",
            .list("h1 and h2"),
            "[h1, h2]",
            "what clients may speak; h2: by ALPN with tls, else by prior knowledge"
        ),
        row("listen.tls", .map("off or {cert, key}"), "off", "PEM files make it an HTTPS proxy"),
        row(
            "listen.auth",
            .map("none or basic: {file, realm}"),
            "none",
            "or basic: {file: htpasswd}; beyond loopback it must be written, even as none"
        ),
    ]

    private static let access: [Setting] = [
        row(
            "access.clients",
            .list("addresses and networks"),
            "[127.0.0.0/8, \"::1\"]",
            "who is served; others get 403"
        ),
        row(
            "access.credentials",
            .list("users, or owner, or any"),
            "owner",
            "who may use rules with secrets: lupin's user and root | any | users"
        ),
        row(
            "access.connect_ports",
            .list("ports and ranges, or any"),
            "any",
            "where CONNECT may go, such as [443, 8000-8999]; elsewhere 403"
        ),
        row(
            "access.deny_targets",
            .list("link-local, self, private, loopback, metadata, networks and host globs"),
            "[link-local, self]",
            "also private, loopback, metadata, networks, host globs"
        ),
    ]

    private static let upstream: [Setting] = [
        row(
            "upstream.proxy",
            .text("direct, environment or http[s]://user:password@host:port"),
            "direct",
            "direct | environment | \"http://u:${env:PW}@proxy.corp:3128\""
        ),
        row(
            "upstream.no_proxy",
            .list("hosts, addresses and networks"),
            "[localhost, 127.0.0.0/8, \"::1\"]",
            "hosts that go without the parent proxy"
        ),
        row("upstream.tls.min", .choice(["1.2", "1.3"]), "\"1.2\"", "oldest TLS version"),
        row(
            "upstream.tls.alpn",
            .list("h2 and http/1.1"),
            "[h2, http/1.1]",
            "protocols offered, the preferred first"
        ),
        row(
            "upstream.tls.roots",
            .list("system and PEM files"),
            "[system]",
            "trust anchors; files alone replace the system's"
        ),
        row(
            "upstream.tls.client_cert",
            .map("none or {cert, key}"),
            "none",
            "PEM files, shown to origins that ask"
        ),
        row(
            "upstream.tls.require_trust_rule",
            .boolean,
            "false",
            "refuse https origins and tunnels that no trust rule covers"
        ),
        row(
            "upstream.pool.per_host",
            .number(1...65536),
            "32",
            "idle connections kept to one host; the surplus of a burst goes after a second"
        ),
        row(
            "upstream.pool.idle",
            .duration(0...day),
            "60s",
            "how long an unused connection is kept"
        ),
        row(
            "upstream.pool.streams",
            .number(1...65535),
            "100",
            "requests at a time on one HTTP/2 connection; an origin may allow fewer"
        ),
        row("upstream.dns.ttl", .duration(0...day), "30s", "how long an address is remembered"),
        row(
            "upstream.via",
            .boolean,
            "true",
            "add Via; false for origins that don't compress for proxies (nginx gzip_proxied off)"
        ),
    ]

    private static let intercept: [Setting] = [
        row(
            "intercept.mode",
            .choice(["auto", "all", "none"]),
            "auto",
            "auto: only hosts that some rule needs in clear"
        ),
        row("intercept.except", .list("host globs"), "[]", "never decrypted"),
        row(
            "intercept.client_rejects.then",
            .choice(["tunnel", "fail"]),
            "tunnel",
            "next time; fail: never"
        ),
        row(
            "intercept.client_rejects.for",
            .duration(second...30 * day),
            "1h",
            "at most so long: 30s at first, then twice as long each time"
        ),
        row(
            "intercept.ca.cert",
            .text("a path"),
            "~/.config/lupin/ca.pem",
            "made at the first need; below $XDG_CONFIG_HOME where that is set"
        ),
        row(
            "intercept.ca.key",
            .text("a path"),
            "~/.config/lupin/ca.key",
            "readable by its owner alone"
        ),
        row("intercept.ca.leaf", .duration(hour...397 * day), "7d", "life of a certificate"),
        row("intercept.ca.key_type", .choice(["p256", "rsa2048"]), "p256", "of certificates"),
    ]

    private static let timeouts: [Setting] = [
        row(
            "timeouts.client_idle",
            .duration(wait),
            "75s",
            "between requests on a kept-alive connection"
        ),
        row(
            "timeouts.client_header",
            .duration(wait),
            "10s",
            "to the end of a request's head, from its first byte; of the first one from accept on"
        ),
        row(
            "timeouts.min_rate",
            .rate,
            "none",
            "bytes a request body must bring over 30 s, such as 64/s"
        ).perRule,
        row(
            "timeouts.sniff",
            .duration(wait),
            "200ms",
            "after CONNECT: time to see the first bytes"
        ).perRule,
        row(
            "timeouts.expect",
            .duration(wait),
            "1s",
            "silent upstream after Expect: 100-continue"
        ).perRule,
        row("timeouts.dns", .duration(wait), "5s", "finding an address").perRule,
        row("timeouts.connect", .duration(wait), "15s", "reaching the origin or the parent proxy")
            .perRule,
        row("timeouts.tls", .duration(wait), "15s", "the TLS handshake").perRule,
        row(
            "timeouts.response_header",
            .duration(wait),
            "10m",
            "from the request's end to the head of the response"
        ).perRule,
        row("timeouts.idle", .duration(wait), "10m", "no byte either way inside a body").perRule,
        row("timeouts.tunnel_idle", .duration(wait), "2h", "no byte either way in a tunnel")
            .perRule,
        row("timeouts.drain", .duration(0...hour), "30s", "on stop: then connections are cut"),
        row("timeouts.total", .duration(wait, orNone: true), "none", "the whole exchange").perRule,
    ]

    private static let limits: [Setting] = [
        row(
            "limits.connections",
            .number(1...1_000_000),
            "4096",
            "beyond: the longest idle one is closed; one user gets half of what others leave"
        ),
        row(
            "limits.client_connections",
            .number(1...1_000_000, or: "none"),
            "none",
            "per client address"
        ),
        row("limits.request_line", .size(1024...1 << 20), "32KiB", "beyond: 414"),
        row("limits.header_bytes", .size(1024...16 << 20), "64KiB", "beyond: 431"),
        row("limits.header_fields", .number(16...10000), "256", "beyond: 431"),
        row("limits.trailer_bytes", .size(0...1 << 20), "8KiB", "beyond: the message is refused"),
        row("limits.body", .size(0...1 << 50, or: "none"), "none", "beyond: 413"),
        row(
            "limits.stream_buffer",
            .size(16 << 10...64 << 20),
            "256KiB",
            "per direction; above it the sender is paused"
        ),
        row(
            "limits.replay_memory",
            .size(0...16 * gibibyte),
            "64MiB",
            "all buffers for repeating a request body together"
        ),
        row(
            "limits.h2.streams",
            .number(1...65535),
            "100",
            "that a client may have open at a time"
        ),
        row("limits.h2.resets", flood, "1000/30s", "streams opened and reset; beyond: cut"),
        row("limits.h2.control", flood, "1000/10s", "frames that carry no message; beyond: cut"),
        row("limits.h2.table", .size(0...64 << 10), "4KiB", "memory for recurring fields (HPACK)"),
        row(
            "limits.h2.window",
            .size(64 << 10...16 << 20, or: "auto"),
            "auto",
            "unread bytes; auto: 256KiB, doubling to 4MiB while the reader keeps up"
        ),
    ]

    private static let policies: [Setting] = [
        row(
            "tokens",
            .map("names and credentials"),
            "{}",
            "where credentials come from: bearer, basic, digest, command or oauth2"
        ),
        row(
            "retry",
            .map("names and retry policies"),
            "{}",
            "your own policies beside none, safe, standard and connection-lost"
        ),
        row(
            "trust",
            .map("names and trust policies"),
            "{}",
            "who upstream may be: your own policies beside system and disabled"
        ),
    ]

    private static let log: [Setting] = [
        row("log.to", .text("stdout, stderr or a path"), "stdout", "stdout | stderr | file path"),
        row(
            "log.format",
            .choice(["auto", "json", "text"]),
            "auto",
            "auto: text on a terminal, json elsewhere"
        ),
        row(
            "log.level",
            .choice(["exchange", "attempt", "event"]),
            "exchange",
            "exchange | attempt | event: a line each, besides those before"
        ).perRule,
        row(
            "log.headers",
            .list("field names; or none, names, all"),
            "names",
            "none | names | [list] | all; secret values never"
        ).perRule,
        row("log.bodies", .map("off or {max, types}"), "off", "message content")
            .later("logging of bodies", off: ["off"]).perRule,
        row("log.redact.headers", .list("globs over field names"), "[]", "such as [\"*-token\"]"),
        row("log.redact.query", .list("names of query parameters"), "[]", "such as [code]"),
        row("log.redact.json", .list("names in JSON bodies"), "[]", "such as [password]")
            .later("logging of bodies", off: ["[]"]),
        row("log.har", .text("off or a path"), "off", "exchanges as an HTTP archive")
            .later("HAR export", off: ["off"]),
        row("log.rotate.size", .size(0...1 << 50), "100MiB", "0: never"),
        row("log.rotate.keep", .number(0...1000), "5", "old files"),
        row("log.sync", .choice(["off", "on"]), "off", "full queue: drop and count, or wait")
            .later("waiting for the log", off: ["off"]),
        row(
            "log.program",
            .boolean,
            "false",
            "look up the client's program and pid for every connection"
        ),
    ]

    private static let admin: [Setting] = [
        row(
            "admin.socket",
            .text("auto, off or a path"),
            "auto",
            "a socket for lupin's user only; auto: lupin.sock in $XDG_RUNTIME_DIR"
        ),
        row("admin.history", .number(0...1_000_000), "1000", "exchanges kept in memory; 0: none"),
        row("admin.http", .map("off or {address, token}"), "off", "the same by HTTP"),
    ]
}
