// That a secret which comes up at run time is known to every redactor from then on.

import LupinCore
import LupinProxy
import Testing

struct TaintedSecretsTests {
    /// Fewer than lupin keeps, and enough for several redactors to be made anew.
    private static let countMax = 30

    private let plain = Redactor(
        settings: RedactionSettings(),
        secrets: ["of-the-file"],
        digest: { _ in 0 }
    )

    private func secret(_ i: Int) -> String { "secret-\(i)-of-many" }

    private func hides(_ redactor: Redactor, _ text: String) -> Bool {
        redactor.cleaned("a \(text) b") == "a REDACTED.0000 b"
    }

    @Test func `each secret is known as soon as it was added, and as long as it is kept`() {
        let secrets = TaintedSecrets(countMax: Self.countMax)
        for i in 0..<(8 * Self.countMax) {
            secrets.add(secret(i))
            let redactor = secrets.redactor(plain, ofSnapshot: 1)
            #expect(hides(redactor, secret(i)))
            guard i % 16 == 15 else { continue }
            for known in max(0, i + 1 - Self.countMax)...i {
                #expect(hides(redactor, secret(known)), "\(known) at \(i)")
            }
            #expect(hides(redactor, "of-the-file"))
        }
        // They do not become more and more.
        #expect(!hides(secrets.redactor(plain, ofSnapshot: 1), secret(0)))
    }

    @Test func `another snapshot has the secrets, too, and none of the former one's`() {
        let secrets = TaintedSecrets()
        secrets.add("came-up-first")
        #expect(hides(secrets.redactor(plain, ofSnapshot: 1), "came-up-first"))
        let other = Redactor(settings: RedactionSettings(), secrets: [], digest: { _ in 0 })
        secrets.add("came-up-later")
        let redactor = secrets.redactor(other, ofSnapshot: 2)
        #expect(hides(redactor, "came-up-first") && hides(redactor, "came-up-later"))
        #expect(!hides(redactor, "of-the-file"))
    }

    @Test func `many that come up before anybody asks are known`() {
        let secrets = TaintedSecrets(countMax: Self.countMax)
        _ = secrets.redactor(plain, ofSnapshot: 1)
        for i in 0..<(2 * Self.countMax) { secrets.add(secret(i)) }
        let redactor = secrets.redactor(plain, ofSnapshot: 1)
        for i in Self.countMax..<(2 * Self.countMax) {
            #expect(hides(redactor, secret(i)))
        }
    }
}
