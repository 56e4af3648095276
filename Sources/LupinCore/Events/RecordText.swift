// What of a record's line is constant, and the small parts that recur in it.

/// The constant text of a line.
enum RecordText {
    static let start = Fragment(#"{"schema":\#(RecordFormat.schema),"ts":""#)
    static let exchangeID = Fragment(#"","event":"exchange","id":""#)
    static let tunnelID = Fragment(#"","event":"tunnel","id":""#)
    static let outcome = Fragment(#"","outcome":""#)
    static let client = Fragment(#","client":{"address":""#)
    static let port = Fragment(#"","port":"#)
    static let mode = Fragment(#","mode":""#)
    static let request = Fragment(#"","http":{"request":{"#)
    static let method = Fragment(#""method":""#)
    static let body = Fragment(#","body":{"size":"#)
    static let response = Fragment(#"},"response":{"status_code":"#)
    static let urlEnd = Fragment(#""}"#)
    static let network = Fragment(#","network":{"protocol":{"name":"http","version":""#)
    static let clientIn = Fragment(#""}},"bytes":{"client_in":"#)
    static let clientOut = Fragment(#","client_out":"#)
    static let upstreamOut = Fragment(#","upstream_out":"#)
    static let upstreamIn = Fragment(#","upstream_in":"#)
    static let number = Fragment(#"{"n":"#)
    static let cause = Fragment(#","why":""#)
    static let decision = Fragment(#","decision":""#)
    static let delay = Fragment(#","delay":"#)
    static let reused = Fragment(#","reused":true"#)
    static let notReplayable = Fragment(#","replayable":false"#)
    static let version = Fragment(#","protocol":""#)
    static let peer = Fragment(#","peer":""#)
    static let timing = Fragment(#","timing":"#)
    static let blocked = Fragment(#","blocked":"#)
    static let dns = Fragment(#","dns":"#)
    static let tcp = Fragment(#","tcp":"#)
    static let send = Fragment(#","send":"#)
    static let wait = Fragment(#","wait":"#)
    static let receive = Fragment(#","receive":"#)
    static let total = Fragment(#","total":"#)
}

extension OutputSpan<UInt8> {
    /// Appends `,"timing":{…}` with the phases that are known, if any is.
    mutating func append(_ timing: Timing) {
        if timing.isEmpty { return }
        append(RecordText.timing)
        let start = count
        append(RecordText.blocked, timing.blocked)
        append(RecordText.dns, timing.dns)
        append(RecordText.tcp, timing.tcp)
        append(RecordText.send, timing.send)
        append(RecordText.wait, timing.wait)
        append(RecordText.receive, timing.receive)
        append(RecordText.total, timing.total)
        // Every phase begins with a comma; before the first one stands a brace instead.
        self[start] = 0x7B
        append(0x7D)
    }

    mutating func append(bodyBytes: UInt64) {
        append(RecordText.body)
        append(decimal: bodyBytes)
        append(0x7D)
    }

    mutating func append(_ key: Fragment, _ milliseconds: Int64?) {
        guard let milliseconds else { return }
        append(key)
        append(milliseconds: milliseconds)
    }
}

extension Timing {
    /// Whether no phase is known.
    package var isEmpty: Bool {
        blocked == nil && dns == nil && tcp == nil && send == nil && wait == nil
            && receive == nil && total == nil
    }
}
