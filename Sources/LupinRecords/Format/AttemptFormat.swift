// Formats attempts as JSON, within the line of their exchange or in a line of their own.

package import LupinCore

extension RecordFormat {
    /// Appends a line for one attempt of an exchange: `"event":"attempt"` and its object.
    package mutating func appendAttempt(
        _ attempt: AttemptRecord,
        number: Int,
        of exchange: ExchangeMoment,
        to line: inout JSONLine
    ) {
        line.openStageLine("attempt", id: exchange.id, at: exchange.microseconds, &timestamp)
        line.addTarget(host: exchange.host, rules: exchange.rules)
        line.add("attempt")
        let one = [attempt]
        line.bytes.appendText(about: lengthGuess) { output in
            add(one.span, at: 0, number: number, to: &output)
        }
        line.closeObject()
        line.endLine()
    }

    mutating func add(
        _ attempts: [AttemptRecord],
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if attempts.isEmpty { return }
        let attempts = attempts.span
        let isUsual = cursor.isBehind(.matched) && attempts.hasUsualStart
        if isUsual {
            cursor.append(runs.firstAttempt, to: .attempts, in: &output)
            var inner = LineCursor<AttemptField>(attemptTexts, behind: .status)
            output.append(decimal: UInt64(attempts[0].status))
            addResult(of: attempts, 0, at: &inner, to: &output)
        } else {
            cursor.open(.attempts, to: &output)
            output.append(0x5B)
        }
        for i in (isUsual ? 1 : 0)..<attempts.count {
            if i > 0 { output.append(0x2C) }
            add(attempts, at: i, number: i + 1, to: &output)
        }
        output.append(0x5D)
    }

    /// Appends the object of an attempt; in its place, because a copy would retain all its texts.
    private mutating func add(
        _ attempts: Span<AttemptRecord>,
        at i: Int,
        number: Int,
        to output: inout TextCursor
    ) {
        var cursor = LineCursor<AttemptField>(attemptTexts)
        cursor.add(.number, UInt64(number), to: &output)
        cursor.add(.cause, literal: attempts[i].cause.rawValue, to: &output)
        cursor.add(.start, microseconds: attempts[i].start, to: &output)
        cursor.add(.url, attempts[i].url, redactor, to: &output)
        if attempts[i].status > 0 { cursor.add(.status, UInt64(attempts[i].status), to: &output) }
        addResult(of: attempts, i, at: &cursor, to: &output)
    }

    /// Appends the rest of an attempt's object, from what follows its status.
    private mutating func addResult(
        of attempts: Span<AttemptRecord>,
        _ i: Int,
        at cursor: inout LineCursor<AttemptField>,
        to output: inout TextCursor
    ) {
        if cursor.isBehind(.status), attempts.wasDelivered(at: i), let peer = attempts[i].peer {
            cursor.append(runs.delivered, to: .peer, in: &output)
            add(peer, attempts[i].peerPort, to: &output)
        } else {
            addDecision(of: attempts, i, at: &cursor, to: &output)
            addConnection(of: attempts, i, at: &cursor, to: &output)
        }
        switch attempts[i].tls {
        case nil: break
        case .tls12?: cursor.add(.tlsVersion, literal: "1.2", to: &output)
        case .tls13?: cursor.add(.tlsVersion, literal: "1.3", to: &output)
        }
        cursor.add(attempts[i].timing, to: &output)
        cursor.close(to: &output)
    }

    private mutating func addDecision(
        of attempts: Span<AttemptRecord>,
        _ i: Int,
        at cursor: inout LineCursor<AttemptField>,
        to output: inout TextCursor
    ) {
        if let error = attempts[i].error {
            cursor.add(.errorType, literal: error.kind.token, to: &output)
            cursor.add(.errorDetail, error.recordedDetail, redactor, to: &output)
            cursor.add(.errorSide, literal: error.side.rawValue, to: &output)
        }
        cursor.add(.decision, literal: attempts[i].decision.rawValue, to: &output)
        cursor.add(.reason, attempts[i].reason, redactor, to: &output)
        cursor.add(.delay, microseconds: attempts[i].delayMicroseconds, to: &output)
        if attempts[i].isReused { cursor.add(.isReused, true, to: &output) }
        if !attempts[i].isReplayable { cursor.add(.isReplayable, false, to: &output) }
        if let reason = attempts[i].unkept {
            cursor.add(.unkept, literal: reason.rawValue, to: &output)
        }
    }

    private mutating func addConnection(
        of attempts: Span<AttemptRecord>,
        _ i: Int,
        at cursor: inout LineCursor<AttemptField>,
        to output: inout TextCursor
    ) {
        if let via = attempts[i].via { cursor.add(.via, via, redactor, to: &output) }
        if let version = attempts[i].version {
            cursor.add(.version, literal: version.text, to: &output)
        }
        if let stream = attempts[i].stream { cursor.add(.stream, UInt64(stream), to: &output) }
        if let code = attempts[i].reset { cursor.add(.reset, literal: code.name, to: &output) }
        if let code = attempts[i].goAway { cursor.add(.goAway, literal: code.name, to: &output) }
        if let peer = attempts[i].peer {
            cursor.open(.peer, to: &output)
            add(peer, attempts[i].peerPort, to: &output)
        }
    }

    /// Appends an address and a port, and the quotation mark behind them.
    private mutating func add(_ peer: IPAddress, _ port: UInt16, to output: inout TextCursor) {
        let isV6 = if case .v6 = peer { true } else { false }
        if isV6 { output.append(0x5B) }
        add(peer, to: &output)
        if isV6 { output.append(0x5D) }
        output.append(0x3A)
        output.append(decimal: UInt64(port))
        output.append(0x22)
    }
}

// Asked of the span, since a record that is passed on is copied; and without `&&`, whose closures
// would copy the span.
extension Span<AttemptRecord> {
    /// Whether the first object begins as that of nearly all attempts: see `LineRuns.firstAttempt`.
    @inline(__always) fileprivate var hasUsualStart: Bool {
        guard self[0].cause == .first, self[0].start == nil, self[0].url == nil else {
            return false
        }
        return self[0].status > 0
    }

    /// Whether an object goes on as that of nearly all attempts: see `LineRuns.delivered`.
    @inline(__always) fileprivate func wasDelivered(at i: Int) -> Bool {
        guard self[i].decision == .deliver, self[i].isReused, self[i].isReplayable,
            self[i].version == .http11, self[i].error == nil, self[i].delayMicroseconds == nil,
            self[i].stream == nil, self[i].reset == nil, self[i].goAway == nil, self[i].via == nil
        else { return false }
        return self[i].reason.isEmpty
    }
}
