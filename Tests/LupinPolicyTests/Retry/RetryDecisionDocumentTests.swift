// The page on retries says what the policies decide.

import Foundation
import LupinCore
import LupinPolicy
import Testing

struct RetryDecisionDocumentTests {
    private let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/LupinCore/LupinCore.docc/RetryDecisions.md")
        .standardizedFileURL

    @Test func `RetryDecisions is what the policies decide`() throws {
        if ProcessInfo.processInfo.environment["LUPIN_WRITE_DOCS"] == "1" {
            try RetryDecisionDocument.text.write(to: page, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: page, encoding: .utf8) == RetryDecisionDocument.text,
            "LUPIN_WRITE_DOCS=1 swift test --filter RetryDecisionDocumentTests writes it anew"
        )
    }

    @Test func `every status that a policy repeats has its reason`() {
        let listed = RetryStatusReasons.all.map(\.status)
        #expect(listed == listed.sorted() && Set(listed).count == listed.count)
        for policy in RetryPolicy.builtIn { #expect(policy.status.isSubset(of: listed)) }
        for status in UInt16(200)...999 where !listed.contains(status) {
            let attempt = FailedAttempt(method: .get, response: ResponseHead(status: status))
            let delivered = RetryResult.doNotRetry(reason: "status \(status) is delivered")
            if RetryPolicy.standard.evaluate(attempt) != delivered { Issue.record("\(status)") }
        }
    }
}
