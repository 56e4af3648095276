// The settings table as people read it: the sample file `config/lupin.yaml`.

import LupinPolicy
import LupinRules

/// Texts that are made of the settings table.
enum SettingsDocument {
    /// `config/lupin.yaml`: every available setting with its default; the others as comments.
    static var yaml: String {
        var lines = header
        var isFirst = true
        for key in SettingsTable.keys(in: "") {
            if !isFirst { lines.append("") }
            isFirst = false
            emit(key, section: "", indentation: "", isComment: false, into: &lines)
            if key == "retry" { lines += RetryText.builtIn }
            if key == "trust" { lines += exampleTrust }
        }
        lines.append("")
        lines.append(commented("rules: []", "top to bottom, all matches apply, later wins"))
        lines.append("")
        lines.append("# Rules that people write:")
        lines.append("#")
        lines += exampleRules.split(separator: "\n", omittingEmptySubsequences: false).map {
            $0.isEmpty ? "#" : "# \($0)"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Sections that a comment introduces in the sample file.
    static let sections: [String: String] = [
        "listen": "where clients connect; several entries are allowed",
        "access": "who may use the proxy and where it may go, before any rule",
        "upstream": "how lupin reaches origins",
        "upstream.tls": "TLS towards origins and an https parent proxy",
        "upstream.pool": "idle connections kept for reuse; no request waits for one; per process",
        "intercept": "looking into https, for the hosts that rules need in clear",
        "intercept.client_rejects": "when a client refuses our certificate",
        "intercept.ca": "the local CA",
        "timeouts": "how long lupin waits",
        "limits": "how much lupin accepts; per process",
        "limits.h2": "what the peer of one HTTP/2 connection may ask",
        "cache": "stored responses; your own policies stand beside standard",
        "cache.store.shared": "what several machines share; see lupin help caching",
        "cache.store": "where they are kept; per process",
        "cache.standard": "what your own policies leave out is as here",
        "log": "one record per exchange; `log: off` writes only lupin's own errors",
        "log.redact": "what is redacted beyond the built-in set",
        "log.rotate": "for a log file",
        "capture": "room for exchanges with their bodies; a rule's `capture` turns it on",
        "tape": "how `lupin exec --replay` finds a request on its tape",
        "exec": "what a command under `lupin exec` gets: `lupin help credentials`",
        "stand_ins": "what such a command has in place of a credential",
        "telemetry": "what operators see: `lupin help telemetry`",
        "telemetry.otlp": "traces, metrics and logs for an OpenTelemetry collector",
        "telemetry.prometheus": "the same figures for a Prometheus that asks",
        "admin": "where a running lupin can be asked: `lupin status`, `lupin reload`, curl",
    ]

    private static let exampleTrust = [
        "  # acme:",
        "  #   all: [system, {pins: [\"sha256/…\", \"sha256/…\"]}]",
        commented("  #   max_depth: 3", "certificates between the server's and the CA's"),
    ]

    /// Rules to start from; they stand in the sample file as comments.
    static let exampleRules = """
        rules:
          - name: an extra field for one service
            match: api.example/v1/**
            request:
              - set: {X-Request-Id: "${id}"}
              - default: {Accept: application/json}
              - remove: [Cookie, "X-Debug-*"]

          - name: staging instead of production
            match: {host: www.example, header: {X-Env: staging}}
            request:
              - url: {host: staging.example, port: 8080, path: {from: /^\\/api/, to: /v2}}

          - name: no telemetry
            match: {host: ["telemetry.example", "**.telemetry.example"]}
            respond: {status: 403}
            stop: true

          - name: a block list, as people publish them
            match: {host: {file: blocked.txt}}
            respond: {status: 403}

          - name: quiet health checks, and no waiting
            match: {path: /health, method: GET}
            log: off
            timeouts: {total: 2s}
        """

    // MARK: The sample file

    private static let header = [
        "# Every setting of lupin with its default; a file needs only the lines it changes.",
        "# Durations are written 500ms 5s 10m 1h 7d, sizes 64KiB 10MiB. ${env:NAME} and",
        "# ${env:NAME:-default} may stand in values. `lupin check` finds mistakes.",
        "",
    ]

    /// Where the remarks begin, if there is room.
    private static let remarkColumn = 42

    private static func commented(_ line: String, _ remark: String) -> String {
        let gap = max(2, remarkColumn - line.count)
        return line + String(repeating: " ", count: gap) + "# \(remark)"
    }

    /// Written out, `auth: none` would say that other machines may come in without a password as
    /// soon as somebody edits the address above it.
    private static let neverWritten = "listen.auth"

    private static func emit(
        _ key: String,
        section: String,
        indentation: String,
        isComment: Bool,
        into lines: inout [String]
    ) {
        let name = section.isEmpty ? key : "\(section).\(key)"
        if let setting = SettingsTable.setting(name) {
            let isHidden = isComment || !setting.isAvailable || name == Self.neverWritten
            let later = setting.isAvailable || isComment ? "" : " (not available yet)"
            let line = shown("\(key): \(setting.defaultText)", indentation, isHidden, isComment)
            lines.append(commented(line, setting.sentence + later))
            return
        }
        let isLater = SettingsTable.unavailability(of: name) != nil
        let isHidden = isComment || isLater
        var line = shown("\(key):", indentation, isHidden, isComment)
        if let sentence = sections[name] {
            let later = isLater && !isComment ? " (not available yet)" : ""
            line = commented(line, sentence + later)
        } else if isLater, !isComment {
            line = commented(line, "not available yet")
        }
        lines.append(line)
        // Inside a comment the indentation goes on behind its sign.
        let inner = isHidden && !isComment ? "\(indentation)#   " : "\(indentation)  "
        for (index, child) in SettingsTable.keys(in: name).enumerated() {
            let item = name == "listen" ? (index == 0 ? "\(inner)- " : "\(inner)  ") : inner
            emit(child, section: name, indentation: item, isComment: isHidden, into: &lines)
        }
    }

    private static func shown(
        _ text: String,
        _ indentation: String,
        _ isHidden: Bool,
        _ isInComment: Bool
    ) -> String {
        isHidden && !isInComment ? "\(indentation)# \(text)" : indentation + text
    }
}
