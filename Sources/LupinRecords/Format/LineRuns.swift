// The fields that nearly all lines have with the same values, each run of them as one text.

import LupinCore

/// Runs of fields and values, made once of the tables of fields.
///
/// A run stands for what the general code would append to a usual record: one piece for several.
final class LineRuns: Sendable {
    /// Up to the value of `ts`.
    let start: Fragment
    /// From the end of `ts` to the value of `id`.
    let event: Fragment
    /// From the end of `id` to the value of `client.address`.
    let outcome: Fragment
    /// From `client.port` to the method of a GET, by the mode of its exchange.
    private let httpGet, interceptedGet: Fragment
    /// From `url.path` to the version of HTTP, by version.
    private let http10, http11, http2: Fragment
    /// From the end of `rules.version` to the list of rules, which is empty.
    let noRules: Fragment
    /// From the rules to the value of the first attempt's status.
    let firstAttempt: Fragment
    /// From the status to the value of `peer`, for an attempt on a kept connection of HTTP/1.1.
    let delivered: Fragment

    init(_ texts: LineTexts, _ attemptTexts: LineTexts) {
        typealias Cursor = LineCursor<RecordField>
        start = Fragment { output in
            var cursor = Cursor(texts)
            cursor.add(.schema, RecordFormat.schema, to: &output)
            cursor.open(.timestamp, to: &output)
        }
        event = Fragment { output in
            output.append(0x22)
            var cursor = Cursor(texts, behind: .timestamp)
            cursor.add(.event, literal: "exchange", to: &output)
            cursor.open(.id, to: &output)
        }
        outcome = Fragment { output in
            output.append(0x22)
            var cursor = Cursor(texts, behind: .id)
            cursor.add(.outcome, literal: ExchangeRecord.Outcome.ok.rawValue, to: &output)
            cursor.open(.clientAddress, to: &output)
        }
        httpGet = LineRuns.get(.http, texts)
        interceptedGet = LineRuns.get(.intercept, texts)
        (http10, http11, http2) = (
            LineRuns.network(.http10, texts),
            LineRuns.network(.http11, texts),
            LineRuns.network(.http2, texts)
        )
        noRules = Fragment { output in
            output.append(0x22)
            var cursor = Cursor(texts, behind: .rulesVersion)
            cursor.open(.matched, to: &output)
            output.append(literal: "[]")
        }
        firstAttempt = Fragment { output in
            var cursor = Cursor(texts, behind: .matched)
            cursor.open(.attempts, to: &output)
            output.append(0x5B)
            var inner = LineCursor<AttemptField>(attemptTexts)
            inner.add(.number, 1, to: &output)
            inner.add(.cause, literal: AttemptRecord.Cause.first.rawValue, to: &output)
            inner.open(.status, to: &output)
        }
        delivered = Fragment { output in
            var cursor = LineCursor<AttemptField>(attemptTexts, behind: .status)
            cursor.add(.decision, literal: AttemptRecord.Decision.deliver.rawValue, to: &output)
            cursor.add(.isReused, true, to: &output)
            cursor.add(.version, literal: ProtocolVersion.http11.text, to: &output)
            cursor.open(.peer, to: &output)
        }
    }

    private static func get(_ mode: ExchangeRecord.Mode, _ texts: LineTexts) -> Fragment {
        Fragment { output in
            var cursor = LineCursor<RecordField>(texts, behind: .clientPort)
            cursor.add(.mode, literal: mode.rawValue, to: &output)
            cursor.add(.method, literal: Method.get.token, to: &output)
        }
    }

    /// Returns nil for modes that few exchanges have.
    func get(_ mode: ExchangeRecord.Mode) -> Fragment? {
        switch mode {
        case .http: httpGet
        case .intercept: interceptedGet
        case .tunnel, .upgrade: nil
        }
    }

    private static func network(_ version: ProtocolVersion, _ texts: LineTexts) -> Fragment {
        Fragment { output in
            var cursor = LineCursor<RecordField>(texts, behind: .path)
            cursor.add(.protocolName, literal: "http", to: &output)
            cursor.add(.version, literal: version.text, to: &output)
        }
    }

    func network(_ version: ProtocolVersion) -> Fragment {
        switch version {
        case .http10: http10
        case .http11: http11
        case .http2: http2
        }
    }
}

extension Fragment {
    /// Creates a fragment of what `body` appends.
    fileprivate init(_ body: (inout TextCursor) -> Void) {
        var bytes: [UInt8] = []
        bytes.appendText(about: 256, body)
        guard let fragment = Fragment(bytes) else {
            preconditionFailure("a run of fields is a block at most")
        }
        self = fragment
    }
}
