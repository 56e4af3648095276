// That the record says of a server's certificates what its documentation promises.

import LupinCore
import LupinTestKit
import Testing

struct TrustRecordFormatTests {
    private static let leaf = CertificateFacts(
        encoding: [],
        keyDigest: [UInt8](repeating: 0, count: 32),
        subject: "CN=a",
        notAfter: 1_795_214_467
    )

    private static let leafPin = "sha256/" + String(repeating: "A", count: 43) + "="

    /// The line from `trust` on.
    private static func json(_ trust: TrustRecord) -> Substring {
        var record = ExchangeRecord(id: ExchangeID(high: 0, low: 1), startMicroseconds: 0)
        record.trust = trust
        let line = jsonLine(of: record, redactor: makeRedactor(secrets: ["hunter2secret"]))
        let start = line.firstRange(of: #""trust":"#)?.lowerBound ?? line.endIndex
        return line[start...].dropLast()
    }

    private static func json(_ policy: TrustPolicy, _ trust: ScriptedTrust) -> Substring {
        json(TrustRecord(policy: "acme", verdict: policy.evaluate(trust), leaf: leaf))
    }

    @Test func `a good path shows each check and the pin that matched`() {
        let pin = PinText.text(fact(2).keyDigest)
        #expect(
            Self.json(.all([.system(host: true), pins(2)]), ScriptedTrust())
                == #""trust":{"policy":"acme","verdict":"pass","checks":["#
                + #"{"is":"system","ok":true},{"is":"pins","ok":true,"match":"\#(pin)"}],"#
                + #""leaf":"\#(Self.leafPin)","not_after":"2026-11-20T22:41:07.000000Z"}"#
        )
    }

    @Test func `a refusal shows why, without secrets, and the leaf's pin to copy`() {
        let problem = TrustProblem(.host, "It is for \"x\" and hunter2secret.")
        let json = Self.json(.system(host: true), ScriptedTrust(name: problem))
        #expect(json.hasPrefix(#""trust":{"policy":"acme","verdict":"fail","checks":["#))
        #expect(json.contains(#"{"is":"system","ok":false,"note":"It is for \"x\" and REDACTED."#))
        #expect(json.contains(#""leaf":"\#(Self.leafPin)","not_after":"#))
    }

    @Test func `an attempt under TLS tells the version and how long the handshake took`() {
        var record = ExchangeRecord(id: ExchangeID(high: 0, low: 1), startMicroseconds: 0)
        var attempt = AttemptRecord()
        attempt.version = .http11
        attempt.peer = .v4(0x7F00_0001)
        attempt.peerPort = 443
        attempt.tls = .tls13
        attempt.timing.tls = 24_000
        let tail = #""peer":"127.0.0.1:443","tls":"1.3","timing":{"tls":24.000}}"#
        record.attempts = [attempt]
        #expect(jsonLine(of: record, redactor: makeRedactor(secrets: [])).contains(tail))
        // Written another way where there is more than one.
        record.attempts = [attempt, attempt]
        let both = jsonLine(of: record, redactor: makeRedactor(secrets: []))
        #expect(both.ranges(of: tail).count == 2)
    }

    @Test func `a handshake that failed before there was a certificate has no more than that`() {
        #expect(
            Self.json(TrustRecord(policy: "system", verdict: nil, leaf: nil))
                == #""trust":{"policy":"system","verdict":"fail"}"#
        )
    }

    @Test(arguments: [Int64.max, .min, 253_402_300_800])
    func `times beyond all calendars do no harm`(time: Int64) {
        var leaf = Self.leaf
        leaf.notAfter = time
        let json = Self.json(TrustRecord(policy: "p", verdict: nil, leaf: leaf))
        #expect(json.contains(#""not_after":""#))
    }
}
