// Formats rare data: credentials, cache status, certificates, redirects, errors, tunnels.

import LupinCore

extension RecordFormat {
    /// Appends the decisions about the exchange that precede its attempts.
    mutating func addDecisions(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if record.hasRare, let bypass = record.bypass { add(bypass, at: &cursor, to: &output) }
        if record.hasRare, let use = record.authentication {
            cursor.add(.token, use.token, redactor, to: &output)
            if use.version > 0 { cursor.add(.tokenVersion, UInt64(use.version), to: &output) }
            cursor.add(.tokenAction, literal: use.action.rawValue, to: &output)
            cursor.add(.tokenWait, microseconds: use.waitMicroseconds, to: &output)
        }
        if record.hasRare, let standIns = record.standIns {
            let lists = [
                (RecordField.standInsExchanged, standIns.exchanged),
                (.standInsElsewhere, standIns.elsewhere),
            ]
            for (field, names) in lists where !names.isEmpty {
                cursor.open(field, to: &output)
                output.append(redactor.list(of: names))
            }
        }
        if let status = record.cache {
            // lupin's own text, so there is nothing in it to redact.
            cursor.open(.cacheStatus, to: &output)
            output.append(json: status.utf8Span.span)
            output.append(0x22)
        }
        guard record.hasRare else { return }
        if let trust = record.trust { add(trust, at: &cursor, to: &output) }
        if let validation = record.validation {
            cursor.add(.isValid, validation.condition == nil, to: &output)
            cursor.add(.failedCondition, validation.condition, redactor, to: &output)
            if let action = validation.action {
                cursor.add(.validationAction, literal: action.rawValue, to: &output)
            }
            cursor.add(.validationNote, validation.note, redactor, to: &output)
        }
        if !record.redirects.isEmpty {
            cursor.open(.redirects, to: &output)
            output.append(redactor.list(of: record.redirects))
        }
        if !record.flaws.isEmpty {
            cursor.open(.lenient, to: &output)
            output.append(redactor.list(of: record.flaws.all.map(\.word)))
        }
        cursor.add(.loginStep, record.loginStep, redactor, to: &output)
    }

    private mutating func add(
        _ bypass: BypassRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        cursor.add(.bypassReason, literal: BypassRecord.reason, to: &output)
        let times = [
            (RecordField.bypassSince, bypass.sinceMicroseconds),
            (.bypassUntil, bypass.untilMicroseconds),
        ]
        for (field, time) in times {
            cursor.add(field, date: time, to: &output)
        }
        cursor.add(.bypassCause, bypass.cause, redactor, to: &output)
    }

    private mutating func add(
        _ trust: TrustRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        cursor.add(.trustPolicy, trust.policy, redactor, to: &output)
        cursor.add(.trustVerdict, literal: trust.verdict.rawValue, to: &output)
        if !trust.checks.isEmpty {
            cursor.open(.trustChecks, to: &output)
            output.append(redactor.list(of: trust.checks))
        }
        if let leaf = trust.leaf { cursor.add(.trustLeaf, literal: leaf, to: &output) }
        guard let end = trust.notAfter else { return }
        // Clamped to year 9999, where RFC 3339 ends.
        cursor.add(.trustEnd, date: min(max(end, 0), 253_402_300_799) * 1_000_000, to: &output)
    }

    private mutating func add(
        _ parent: FailedParent,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        cursor.add(.errorParent, parent.endpoint, redactor, to: &output)
        cursor.add(.errorParentRule, parent.rule, redactor, to: &output)
        if let status = parent.status {
            cursor.add(.errorParentStatus, UInt64(status), to: &output)
        }
        guard let challenge = parent.challenge else { return }
        cursor.add(.errorParentRefused, challenge.refused, redactor, to: &output)
        guard !challenge.offers.isEmpty else { return }
        cursor.open(.errorParentOffers, to: &output)
        output.append(redactor.list(of: challenge.offers))
    }

    /// Appends how the exchange ended, when it has an error or was a tunnel.
    mutating func addEnd(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if let error = record.error {
            cursor.add(.errorType, literal: error.kind.token, to: &output)
            cursor.add(.errorDetail, error.recordedDetail, redactor, to: &output)
            cursor.add(.errorSide, literal: error.side.rawValue, to: &output)
            if let parent = error.failedParent { add(parent, at: &cursor, to: &output) }
        }
        guard let tunnel = record.tunnel else { return }
        cursor.add(.tunnelSent, tunnel.sentBytes, to: &output)
        cursor.add(.tunnelReceived, tunnel.receivedBytes, to: &output)
        if let closer = tunnel.closedBy {
            cursor.add(.closedBy, literal: closer.rawValue, to: &output)
        }
        cursor.add(.tunnelName, tunnel.serverName, redactor, to: &output)
        if !tunnel.protocols.isEmpty {
            cursor.open(.tunnelProtocols, to: &output)
            output.append(redactor.list(of: tunnel.protocols))
        }
        if tunnel.offeredECH { cursor.add(.tunnelECH, true, to: &output) }
    }
}
