// Parses durations, sizes and shares: a whole number and a unit.

import LupinCore

/// Parses numbers with units without overflow.
package enum Units {
    /// The reason for which a text is no number with a unit, and what to write.
    package struct Problem: Error, Equatable {
        package var message: String
        package var hint: String?

        package init(message: String, hint: String?) {
            self.message = message
            self.hint = hint
        }
    }

    private static let durationUnits: [(name: String, value: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let sizeUnits: [(name: String, value: Int64)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    /// Parses `500ms 5s 10m 1h 7d` as milliseconds; `0` needs no unit.
    package static func duration(_ text: String) throws(Problem) -> Int64 {
        try number(text, units: durationUnits, noun: "duration", bareUnit: "s", example: "500ms")
    }

    /// Parses `64KiB 10MiB` as bytes; `0` needs no unit.
    package static func size(_ text: String) throws(Problem) -> Int {
        let bytes = try number(
            text,
            units: sizeUnits,
            noun: "size",
            bareUnit: "KiB",
            example: "64KiB"
        )
        // Bounded: 64 bits, and parsed as positive.
        return Int(bytes)
    }

    /// Parses `64/s`, `5MiB/s` as bytes.
    package static func rate(_ text: String) throws(Problem) -> Int {
        guard text.hasSuffix("/s") else {
            let lacksTime = NumberReader.signed(text) != nil || (try? size(text)) != nil
            let hint = lacksTime ? "write \(text)/s" : "write 64/s"
            throw Problem(message: "\"\(text)\" is not a rate", hint: hint)
        }
        let amount = String(text.dropLast(2))
        // Bounded: by the largest integer.
        if let bytes = NumberReader.unsigned(amount, max: UInt64(Int.max)), bytes > 0 {
            return Int(bytes)
        }
        let bytes: Int
        do {
            bytes = try size(amount)
        } catch {
            let hint = error.hint.map { $0.hasPrefix("write ") ? "\($0)/s" : $0 }
            throw Problem(message: error.message, hint: hint)
        }
        guard bytes > 0 else {
            throw Problem(message: "a rate of 0 stops everything", hint: "write none")
        }
        return bytes
    }

    /// Parses `1000/30s` as 1000 and 30,000 ms.
    package static func countInTime(
        _ text: String
    ) throws(Problem) -> (count: Int, milliseconds: Int64) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, let count = wholeNumber(first) else {
            throw Problem(message: "\"\(text)\" is not a number in a time", hint: "write 1000/30s")
        }
        guard parts.count == 2 else {
            throw Problem(message: "\"\(text)\" has no time", hint: "write \(text)/30s")
        }
        // `100/s` is a common notation with a clear meaning.
        if durationUnits.contains(where: { $0.name == last }) {
            throw Problem(message: "\"\(text)\" has no time", hint: "write \(first)/1\(last)")
        }
        // Bounded: by 15 digits.
        return (Int(count), try duration(String(last)))
    }

    /// Parses `20%` as 20.
    package static func percent(_ text: String) throws(Problem) -> Int {
        guard text.hasSuffix("%"), let value = wholeNumber(text.dropLast()) else {
            if wholeNumber(text[...]) != nil {
                throw Problem(message: "\"\(text)\" has no unit", hint: "write \(text)%")
            }
            throw Problem(message: "\"\(text)\" is not a share", hint: "write 20%")
        }
        guard value <= 100 else {
            throw Problem(message: "\(text) is out of range", hint: "allowed: 0% to 100%")
        }
        // Bounded: by 100.
        return Int(value)
    }

    /// Parses decimal digits only, at most 15 of them, so that every unit fits.
    package static func wholeNumber(_ text: Substring) -> Int64? {
        guard text.utf8.count <= 15 else { return nil }
        // Bounded: by 15 digits.
        return NumberReader.unsigned(text).map { Int64($0) }
    }

    private static func number(
        _ text: String,
        units: [(name: String, value: Int64)],
        noun: String,
        bareUnit: String,
        example: String
    ) throws(Problem) -> Int64 {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text[digits.endIndex...]
        guard let value = wholeNumber(digits) else {
            throw Problem(message: "\"\(text)\" is not a \(noun)", hint: "write \(example)")
        }
        if value == 0, unit.isEmpty { return 0 }
        if unit.isEmpty {
            throw Problem(message: "\"\(text)\" has no unit", hint: "write \(text)\(bareUnit)")
        }
        if let known = units.first(where: { $0.name == unit }) {
            let (result, overflows) = value.multipliedReportingOverflow(by: known.value)
            guard !overflows else {
                throw Problem(message: "\"\(text)\" is out of range", hint: nil)
            }
            return result
        }
        let names = units.map(\.name)
        let wanted = meant(String(unit), among: names)
        throw Problem(
            message: "\"\(text)\" has an unknown unit",
            hint: wanted.map { "write \(digits)\($0)" } ?? "units: \(names.joined(separator: " "))"
        )
    }

    /// Returns the unit that another spelling stands for.
    private static func meant(_ unit: String, among names: [String]) -> String? {
        let small = unit.lowercased()
        let spellings: [String: String] = [
            "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m",
            "minute": "m", "minutes": "m", "hour": "h", "hours": "h", "day": "d", "days": "d",
            "msec": "ms", "k": "KiB", "kb": "KiB", "ki": "KiB", "m": "MiB", "mb": "MiB",
            "mi": "MiB", "g": "GiB", "gb": "GiB", "gi": "GiB", "tb": "TiB", "b": "B",
        ]
        if let name = names.first(where: { $0.lowercased() == small }) { return name }
        return spellings[small].flatMap { names.contains($0) ? $0 : nil }
    }
}
