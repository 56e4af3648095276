// Formats rare data: credentials, cache status, certificates, redirects, errors, tunnels.

import LupinCore

extension RecordFormat {
    /// Appends the decisions about the exchange that precede its attempts.
    mutating func addDecisions(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if record.hasRare, let bypass = record.bypass { add(bypass, at: &place, to: &output) }
        if record.hasRare, let use = record.authentication {
            place.add(.token, use.token, redactor, to: &output)
            if use.version > 0 { place.add(.tokenVersion, UInt64(use.version), to: &output) }
            place.add(.tokenAction, literal: use.action.rawValue, to: &output)
            place.add(.tokenWait, microseconds: use.waitMicroseconds, to: &output)
        }
        if record.hasRare, let standIns = record.standIns {
            let lists = [
                (RecordField.standInsExchanged, standIns.exchanged),
                (.standInsElsewhere, standIns.elsewhere),
            ]
            for (field, names) in lists where !names.isEmpty {
                place.open(field, to: &output)
                output.append(redactor.list(of: names))
            }
        }
        if let status = record.cache {
            // lupin's own text, so there is nothing in it to redact.
            place.open(.cacheStatus, to: &output)
            output.append(json: status.utf8Span.span)
            output.append(0x22)
        }
        guard record.hasRare else { return }
        if let trust = record.trust { add(trust, at: &place, to: &output) }
        if let validation = record.validation {
            place.add(.isValid, validation.condition == nil, to: &output)
            place.add(.failedCondition, validation.condition, redactor, to: &output)
            if let action = validation.action {
                place.add(.validationAction, literal: action.rawValue, to: &output)
            }
            place.add(.validationNote, validation.note, redactor, to: &output)
        }
        if !record.redirects.isEmpty {
            place.open(.redirects, to: &output)
            output.append(redactor.list(of: record.redirects))
        }
        if !record.flaws.isEmpty {
            place.open(.lenient, to: &output)
            output.append(redactor.list(of: record.flaws.all.map(\.word)))
        }
        place.add(.loginStep, record.loginStep, redactor, to: &output)
    }

    private mutating func add(
        _ bypass: BypassRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        place.add(.bypassReason, literal: BypassRecord.reason, to: &output)
        let times = [
            (RecordField.bypassSince, bypass.sinceMicroseconds),
            (.bypassUntil, bypass.untilMicroseconds),
        ]
        for (field, time) in times {
            place.add(field, date: time, to: &output)
        }
        place.add(.bypassCause, bypass.cause, redactor, to: &output)
    }

    private mutating func add(
        _ trust: TrustRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        place.add(.trustPolicy, trust.policy, redactor, to: &output)
        place.add(.trustVerdict, literal: trust.verdict.rawValue, to: &output)
        if !trust.checks.isEmpty {
            place.open(.trustChecks, to: &output)
            output.append(redactor.list(of: trust.checks))
        }
        if let leaf = trust.leaf { place.add(.trustLeaf, literal: leaf, to: &output) }
        guard let end = trust.notAfter else { return }
        // Clamped to year 9999, where RFC 3339 ends.
        place.add(.trustEnd, date: min(max(end, 0), 253_402_300_799) * 1_000_000, to: &output)
    }

    private mutating func add(
        _ parent: FailedParent,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        place.add(.errorParent, parent.place, redactor, to: &output)
        place.add(.errorParentRule, parent.rule, redactor, to: &output)
        if let status = parent.status { place.add(.errorParentStatus, UInt64(status), to: &output) }
        guard let challenge = parent.challenge else { return }
        place.add(.errorParentRefused, challenge.refused, redactor, to: &output)
        guard !challenge.offers.isEmpty else { return }
        place.open(.errorParentOffers, to: &output)
        output.append(redactor.list(of: challenge.offers))
    }

    /// Appends how the exchange ended, when it has an error or was a tunnel.
    mutating func addEnd(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if let error = record.error {
            place.add(.errorType, literal: error.kind.token, to: &output)
            place.add(.errorDetail, error.recordedDetail, redactor, to: &output)
            place.add(.errorSide, literal: error.side.rawValue, to: &output)
            if let parent = error.failedParent { add(parent, at: &place, to: &output) }
        }
        guard let tunnel = record.tunnel else { return }
        place.add(.tunnelSent, tunnel.sentBytes, to: &output)
        place.add(.tunnelReceived, tunnel.receivedBytes, to: &output)
        if let closer = tunnel.closedBy {
            place.add(.closedBy, literal: closer.rawValue, to: &output)
        }
        place.add(.tunnelName, tunnel.serverName, redactor, to: &output)
        if !tunnel.protocols.isEmpty {
            place.open(.tunnelProtocols, to: &output)
            output.append(redactor.list(of: tunnel.protocols))
        }
        if tunnel.offeredECH { place.add(.tunnelECH, true, to: &output) }
    }
}
