// What of a record's line is constant, and the small parts that recur in it.

/// The constant text of a line.
///
/// A class that who writes lines holds: each look at a static constant asks whether it is made yet,
/// and a struct of this size would be copied whole.
final class RecordText: Sendable {
    let start = Fragment(#"{"schema":\#(RecordFormat.schema),"ts":""#)
    let exchangeID = Fragment(#"","event":"exchange","id":""#)
    let tunnelID = Fragment(#"","event":"tunnel","id":""#)
    let outcome = Fragment(#"","outcome":""#)
    let outcomeOK = Fragment(#"","outcome":"ok""#)
    let client = Fragment(#","client":{"address":""#)
    let port = Fragment(#"","port":"#)
    let mode = Fragment(#","mode":""#)
    let request = Fragment(#"","http":{"request":{"#)
    let requestOverHTTP = Fragment(#","mode":"http","http":{"request":{"#)
    let method = Fragment(#""method":""#)
    let get = Fragment(#""method":"GET""#)
    let body = Fragment(#","body":{"size":"#)
    let response = Fragment(#"},"response":{"status_code":"#)
    let network = Fragment(#","network":{"protocol":{"name":"http","version":""#)
    let networkHTTP11 = Fragment(
        #","network":{"protocol":{"name":"http","version":"1.1"#
    )
    let networkHTTP2 = Fragment(
        #","network":{"protocol":{"name":"http","version":"2"#
    )
    let protocolEnd = Fragment(#""}"#)
    let stream = Fragment(#","stream":"#)
    let reset = Fragment(#","reset":""#)
    let resetBy = Fragment(#","reset_by":""#)
    let goAway = Fragment(#","goaway":""#)
    let clientIn = Fragment(#"},"bytes":{"client_in":"#)
    let clientOut = Fragment(#","client_out":"#)
    let upstreamOut = Fragment(#","upstream_out":"#)
    let upstreamIn = Fragment(#","upstream_in":"#)
    let number = Fragment(#"{"n":"#)
    let cause = Fragment(#","why":""#)
    let onlyAttempt = Fragment(#","attempts":[{"n":1,"why":"first""#)
    let attemptsEnd = Fragment("}]")
    let status = Fragment(#","status":"#)
    let deliver = Fragment(#","decision":"deliver""#)
    let decision = Fragment(#","decision":""#)
    let delay = Fragment(#","delay":"#)
    let reused = Fragment(#","reused":true"#)
    let notReplayable = Fragment(#","replayable":false"#)
    let versionHTTP11 = Fragment(#","protocol":"1.1""#)
    let versionHTTP2 = Fragment(#","protocol":"2""#)
    let version = Fragment(#","protocol":""#)
    let peer = Fragment(#","peer":""#)
    let tls12 = Fragment(#","tls":"1.2""#)
    let tls13 = Fragment(#","tls":"1.3""#)
    let timing = Fragment(#","timing":"#)
    let blocked = Fragment(#","blocked":"#)
    let dns = Fragment(#","dns":"#)
    let tcp = Fragment(#","tcp":"#)
    let tls = Fragment(#","tls":"#)
    let send = Fragment(#","send":"#)
    let wait = Fragment(#","wait":"#)
    let receive = Fragment(#","receive":"#)
    let total = Fragment(#","total":"#)
    let tunnel = Fragment(#","tunnel":{"sent":"#)
    let received = Fragment(#","received":"#)
    let closedBy = Fragment(#","closed_by":""#)
}

extension RecordText {
    /// Appends `,"timing":{…}` with the phases that are known, if any is.
    func add(_ value: Timing, to output: inout TextCursor) {
        if value.isEmpty { return }
        output.append(timing)
        let start = output.count
        output.append(blocked, value.blocked)
        output.append(dns, value.dns)
        output.append(tcp, value.tcp)
        output.append(tls, value.tls)
        output.append(send, value.send)
        output.append(wait, value.wait)
        output.append(receive, value.receive)
        output.append(total, value.total)
        // Every phase begins with a comma; before the first one stands a brace instead.
        output.replace(at: start, by: 0x7B)
        output.append(0x7D)
    }

    /// Appends `,"tunnel":{"sent":7,"received":9,"closed_by":"client"}`.
    func add(_ value: TunnelRecord, to output: inout TextCursor) {
        output.append(tunnel)
        output.append(decimal: value.sentBytes)
        output.append(received)
        output.append(decimal: value.receivedBytes)
        if let closer = value.closedBy {
            output.append(closedBy)
            output.append(literal: closer.rawValue)
            output.append(0x22)
        }
        output.append(0x7D)
    }

    func add(bodyBytes: UInt64, to output: inout TextCursor) {
        output.append(body)
        output.append(decimal: bodyBytes)
        output.append(0x7D)
    }

    /// Appends `,"mode":"http","http":{"request":{`.
    func add(_ value: ExchangeRecord.Mode, to output: inout TextCursor) {
        if case .http = value { return output.append(requestOverHTTP) }
        output.append(mode)
        output.append(literal: value.rawValue)
        output.append(request)
    }

    func addFlags(isReused: Bool, isReplayable: Bool, to output: inout TextCursor) {
        if isReused { output.append(reused) }
        if !isReplayable { output.append(notReplayable) }
    }

    /// Appends `,"attempts":[{…}]`.
    func add(_ attempt: borrowing UsualAttempt, to output: inout TextCursor) {
        output.append(onlyAttempt)
        if attempt.status > 0 {
            output.append(status)
            output.append(decimal: UInt64(attempt.status))
        }
        output.append(deliver)
        output.append(delay, attempt.delayMicroseconds)
        addFlags(
            isReused: attempt.isReused,
            isReplayable: attempt.isReplayable,
            to: &output
        )
        if let isHTTP2 = attempt.isHTTP2 {
            output.append(isHTTP2 ? versionHTTP2 : versionHTTP11)
        }
        if let number = attempt.stream { add(stream: number, to: &output) }
        if let quad = attempt.quad { add(peer: quad, port: attempt.peerPort, to: &output) }
        add(attempt.tls, to: &output)
        add(attempt.timing, to: &output)
        output.append(attemptsEnd)
    }

    /// Appends `,"stream":5`.
    func add(stream number: UInt32, to output: inout TextCursor) {
        output.append(stream)
        output.append(decimal: UInt64(number))
    }

    /// Appends a quoted error code behind `key`, such as `,"reset":"CANCEL"`.
    func add(_ key: Fragment, _ code: HTTP2ErrorCode?, to output: inout TextCursor) {
        guard let code else { return }
        output.append(key)
        output.append(literal: code.name)
        output.append(0x22)
    }

    /// Appends `,"tls":"1.3"`, or nothing in clear.
    func add(_ version: TLSVersion?, to output: inout TextCursor) {
        switch version {
        case nil: break
        case .tls12?: output.append(tls12)
        case .tls13?: output.append(tls13)
        }
    }

    /// Appends `,"peer":"140.82.121.6:443"`.
    func add(peer quad: UInt32, port: UInt16, to output: inout TextCursor) {
        output.append(peer)
        output.append(quad: quad)
        output.append(0x3A)
        output.append(decimal: UInt64(port))
        output.append(0x22)
    }
}

extension TextCursor {
    mutating func append(_ key: Fragment, _ milliseconds: Int64?) {
        guard let milliseconds else { return }
        append(key)
        append(milliseconds: milliseconds)
    }
}

/// An attempt as nearly all exchanges have it, with none of its texts: a copy counts no references.
struct UsualAttempt {
    /// Nil for a tunnel, in which nobody knows.
    let isHTTP2: Bool?
    let stream: UInt32?
    let status: UInt16
    let isReused: Bool
    let isReplayable: Bool
    let delayMicroseconds: Int64?
    /// The IPv4 address that was connected to.
    let quad: UInt32?
    let peerPort: UInt16
    let tls: TLSVersion?
    let timing: Timing

    /// Nil unless there is one alone, over IPv4 and not over HTTP/1.0, and it went well.
    ///
    /// Read part by part where it lies: passed on, an attempt would be copied with its texts.
    init?(only attempts: Span<AttemptRecord>) {
        guard attempts.count == 1, case .first = attempts[0].cause,
            case .deliver = attempts[0].decision, attempts[0].reason.isEmpty,
            case nil = attempts[0].url, case nil = attempts[0].error,
            case nil = attempts[0].reset, case nil = attempts[0].goAway
        else { return nil }
        switch attempts[0].version {
        case .http11?: isHTTP2 = false
        case .http2?: isHTTP2 = true
        case nil: isHTTP2 = nil
        case .http10?: return nil
        }
        stream = attempts[0].stream
        switch attempts[0].peer {
        case .v4(let address)?: quad = address
        case nil: quad = nil
        case .v6?: return nil
        }
        status = attempts[0].status
        isReused = attempts[0].isReused
        isReplayable = attempts[0].isReplayable
        delayMicroseconds = attempts[0].delayMicroseconds
        peerPort = attempts[0].peerPort
        tls = attempts[0].tls
        timing = attempts[0].timing
    }
}

extension Timing {
    /// Whether no phase is known.
    package var isEmpty: Bool {
        blocked == nil && dns == nil && tcp == nil && tls == nil && send == nil && wait == nil
            && receive == nil && total == nil
    }
}
