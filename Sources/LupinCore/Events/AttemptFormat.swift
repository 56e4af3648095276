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
        line.bytes.appendText(about: lengthGuess) { output in
            add(attempt, number: number, to: &output)
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
        // Read in place: a copy would retain all its texts.
        let attempts = attempts.span
        for i in attempts.indices {
            if i > 0 { output.append(0x2C) }
            add(attempts[i], number: i + 1, to: &output)
        }
        output.append(0x5D)
    }

    private mutating func add(
        _ attempt: borrowing AttemptRecord,
        number: Int,
        to output: inout TextCursor
    ) {
        var place = LinePlace<AttemptField>(attemptTexts)
        place.add(.number, UInt64(number), to: &output)
        if case .first = attempt.cause {
            place.open(.cause, to: &output)
            output.append(words.first)
        } else {
            place.add(.cause, literal: attempt.cause.rawValue, to: &output)
        }
        place.add(.url, attempt.url, redactor, to: &output)
        if attempt.status > 0 { place.add(.status, UInt64(attempt.status), to: &output) }
        if let error = attempt.error {
            place.add(.errorType, literal: error.kind.token, to: &output)
            place.add(.errorDetail, error.detail, redactor, to: &output)
            place.add(.errorSide, literal: error.side.rawValue, to: &output)
        }
        if case .deliver = attempt.decision {
            place.open(.decision, to: &output)
            output.append(words.deliver)
        } else {
            place.add(.decision, literal: attempt.decision.rawValue, to: &output)
        }
        place.add(.reason, attempt.reason, redactor, to: &output)
        place.add(.delay, microseconds: attempt.delayMicroseconds, to: &output)
        if attempt.isReused { place.add(.isReused, true, to: &output) }
        if !attempt.isReplayable { place.add(.isReplayable, false, to: &output) }
        addConnection(of: attempt, at: &place, to: &output)
        place.add(attempt.timing, to: &output)
        place.close(to: &output)
    }

    private mutating func addConnection(
        of attempt: borrowing AttemptRecord,
        at place: inout LinePlace<AttemptField>,
        to output: inout TextCursor
    ) {
        if let version = attempt.version {
            place.open(.version, to: &output)
            output.append(words.version(version))
        }
        if let stream = attempt.stream { place.add(.stream, UInt64(stream), to: &output) }
        if let code = attempt.reset { place.add(.reset, literal: code.name, to: &output) }
        if let code = attempt.goAway { place.add(.goAway, literal: code.name, to: &output) }
        if let peer = attempt.peer {
            let isV6 = if case .v6 = peer { true } else { false }
            place.open(.peer, to: &output)
            if isV6 { output.append(0x5B) }
            add(peer, to: &output)
            if isV6 { output.append(0x5D) }
            output.append(0x3A)
            output.append(decimal: UInt64(attempt.peerPort))
            output.append(0x22)
        }
        switch attempt.tls {
        case nil: break
        case .tls12?: place.add(.tlsVersion, literal: "1.2", to: &output)
        case .tls13?: place.add(.tlsVersion, literal: "1.3", to: &output)
        }
    }
}
