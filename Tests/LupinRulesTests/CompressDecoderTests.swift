// What the step `compress:` may say, and what is said of anything else.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct CompressDecoderTests {
    private func step(_ value: String) throws -> RequestStep? {
        let text = "rules: [{match: a.dev, request: [compress: \(value)]}]"
        return try configuration(text).rules.rules.first?.steps.first
    }

    private func expected(
        _ coding: ContentCoding = .gzip,
        _ minBytes: UInt64 = 1024,
        _ ifEncoded: CompressStep.IfEncoded = .skip
    ) -> RequestStep {
        var step = CompressStep()
        step.coding = coding
        step.minBytes = minBytes
        step.ifEncoded = ifEncoded
        return .compress(step)
    }

    @Test func `every key has a default`() throws {
        #expect(try step("{}") == expected())
        #expect(try step("{with: gzip, min: 1KiB, if_encoded: skip}") == expected())
        #expect(try step("{with: deflate}") == expected(.deflate))
        #expect(try step("{min: 0}") == expected(.gzip, 0))
        #expect(try step("{min: 1GiB}") == expected(.gzip, 1 << 30))
        #expect(try step("{if_encoded: error}") == expected(.gzip, 1024, .error))
        #expect(expected(.deflate) != expected())
    }

    @Test(arguments: [
        ("gzip", "2:44: expected a map, found \"gzip\"  [E-TYPE]"),
        ("{with: br}", "2:51: unknown coding \"br\"  [E-NAME]"),
        ("{with: [gzip]}", "2:51: expected gzip or deflate, found a list  [E-TYPE]"),
        ("{min: 1000}", "2:50: \"1000\" has no unit  [E-TYPE]"),
        ("{min: 2GiB}", "2:50: min 2GiB is out of range  [E-RANGE]"),
        ("{min: -1}", "2:50: \"-1\" is not a size  [E-TYPE]"),
        ("{if_encoded: maybe}", "2:57: unknown value \"maybe\"  [E-NAME]"),
        (
            "{if_encoded: replace}",
            "2:57: \"replace\" would undo the client's own coding, and lupin does not  [E-NAME]"
        ),
        ("{level: 9}", "2:45: unknown key \"level\" in \"compress\"  [E-KEY]"),
    ])
    func `a wrong value is told with its place, and makes no step`(value: String, first: String) {
        let result = decode("rules: [{match: a.dev, request: [compress: \(value)]}]")
        #expect(result.errors.count == 1 && result.configuration == nil)
        let line = result.errors.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
    }
}
