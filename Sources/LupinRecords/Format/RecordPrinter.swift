// Formats a stream of JSON lines for `lupin log`.

package import LupinCore

/// Splits input into lines, drops those that the filter excludes, and formats the rest.
package struct RecordPrinter: Sendable {
    /// A longer line is not lupin's and is dropped.
    private static let lineBytesMax = 4 << 20

    package let filter: ExchangeFilter
    private let keepsJSON: Bool
    private var text: SummaryText
    private let clock: @Sendable () -> Int64

    /// `clock` tells the time in microseconds since 1970, for filters by age.
    package init(
        filter: ExchangeFilter,
        keepsJSON: Bool,
        text: SummaryText,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.filter = filter
        self.keepsJSON = keepsJSON
        self.text = text
        self.clock = clock
    }

    /// Takes all complete lines from the front of `input`; returns the output.
    package mutating func take(from input: inout [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        take(from: &input) { output += $0 }
        return output
    }

    /// Takes the same lines, and calls `body` with the output of each line that passes.
    package mutating func take(from input: inout [UInt8], _ body: ([UInt8]) -> Void) {
        var start = 0
        for i in input.indices where input[i] == 0x0A {
            var output: [UInt8] = []
            print(input.span.extracting(start..<i), to: &output)
            if !output.isEmpty { body(output) }
            start = i + 1
        }
        input.removeFirst(start)
        if input.count > RecordPrinter.lineBytesMax { input = [] }
    }

    /// Takes the rest as a last line without a newline.
    package mutating func finish(_ input: inout [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        print(input.span, to: &output)
        input = []
        return output
    }

    /// Whether the filter keeps a line of the log, or the description of an exchange under way.
    package func keeps(_ line: JSONValue) -> Bool { filter.matches(line, now: clock()) }

    private mutating func print(_ line: Span<UInt8>, to output: inout [UInt8]) {
        guard let json = JSONValue(parsing: line) else { return }
        guard keeps(json) else { return }
        if let summary = RecordSummary(json) {
            if !keepsJSON { return text.append(summary, to: &output) }
        } else if let stage = StageRecord(json) {
            if !keepsJSON { return text.append(stage, to: &output) }
        } else {
            return
        }
        // A foreign log may hold characters that act on a terminal; lupin's own has escaped them.
        LogText.append(lines: line, keepsTabs: true, to: &output)
        output.append(0x0A)
    }
}
