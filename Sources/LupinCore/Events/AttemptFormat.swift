// Formats attempts as JSON, within the line of their exchange or in a line of their own.

extension RecordFormat {
    /// Appends a line for one attempt of an exchange: `"event":"attempt"` and its object.
    package mutating func appendAttempt(
        _ attempt: AttemptRecord,
        number: Int,
        of exchange: ExchangeMoment,
        to line: inout JSONLine
    ) {
        line.openStageLine("attempt", id: exchange.id, at: exchange.microseconds, &timestamp)
        line.addPlace(host: exchange.host, rules: exchange.rules)
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
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if attempts.isEmpty { return }
        place.open(.attempts, to: &output)
        output.append(0x5B)
        let attempts = attempts.span
        for i in attempts.indices {
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
        var place = LinePlace<AttemptField>(attemptTexts)
        place.add(.number, UInt64(number), to: &output)
        if case .first = attempts[i].cause {
            place.open(.cause, to: &output)
            output.append(words.first)
        } else {
            place.add(.cause, literal: attempts[i].cause.rawValue, to: &output)
        }
        place.add(.start, microseconds: attempts[i].start, to: &output)
        place.add(.url, attempts[i].url, redactor, to: &output)
        if attempts[i].status > 0 { place.add(.status, UInt64(attempts[i].status), to: &output) }
        if let error = attempts[i].error {
            place.add(.errorType, literal: error.kind.token, to: &output)
            place.add(.errorDetail, error.detail, redactor, to: &output)
            place.add(.errorSide, literal: error.side.rawValue, to: &output)
        }
        if case .deliver = attempts[i].decision {
            place.open(.decision, to: &output)
            output.append(words.deliver)
        } else {
            place.add(.decision, literal: attempts[i].decision.rawValue, to: &output)
        }
        place.add(.reason, attempts[i].reason, redactor, to: &output)
        place.add(.delay, microseconds: attempts[i].delayMicroseconds, to: &output)
        if attempts[i].isReused { place.add(.isReused, true, to: &output) }
        if !attempts[i].isReplayable { place.add(.isReplayable, false, to: &output) }
        addConnection(of: attempts, i, at: &place, to: &output)
        place.add(attempts[i].timing, to: &output)
        place.close(to: &output)
    }

    private mutating func addConnection(
        of attempts: Span<AttemptRecord>,
        _ i: Int,
        at place: inout LinePlace<AttemptField>,
        to output: inout TextCursor
    ) {
        if let version = attempts[i].version {
            place.open(.version, to: &output)
            output.append(words.version(version))
        }
        if let stream = attempts[i].stream { place.add(.stream, UInt64(stream), to: &output) }
        if let code = attempts[i].reset { place.add(.reset, literal: code.name, to: &output) }
        if let code = attempts[i].goAway { place.add(.goAway, literal: code.name, to: &output) }
        if let peer = attempts[i].peer {
            let isV6 = if case .v6 = peer { true } else { false }
            place.open(.peer, to: &output)
            if isV6 { output.append(0x5B) }
            add(peer, to: &output)
            if isV6 { output.append(0x5D) }
            output.append(0x3A)
            output.append(decimal: UInt64(attempts[i].peerPort))
            output.append(0x22)
        }
        switch attempts[i].tls {
        case nil: break
        case .tls12?: place.add(.tlsVersion, literal: "1.2", to: &output)
        case .tls13?: place.add(.tlsVersion, literal: "1.3", to: &output)
        }
    }
}
