// A traced exchange with fixed identifiers and times, for the tests of this folder.

import LupinCore
import LupinRecords

let sampleTrace = "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b"

/// Three attempts, a wait for a token, a look-up: `sampleStart` is when it began.
func makeTracedExchange() -> TracedExchange {
    var record = makeFullRecord()
    record.attempts = []
    record.timing.total = 900_000
    record.cache = "lupin; fwd=uri-miss; stored"
    var use = AuthenticationRecord(token: "acme")
    use.version = 7
    use.action = .refreshed
    record.authentication = use
    var first = AttemptRecord()
    first.status = 503
    first.decision = .retry
    first.reason = "status 503"
    first.span = AttemptSpan(
        SpanID(random: 0x11),
        begun: sampleStart + 1000,
        ended: sampleStart + 2000
    )
    var second = AttemptRecord()
    second.cause = .retry
    second.error = LupinError(.connectionRefused, detail: "connect: Connection refused")
    second.decision = .retry
    second.span = AttemptSpan(
        SpanID(random: 0x12),
        begun: sampleStart + 3000,
        ended: sampleStart + 4000
    )
    var third = AttemptRecord()
    third.cause = .retry
    third.status = 200
    third.peer = .v4(0x8C52_7906)
    third.peerPort = 443
    third.version = .http2
    third.tls = .tls13
    third.isReused = true
    third.url = "https://other.example:8443/v2?sig=abc"
    third.timing.wait = 60_200
    third.timing.receive = 2200
    third.span = AttemptSpan(
        SpanID(random: 0x13),
        begun: sampleStart + 5000,
        ended: sampleStart + 6000
    )
    record.attempts = [first, second, third]
    return TracedExchange(record, makeSpanContext(of: record.id))
}

private func makeSpanContext(of id: ExchangeID) -> SpanContext? {
    TraceID(id).map { trace in
        SpanContext(
            trace: trace,
            span: SpanID(random: 0x10),
            parent: SpanID(random: 0xF0),
            state: TraceState(["a=1"]) ?? TraceState(),
            marks: [
                TraceMark(
                    .cache(status: "lupin; fwd=uri-miss"),
                    SpanID(random: 0x21),
                    begun: sampleStart + 100,
                    ended: sampleStart + 200
                ),
                TraceMark(
                    .token(name: "acme"),
                    SpanID(random: 0x22),
                    begun: sampleStart + 300,
                    ended: sampleStart + 900
                ),
            ]
        )
    }
}

/// The text of an attribute.
func text(_ value: String) -> TelemetryValue { .text(value) }
