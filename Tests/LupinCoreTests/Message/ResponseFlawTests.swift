// The flaws of a response: one word and one bit each.
import LupinCore
import Testing

struct ResponseFlawTests {
    @Test func `each has a word of its own, and sets hold them in order`() {
        let words = ResponseFlaw.allCases.map(\.word)
        #expect(Set(words).count == words.count)
        #expect(ResponseFlaws().isEmpty)
        for flaw in ResponseFlaw.allCases { #expect(ResponseFlaws([flaw]).all == [flaw]) }
        let all = ResponseFlaws(ResponseFlaw.allCases.reversed())
        #expect(all.all == ResponseFlaw.allCases)
    }

    @Test func `explain tells them in words`() {
        var record = ExchangeRecord(id: ExchangeID(high: 1, low: 2), startMicroseconds: 0)
        record.flaws = ResponseFlaws([.lineFeed, .length])
        #expect(record.flaws.all.map(\.word) == ["lf", "length"])
    }
}
