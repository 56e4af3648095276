// What a masked text stands for.
import LupinRecords
import Testing

struct MaskedTextTests {
    private static let cases: [(recorded: String, text: String, difference: Int?)] = [
        ("", "", nil),
        ("", "a", 0),
        ("a", "", 0),
        ("abc", "abc", nil),
        ("abc", "abd", 2),
        ("abc", "abcd", 3),
        ("REDACTED.0a1f", "anything", nil),
        ("REDACTED.0a1f", "", nil),
        ("a=REDACTED.0a1f&b=1", "a=secret&b=1", nil),
        ("a=REDACTED.0a1f&b=1", "a=secret&b=2", 2),
        ("a=REDACTED.0a1f&b=1", "x=secret&b=1", 0),
        ("a=REDACTED.0a1fREDACTED.0a1f", "a=", nil),
        (#"{"t":"REDACTED.0a1f"}"#, #"{"t":"s"}"#, nil),
        (#"{"t":"REDACTED.0a1f"}"#, #"{"t":12}"#, nil),
        (#"{"t":"REDACTED.0a1f","u":1}"#, #"{"t":12,"u":2}"#, 5),
        ("REDACTED.0a1", "x", 0),
        ("REDACTED.0A1F", "x", 0),
        ("REDACTED.0a1fababc", "abababc", nil),
        ("REDACTED.0a1faabREDACTED.0a1fc", "aaabxc", nil),
        ("aREDACTED.0a1fa", "a", 1),
    ]

    @Test(arguments: cases)
    func `a mask stands for anything`(recorded: String, text: String, difference: Int?) {
        let masked = MaskedText(Array(recorded.utf8))
        #expect(masked.difference(in: Array(text.utf8))?.text == difference)
        #expect(masked.matches(Array(text.utf8)) == (difference == nil))
    }

    @Test(
        arguments: [
            ("t=REDACTED.0a1f&b=12", "t=REDACTED.ffff&b=13", 19, 19, true),
            (#"{"t":"REDACTED.0a1f","u":1}"#, #"{"t":"REDACTED.ffff","u":2}"#, 25, 25, true),
            (#"{"u":1,"t":"REDACTED.0a1f"}"#, #"{"u":2,"t":"live"}"#, 5, 5, false),
            (#"{"t":"REDACTED.0a1f","u":1}"#, #"{"t":"live","u":2}"#, 20, 5, false),
            ("t=REDACTED.0a1f&b=1", "t=live&b=REDACTED.ffff", 15, 2, false),
        ] as [(String, String, Int, Int, Bool)]
    )
    func `what differs behind a mask is told by its own place, and secrets are not quoted`(
        row: (recorded: String, text: String, place: Int, now: Int, isQuotable: Bool)
    ) throws {
        let masked = MaskedText(Array(row.recorded.utf8))
        let difference = try #require(masked.difference(in: Array(row.text.utf8)))
        #expect(difference.recorded == row.place && difference.text == row.now)
        #expect(difference.isQuotable == row.isQuotable)
    }

    @Test(arguments: [("ab", "abc", true), ("", "x", true), ("ab", "a", false)])
    func `behind a part anything may follow`(recorded: String, text: String, matches: Bool) {
        let masked = MaskedText(Array(recorded.utf8), isPrefix: true)
        #expect(masked.matches(Array(text.utf8)) == matches)
    }

    @Test func `a search for what follows a mask takes no longer than the text`() {
        let recorded = "REDACTED.0000" + String(repeating: "a", count: 50_000) + "bREDACTED.0000"
        let text = Array(repeating: UInt8(ascii: "a"), count: 100_000)
        #expect(MaskedText(Array(recorded.utf8)).matches(text) == false)
    }
}
