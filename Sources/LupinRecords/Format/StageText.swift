// The line about one stage for users.

import LupinCore

extension SummaryText {
    /// Appends `22:41:07.123   · 6f1c0e0b connecting api.github.com:443`.
    ///
    /// The status is in the same column as in the line of an exchange.
    package mutating func append(_ stage: StageRecord, to bytes: inout [UInt8]) {
        var time: [UInt8] = []
        appendDay(of: stage.microseconds, to: &bytes)
        timestamp.append(timeOfDay: stage.microseconds, to: &time)
        let head = String(decoding: time, as: UTF8.self)
        let word = LogText.plain(Self.word(of: stage))
        let rest = LogText.plain(Self.rest(of: stage))
        let url = LogText.plain(stage.url)
        let taken = head.count + word.count + rest.count + ExchangeID.shortDigits + 9
        add(head, .dim, to: &bytes)
        bytes.append(0x20)
        if stage.status > 0 {
            add("\(stage.status)", Self.colour(ofStatus: UInt64(stage.status)), to: &bytes)
        } else {
            add("  ·", .dim, to: &bytes)
        }
        bytes.append(0x20)
        if !stage.id.isEmpty {
            add(LogText.plain(String(stage.id.prefix(ExchangeID.shortDigits))), .dim, to: &bytes)
            bytes.append(0x20)
        }
        bytes.append(contentsOf: word.utf8)
        if !url.isEmpty { bytes.append(contentsOf: " \(fitted(url, taken: taken))".utf8) }
        if !rest.isEmpty {
            bytes.append(0x20)
            add(rest, Self.isBad(stage) ? .red : .dim, to: &bytes)
        }
        bytes.append(0x0A)
    }

    private static func isBad(_ stage: StageRecord) -> Bool {
        stage.failure != nil || stage.action == "failed" || !["", "ok"].contains(stage.outcome)
    }

    /// The stage's name, and what belongs to it.
    private static func word(of stage: StageRecord) -> String {
        switch stage.stage {
        case .accepted: "accepted" + (stage.method.isEmpty ? "" : " \(stage.method)")
        case .attempt: "attempt \(stage.attempt)"
        default: stage.stage.rawValue
        }
    }

    /// The details of the stage.
    private static func rest(of stage: StageRecord) -> String {
        var parts: [String] = []
        switch stage.stage {
        case .accepted:
            if let client = stage.client {
                parts.append("from \(client.program ?? client.address)")
            }
        case .matched:
            parts.append(stage.rules.isEmpty ? "no rule" : stage.rules.joined(separator: ", "))
        case .adapted:
            parts.append(stage.target)
            if !stage.steps.isEmpty { parts.append("[\(stage.steps.joined(separator: ", "))]") }
        case .tokenWait: parts.append(stage.token)
        case .connecting: parts.append(stage.target)
        case .sent: parts += connection(of: stage)
        case .progress: parts += bytes(of: stage)
        case .response: break
        case .retrying: parts += decision(of: stage)
        case .cached: parts.append(stage.cache)
        case .finished:
            parts += bytes(of: stage)
            if let total = stage.totalMicroseconds { parts.append(duration(total)) }
            if stage.outcome != "ok" { parts.append(stage.outcome) }
        case .attempt:
            parts += [stage.target] + connection(of: stage) + decision(of: stage)
        case .token:
            parts += [stage.token, stage.action]
            if let version = stage.version { parts.append("v\(version)") }
            parts.append(stage.detail)
        }
        if let failure = stage.failure {
            parts.append(failure.token + (failure.detail.isEmpty ? "" : ": \(failure.detail)"))
        }
        return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func connection(of stage: StageRecord) -> [String] {
        [
            stage.peer, stage.httpVersion == ProtocolVersion.http2.text ? "h2" : "",
            stage.isReused ? "reused" : "",
        ]
    }

    private static func bytes(of stage: StageRecord) -> [String] {
        var parts: [String] = []
        if let bytes = stage.sentBytes, bytes > 0 { parts.append("↑\(size(bytes))") }
        if let bytes = stage.receivedBytes { parts.append("↓\(size(bytes))") }
        return parts
    }

    /// `retry: status 503, in 312ms`.
    private static func decision(of stage: StageRecord) -> [String] {
        var text = stage.decision
        if !stage.reason.isEmpty { text += ": \(stage.reason)" }
        if let delay = stage.delayMicroseconds { text += ", in \(duration(delay))" }
        return [text]
    }
}
