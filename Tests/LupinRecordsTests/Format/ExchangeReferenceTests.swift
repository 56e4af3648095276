// How people name an exchange, and what becomes of it as a path of the admin interface.
import LupinCore
import LupinRecords
import Testing

struct ExchangeReferenceTests {
    private static func last(_ ordinal: Int, _ filter: String = "") throws -> ExchangeReference {
        .last(ordinal, try ExchangeFilter(filter))
    }

    @Test(
        arguments: try [
            (["6f1c"], .id("6f1c")), (["6F1C0E0B"], .id("6f1c0e0b")),
            ([String(repeating: "a", count: 32)], .id(String(repeating: "a", count: 32))),
            (["last"], last(1)), (["last:3"], last(3)),
            (["last", "host:API.example"], last(1, "host:API.example")),
            (["LAST:2", "host:::1"], last(2, "host:::1")),
            (["last", "status:5xx", "or", "rule:a b"], last(1, "status:5xx or rule:\"a b\"")),
            (["last:1000000"], last(1_000_000)),
        ] as [([String], ExchangeReference)]
    )
    func `an id, a part of one, or a place is a reference`(
        words: [String],
        reference: ExchangeReference
    ) throws {
        #expect(try ExchangeReference(words) == reference)
        let parts = reference.path.split(separator: "?filter=", maxSplits: 1)
        var filter: String?
        if parts.count > 1 {
            filter = Array(parts[1].utf8).span.percentDecoded
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try ExchangeReference(path: parts[0], filter: filter) == reference)
    }

    @Test(arguments: [
        [], ["6f1"], ["6f1g"], [String(repeating: "a", count: 33)], ["last:0"], ["last:-1"],
        ["last:"], ["last:1000001"], ["6f1c", "host:x"], ["http://a.example/"], ["lastly"],
    ])
    func `anything else is none`(words: [String]) throws {
        #expect(try ExchangeReference(words) == nil)
    }

    @Test(arguments: [["last", "host:"], ["last", "b"], ["last", "host:x", "y"]])
    func `a wrong filter is a mistake`(words: [String]) {
        #expect(throws: FilterProblem.self) { try ExchangeReference(words) }
    }

    @Test func `a problem is a sentence`() {
        #expect(
            ExchangeReferenceProblem.ambiguous(["6f1c0e0b", "6f1c0e0c"]).sentence
                == "the digits begin more than one id: 6f1c0e0b, 6f1c0e0c"
        )
    }
}
