// How attempts stand in JSON: in the line of their exchange, and each in a line of its own.

extension RecordFormat {
    /// Appends a line about one attempt of an exchange: `"event":"attempt"` and its object.
    package mutating func appendAttempt(
        _ attempt: borrowing AttemptRecord,
        number: Int,
        of exchange: ExchangeMoment,
        to line: inout JSONLine
    ) {
        line.openStageLine("attempt", id: exchange.id, at: exchange.microseconds, &timestamp)
        line.addPlace(host: exchange.host, rules: exchange.rules)
        line.add("attempt")
        add(attempt, number: number, to: &line)
        line.closeObject()
        line.endLine()
    }

    /// Appends the attempts and the timing of the whole.
    mutating func addAttempts(
        _ record: borrowing ExchangeRecord,
        to line: inout JSONLine
    ) {
        let total = record.timing
        let attempts = record.attempts.span
        if let usual = UsualAttempt(only: attempts) {
            line.appendBounded(832) { output in
                text.add(usual, to: &output)
                text.add(total, to: &output)
            }
            return
        }
        if !attempts.isEmpty {
            line.openList("attempts")
            for i in attempts.indices { add(attempts[i], number: i + 1, to: &line) }
            line.closeList()
        }
        line.appendBounded(320) { output in text.add(total, to: &output) }
    }

    private mutating func add(
        _ attempt: borrowing AttemptRecord,
        number: Int,
        to line: inout JSONLine
    ) {
        let cause = attempt.cause
        line.comma()
        line.appendBounded(320) { output in
            output.append(text.number)
            output.append(decimal: UInt64(number))
            output.append(text.cause)
            output.append(literal: cause.rawValue)
            output.append(0x22)
        }
        if let url = attempt.url { line.add("url", url, redactor) }
        if attempt.status > 0 { line.add("status", UInt64(attempt.status)) }
        if let error = attempt.error { line.add(error, redactor) }
        let decision = attempt.decision
        line.appendBounded(320) { output in
            output.append(text.decision)
            output.append(literal: decision.rawValue)
            output.append(0x22)
        }
        if !attempt.reason.isEmpty { line.add("reason", attempt.reason, redactor) }
        let delay = attempt.delayMicroseconds
        let isReused = attempt.isReused
        let isReplayable = attempt.isReplayable
        let version = attempt.version
        let stream = attempt.stream
        let reset = attempt.reset
        let goAway = attempt.goAway
        line.appendBounded(320) { output in
            output.append(text.delay, delay)
            text.addFlags(isReused: isReused, isReplayable: isReplayable, to: &output)
            if let version {
                output.append(text.version)
                output.append(literal: version.text)
                output.append(0x22)
            }
            if let stream { text.add(stream: stream, to: &output) }
            text.add(text.reset, reset, to: &output)
            text.add(text.goAway, goAway, to: &output)
        }
        if let peer = attempt.peer { add(peer: peer, port: attempt.peerPort, to: &line) }
        let timing = attempt.timing
        let tls = attempt.tls
        line.appendBounded(336) { output in
            text.add(tls, to: &output)
            text.add(timing, to: &output)
            output.append(0x7D)
        }
    }

    /// Appends `140.82.121.6:443` or `[::1]:443`.
    private mutating func add(peer: IPAddress, port: UInt16, to line: inout JSONLine) {
        switch peer {
        case .v4(let quad):
            line.appendBounded(64) { output in text.add(peer: quad, port: port, to: &output) }
        case .v6(let high, let low):
            line.add("peer")
            line.bytes.append(contentsOf: #""["#.utf8)
            add(v6: high, low, to: &line)
            line.bytes.append(contentsOf: "]:".utf8)
            line.bytes.append(decimal: UInt64(port))
            line.bytes.append(0x22)
        }
    }
}
