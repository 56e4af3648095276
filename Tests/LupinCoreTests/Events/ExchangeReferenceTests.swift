// How people name an exchange, and what becomes of it as a path of the admin interface.
import LupinCore
import Testing

struct ExchangeReferenceTests {
    @Test(
        arguments: [
            (["6f1c"], .id("6f1c")), (["6F1C0E0B"], .id("6f1c0e0b")),
            ([String(repeating: "a", count: 32)], .id(String(repeating: "a", count: 32))),
            (["last"], .last(1, host: nil)), (["last:3"], .last(3, host: nil)),
            (["last", "host:API.example"], .last(1, host: "api.example")),
            (["LAST:2", "host:::1"], .last(2, host: "::1")),
            (["last:1000000"], .last(1_000_000, host: nil)),
        ] as [([String], ExchangeReference)]
    )
    func `an id, a part of one, or a place is a reference`(
        words: [String],
        reference: ExchangeReference
    ) {
        #expect(ExchangeReference(words) == reference)
        let parts = reference.path.split(separator: "?host=", maxSplits: 1)
        let host = parts.count > 1 ? parts[1].replacing("%3A", with: ":") : nil
        #expect(ExchangeReference(path: parts[0], host: host.map(String.init)) == reference)
    }

    @Test(arguments: [
        [], ["6f1"], ["6f1g"], [String(repeating: "a", count: 33)], ["last:0"], ["last:-1"],
        ["last:"], ["last:1000001"], ["last", "host:"], ["last", "b"], ["6f1c", "host:x"],
        ["last", "host:x", "y"], ["http://a.example/"], ["lastly"],
    ])
    func `anything else is none`(words: [String]) {
        #expect(ExchangeReference(words) == nil)
    }

    @Test func `a problem is a sentence`() {
        #expect(
            ExchangeReferenceProblem.ambiguous(["6f1c0e0b", "6f1c0e0c"]).sentence
                == "the digits begin more than one id: 6f1c0e0b, 6f1c0e0c"
        )
    }
}
