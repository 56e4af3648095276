// Whether numbers that are written eight digits at a time are the numbers they were.
import LupinCore
import Testing

struct TextCursorTests {
    @Test func `numbers are written as they read`() {
        var numbers: [UInt64] = [
            0, 100, 12_345_678, 99_999_999, 100_000_000, 123_456_789_012, .max,
        ]
        var power: UInt64 = 1
        for _ in 0..<19 {
            power *= 10
            numbers += [power - 1, power, power + 1, power + power / 3]
        }
        numbers += (0..<2000).map { $0 * 49_999 }
        for number in numbers {
            var bytes: [UInt8] = []
            bytes.append(decimal: number)
            if String(decoding: bytes, as: UTF8.self) != "\(number)" { Issue.record("\(number)") }
        }
    }

    @Test(arguments: [
        (0, "0.000"), (7, "0.007"), (999, "0.999"), (1000, "1.000"), (10_050, "10.050"),
        (123_456_789, "123456.789"), (-5, "0.000"), (Int64.max, "9223372036854775.807"),
    ])
    func `durations keep their three decimals`(microseconds: Int64, text: String) {
        var bytes: [UInt8] = []
        bytes.append(milliseconds: microseconds)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }
}
