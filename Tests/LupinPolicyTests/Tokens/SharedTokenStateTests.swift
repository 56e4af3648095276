// The state of a token that machines share: it comes back, and gives a credential with what is left
// of its life.

import LupinCore
import LupinPolicy
import Testing

struct SharedTokenStateTests {
    private let whole = SharedTokenState(
        serial: "17",
        generation: .max,
        accessToken: "a\nb:ü",
        expiresIn: 3600,
        refreshToken: "r"
    )

    @Test func `a state comes back`() {
        let others = [
            SharedTokenState(
                serial: "s",
                generation: 0,
                accessToken: "t",
                expiresIn: nil,
                refreshToken: nil
            ),
            SharedTokenState(
                serial: "s",
                generation: 0,
                accessToken: "t",
                expiresIn: 0,
                refreshToken: ""
            ),
        ]
        for state in [whole] + others {
            #expect(SharedTokenState(encoded: state.encoded) == state)
        }
        #expect(!"\(whole)".contains("a\nb"))
    }

    @Test func `what is no state is none`() {
        let bytes = whole.encoded
        for i in bytes.indices where i < bytes.count - 2 {
            #expect(SharedTokenState(encoded: Array(bytes[..<i])) == nil, "cut at \(i)")
        }
        for text in [
            "", "lupin-t1", "lupin-t1\n-\n31\n61\n-\n-", "lupin-t1\n61\n31\n-\n-\n-",
            "lupin-t1\n6\n31\n61\n-\n-", "lupin-t1\n61\n31\n61\n78\n-",
            "lupin-t1\n61\n31\n61\n2d31\n-", "lupin-t1\n61\n31\nff\n-\n-",
            "lupin-t2\n61\n31\n61\n-\n-", "lupin-t1\n61\n31\n61\n-\n-\n-",
            "lupin-t1\n\n31\n61\n-\n-", "lupin-t1\n61\n-\n61\n-\n-",
            "lupin-t1\n61\n61\n61\n-\n-",
        ] { #expect(SharedTokenState(encoded: Array(text.utf8)) == nil, "\(text)") }
    }

    /// Seconds of life, ms that passed, and the ms that are left.
    @Test(
        arguments: [
            (3600, 0, 3_600_000), (3600, 1000, 3_599_000), (3600, 3_299_000, 301_000),
            (3600, 3_300_000, nil), (3600, .max, nil), (10, 8000, 2000), (10, 9000, nil),
            (.max, 0, .max), (nil, .max, -1), (0, 5, -1),
        ] as [(Int64?, Int64, Int64?)]
    )
    func `its credential lives as long as is left`(life: Int64?, elapsed: Int64, left: Int64?) {
        var state = whole
        state.expiresIn = life
        let credential = state.credential(elapsed, before: 1_000_000)
        #expect((credential == nil) == (left == nil))
        guard let credential, let left else { return }
        #expect(credential.text == state.accessToken)
        if left < 0 {
            #expect(credential.expiresAt == nil)
        } else if left < .max {
            #expect(credential.expiresAt == 1_000_000 + UInt64(left) * 1000)
        }
    }
}
