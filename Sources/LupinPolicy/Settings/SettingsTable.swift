// Every key of the rules file outside its rules, once: what the help, the sample file, the editor
// schema and the checks are made of, and where a plain value goes.

import LupinCore

/// The one table of settings, in the order of the file.
package enum SettingsTable {
    package static let settings: [Setting] =
        general + access + upstream + intercept + TimeoutTable.settings + limits + policies
        + CacheKeyTable.store + CacheKeyTable.policy + log + capture + tape + exec
        + telemetry + admin

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
private let gibibyte = 1 << 30
/// Often enough for every client that means well, seldom enough to matter.
private let flood = 1...1_000_000

// MARK: Rows

extension SettingsTable {
    private static let general: [Setting] = [
        .special(.version, .number(1...1), "1", "format version, required"),
        .number("workers", \.workers, 1...256, or: "auto", "event loops; auto = cores, at most 4")
            .needingRestart(\.workers),
        .listener(
            .address,
            .text("address:port"),
            "127.0.0.1:8080",
            "IPv6 as \"[::1]:8080\"; port 0: any free one"
        ),
        .listener(
            .protocols,
            .list("h1 and h2"),
            "[h1, h2]",
            "what clients may speak; h2: by ALPN with tls, else by prior knowledge"
        ),
        .listener(.tls, .map("off or {cert, key}"), "off", "PEM files make it an HTTPS proxy"),
        .listener(
            .authentication,
            .map("none or basic: {file, realm}"),
            "none",
            "or basic: {file: htpasswd}; beyond loopback it must be written, even as none"
        ),
    ]

    private static let access: [Setting] = [
        .special(
            .clients,
            .list("addresses and networks"),
            "[127.0.0.0/8, \"::1\"]",
            "who is served; others get 403"
        ),
        .special(
            .credentials,
            .list("users, or owner, or any"),
            "owner",
            "who may use rules with secrets: lupin's user and root | any | users"
        ),
        .special(
            .connectPorts,
            .list("ports and ranges, or any"),
            "any",
            "where CONNECT may go, such as [443, 8000-8999]; elsewhere 403"
        ),
        .special(
            .denyTargets,
            .list("link-local, self, private, loopback, metadata, networks and host globs"),
            "[link-local, self]",
            "also private, loopback, metadata, networks, host globs"
        ),
        .special(
            .opaquePorts,
            .list("ports and ranges, or any"),
            "[]",
            "where tunnels may carry neither TLS nor HTTP, under an allow list, too"
        ),
        .choice("access.ech", \.access.ech, "refuse: no tunnel for TLS that may hide its name"),
        .choice(
            "access.paths",
            \.access.paths,
            "strict: 400 where rules would decide differently by another reading of the path"
        ),
    ]

    private static let upstream: [Setting] = [
        .special(
            .upstreamProxy,
            .text("direct, environment or http[s]://user:password@host:port"),
            "direct",
            "direct | environment | \"http://u:${env:PW}@proxy.corp:3128\""
        ),
        .special(
            .noProxy,
            .list("hosts, addresses and networks"),
            "[localhost, 127.0.0.0/8, \"::1\"]",
            "hosts that go without the parent proxy"
        ),
        .choice("upstream.tls.min", \.upstream.tls.minimum, "oldest TLS version"),
        .special(
            .offeredProtocols,
            .list("h2 and http/1.1"),
            "[h2, http/1.1]",
            "protocols offered, the preferred first"
        ),
        .special(
            .trustAnchors,
            .list("system and PEM files"),
            "[system]",
            "trust anchors; files alone replace the system's"
        ),
        .special(
            .clientCertificate,
            .map("none or {cert, key}"),
            "none",
            "PEM files, shown to origins that ask"
        ),
        .boolean(
            "upstream.tls.require_trust_rule",
            \.upstream.tls.demandsTrustRule,
            "refuse https origins and tunnels that no trust rule covers"
        ),
        .number(
            "upstream.pool.per_host",
            \.upstream.poolPerHost,
            1...65536,
            "idle connections kept to one host; the surplus of a burst goes after a second"
        ),
        .duration(
            "upstream.pool.idle",
            \.upstream.poolIdle,
            0...day,
            "how long an unused connection is kept"
        ),
        .number(
            "upstream.pool.streams",
            \.upstream.poolStreams,
            1...65535,
            "requests at a time on one HTTP/2 connection; an origin may allow fewer"
        ),
        .duration(
            "upstream.dns.ttl",
            \.upstream.dnsTTL,
            0...day,
            "how long an address is remembered"
        ),
        .boolean(
            "upstream.via",
            \.upstream.via,
            "add Via; false for origins that don't compress for proxies (nginx gzip_proxied off)"
        ),
        .boolean("upstream.strict", \.upstream.isStrict, "502 for flaws that others read over"),
    ]

    private static let intercept: [Setting] = [
        .choice(
            "intercept.mode",
            \.intercept.mode,
            "auto: only hosts that some rule needs in clear"
        ),
        .special(.neverDecrypted, .list("host globs"), "[]", "never decrypted"),
        .choice("intercept.client_rejects.then", \.intercept.rejection, "next time; fail: never"),
        .duration(
            "intercept.client_rejects.for",
            \.intercept.rejectionTime,
            second...30 * day,
            "at most so long: 30s at first, then twice as long each time"
        ),
        .special(
            .authorityCertificate,
            .text("a path"),
            "~/.config/lupin/ca.pem",
            "made at the first need; below $XDG_CONFIG_HOME where that is set"
        ),
        .special(
            .authorityKey,
            .text("a path"),
            "~/.config/lupin/ca.key",
            "readable by its owner alone"
        ),
        .duration(
            "intercept.ca.leaf",
            \.intercept.authority.leafLifetime,
            hour...397 * day,
            "life of a certificate"
        ),
        .choice("intercept.ca.key_type", \.intercept.authority.keyType, "of certificates"),
    ]

    private static let limits: [Setting] = [
        .number(
            "limits.connections",
            \.limits.connections,
            1...1_000_000,
            "beyond: the longest idle one is closed; one user gets half of what others leave"
        ),
        .number(
            "limits.client_connections",
            \.limits.clientConnections,
            1...1_000_000,
            or: "none",
            "per client address"
        ),
        .size("limits.request_line", \.limits.requestLineBytes, 1024...1 << 20, "beyond: 414"),
        .size("limits.header_bytes", \.limits.headerBytes, 1024...16 << 20, "beyond: 431"),
        .number(
            "limits.header_fields",
            \.limits.headerFields,
            16...10000,
            "beyond: 431; a response may have \(Limits.responseFields) in any case, "
                + "unless upstream.strict is true"
        ),
        .size(
            "limits.trailer_bytes",
            \.limits.trailerBytes,
            0...1 << 20,
            "beyond: the message is refused"
        ),
        .size("limits.body", \.limits.bodyBytes, 0...1 << 50, or: "none", "beyond: 413"),
        .size(
            "limits.stream_buffer",
            \.limits.streamBufferBytes,
            16 << 10...64 << 20,
            "per direction; above it the sender is paused"
        ),
        .size(
            "limits.replay_memory",
            \.limits.replayMemoryBytes,
            0...16 * gibibyte,
            "all buffers for repeating and editing bodies together"
        ),
        .size("limits.replay_disk", \.limits.replayDiskBytes, 0...1 << 46, "a user: half of it"),
        .number(
            "limits.h2.streams",
            \.limits.http2.streams,
            1...65535,
            "that a client may have open at a time"
        ),
        .count(
            "limits.h2.resets",
            \.limits.http2.resets,
            flood,
            per: second...hour,
            "streams opened and reset; beyond: cut"
        ),
        .count(
            "limits.h2.control",
            \.limits.http2.control,
            flood,
            per: second...hour,
            "frames that carry no message; beyond: cut"
        ),
        .size(
            "limits.h2.table",
            \.limits.http2.tableBytes,
            0...64 << 10,
            "memory for recurring fields (HPACK)"
        ),
        .size(
            "limits.h2.window",
            \.limits.http2.window.fixedBytes,
            64 << 10...16 << 20,
            or: "auto",
            "unread bytes; auto: 256KiB, doubling to 4MiB while the reader keeps up"
        ),
    ]

    private static let policies: [Setting] = [
        .special(
            .tokens,
            .map("names and credentials"),
            "{}",
            "where credentials come from: bearer, basic, digest, command or oauth2"
        ),
        .special(
            .retry,
            .map("names and retry policies"),
            "{}",
            "your own policies beside none, safe, standard, alamofire and connection-lost"
        ),
        .special(
            .trust,
            .map("names and trust policies"),
            "{}",
            "who upstream may be: your own policies beside system and disabled"
        ),
    ]

    private static let log: [Setting] = [
        .special(
            .logDestination,
            .text("stdout, stderr or a path"),
            "stdout",
            "stdout | stderr | file path"
        ),
        .choice("log.format", \.log.format, "auto: text on a terminal, json elsewhere"),
        .choice(
            "log.level",
            \.log.level,
            "exchange | attempt | event: a line each, besides those before"
        ).perRule(.logLevel),
        .special(
            .logHeaders,
            .list("field names; or none, names, all"),
            "names",
            "none | names | [list] | all; secret values never"
        ).perRule(.logHeaders),
        .later(
            "log.bodies",
            .map("off or {max, types}"),
            "off",
            "message content",
            "logging of bodies"
        ).perRule(.logBodies),
        .special(.redactedHeaders, .list("globs over field names"), "[]", "such as [\"*-token\"]"),
        .special(.redactedParameters, .list("names of query parameters"), "[]", "such as [code]"),
        .special(
            .redactedMembers,
            .list("names in captured bodies, JSON and forms"),
            "[]",
            "such as [pin]"
        ),
        .later(
            "log.har",
            .text("off or a path"),
            "off",
            "exchanges as an HTTP archive",
            "a log in this form",
            substitute: "lupin har export makes an archive of the log"
        ),
        .size("log.rotate.size", \.log.rotateBytes, 0...1 << 50, "0: never"),
        .number("log.rotate.keep", \.log.rotateKeep, 0...1000, "old files"),
        .later(
            "log.sync",
            .choice(["off", "on"]),
            "off",
            "full queue: drop and count, or wait",
            "waiting for the log"
        ),
        .boolean(
            "log.program",
            \.log.program,
            "look up the client's program and pid for every connection"
        ),
    ]

    private static let capture: [Setting] = [
        .size(
            "capture.bodies",
            \.capture.bodyBytes,
            0...1 << 30,
            "of each body, without its content coding"
        ),
        .duration("capture.keep", \.capture.keep, 60_000...365 * 24 * hour, "then it is deleted"),
        .size(
            "capture.disk",
            \.capture.diskBytes,
            1 << 20...1 << 40,
            "when full, the oldest exchanges go"
        ),
        .special(
            .capturePath,
            .text("a folder"),
            "~/.local/state/lupin/capture",
            "readable by you alone"
        ).needingRestart(\.capture.path),
    ]

    private static let tape: [Setting] = [
        .special(
            .tapeIgnored,
            .list("query.NAME, header.NAME or body"),
            "[]",
            "may differ from the tape, such as [query.ts, body]; globs"
        ),
        .special(
            .tapeMatched,
            .list("header.NAME"),
            "[]",
            "fields to compare, such as [header.Accept]; globs"
        ),
    ]

    private static let admin: [Setting] = [
        .special(
            .adminSocket,
            .text("auto, off or a path"),
            "auto",
            "a socket for lupin's user only; auto: lupin.sock in $XDG_RUNTIME_DIR"
        ).needingRestart(\.admin.socket),
        .number(
            "admin.history",
            \.admin.history,
            0...1_000_000,
            "exchanges kept in memory; 0: none"
        ).needingRestart(\.admin.history),
        .special(.adminHTTP, .map("off or {address, token}"), "off", "the same by HTTP")
            .needingRestart(\.admin.http),
    ]
}
