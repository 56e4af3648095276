// That each message in a tunnel is acknowledged at once when it begins, and a long one no longer.
import LupinUpstream
import Testing

struct PromptBeginningTests {
    /// Whether what came belongs to a beginning, for pairs of bytes received and sent.
    private func judge(_ counts: [(received: UInt64, sent: UInt64)]) -> [Bool] {
        var prompt = PromptBeginning()
        return counts.map { prompt.includes(received: $0.received, sent: $0.sent) }
    }

    @Test func `the other direction begins a new message`() {
        let counts = (0..<200).map { (received: UInt64($0) << 13, sent: UInt64($0 / 2)) }
        #expect(judge(counts) == Array(repeating: true, count: 200))
    }

    @Test func `what follows a beginning is left to the kernel`() {
        let most = PromptBeginning.bytesMax
        let verdicts = judge([(1, 7), (most, 7), (most + 1, 7), (most + 2, 8)])
        #expect(verdicts == [true, true, false, true])
    }
}
