// What a value means behind a key of a filter: a pattern, a range, an address.

import LupinCore
import LupinPolicy

/// How a key and a value are compared.
enum FilterComparator: Sendable {
    /// `:`
    case equals
    /// `=`
    case isExactly
    /// `~`
    case contains
    case below, atMost, above, atLeast
}

/// Why a value can't stand behind its key.
struct FilterValueProblem: Error {
    /// Without a full stop.
    let message: String
    /// Whether the comparator is wrong, and not the value.
    var isAboutComparator = false
}

extension FilterTest.Comparison {
    init(
        _ key: FilterKey,
        _ comparator: FilterComparator,
        _ value: String
    ) throws(FilterValueProblem) {
        let row = key.row
        guard comparator != .equals || value != "*" || row.kind == .body else {
            self = .exists
            return
        }
        if row.kind.isOrdered {
            guard comparator != .contains else {
                throw FilterValueProblem(
                    message: "\(key.rawValue) is a number: write \(row.example)",
                    isAboutComparator: true
                )
            }
            self = .range(try Self.range(row, comparator, value))
            return
        }
        switch (comparator, row.kind) {
        case (.contains, .body): self = .inBody(Array(value.utf8))
        case (_, .body):
            throw FilterValueProblem(
                message: "body can't be compared so: write \(row.example)",
                isAboutComparator: true
            )
        case (.equals, .address), (.isExactly, .address):
            guard let network = CIDR(value) else {
                throw FilterValueProblem(
                    message: "\"\(value)\" is no address and no network; write 127.0.0.1 or "
                        + "10.0.0.0/8"
                )
            }
            self = .within(network)
        case (.equals, .id), (.isExactly, .id):
            guard !value.isEmpty, value.utf8.allSatisfy({ $0.hexDigit != nil }) else {
                throw FilterValueProblem(message: "an ID consists of hexadecimal digits")
            }
            self = .beginning(value.lowercased())
        case (.equals, .flag), (.isExactly, .flag):
            guard let wanted = ["true": true, "false": false][value.lowercased()] else {
                throw FilterValueProblem(
                    message: "\(key.rawValue) is true or false: write \(row.example)"
                )
            }
            self = .flag(wanted)
        case (.equals, .word(let known)), (.isExactly, .word(let known)):
            guard value.contains("*") || known.contains(value.lowercased()) else {
                throw FilterValueProblem(
                    message: "unknown \(key.rawValue) \"\(value)\"; known are "
                        + known.joined(separator: ", ")
                )
            }
            let isWide = key == .outcome && comparator == .equals && value.lowercased() == "error"
            self = .whole(NameSet(isWide ? ["error", "aborted", "truncated"] : [value]))
        case (.equals, _): self = .whole(NameSet([value]))
        case (.isExactly, _): self = .exact(value)
        case (.contains, .text), (.contains, .word), (.contains, .cache):
            self = .part(value.utf8.map(\.asciiLowercased))
        default:
            throw FilterValueProblem(
                message: "\(key.rawValue) can't be compared so: write \(row.example)",
                isAboutComparator: true
            )
        }
    }

    // MARK: Numbers

    private static func range(
        _ row: FilterKey.Row,
        _ comparator: FilterComparator,
        _ value: String
    ) throws(FilterValueProblem) -> ClosedRange<Int64> {
        let kind = row.kind
        switch comparator {
        case .equals, .isExactly:
            let range = try range(kind, value)
            // A time has microseconds, and is never a round one.
            guard kind != .duration && kind != .age || range.count > 1 else {
                throw FilterValueProblem(
                    message: "no time is exactly \(value): write \(row.example), or a range such "
                        + "as 1s-2s"
                )
            }
            return range
        case .below:
            let number = try number(kind, value)
            guard number > 0 else {
                throw FilterValueProblem(message: "nothing is less than \(value)")
            }
            return 0...(number - 1)
        case .atMost: return 0...(try number(kind, value))
        case .above:
            let number = try number(kind, value)
            return number == .max ? .max ... .max : (number + 1) ... .max
        case .atLeast, .contains: return try number(kind, value) ... .max
        }
    }

    /// `404`, `5xx`, `200-299`, `1s-5s`.
    private static func range(
        _ kind: FilterKey.Kind,
        _ value: String
    ) throws(FilterValueProblem) -> ClosedRange<Int64> {
        let bytes = Array(value.utf8)
        if kind == .status, bytes.count == 3, 0x31...0x35 ~= bytes[0],
            bytes[1] | 0x20 == 0x78, bytes[2] | 0x20 == 0x78
        {
            // Bounded: by one digit.
            let first = Int64(bytes[0] &- 0x30) * 100
            return first...first &+ 99
        }
        let ends = value.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard let low = ends.first, let high = ends.last, ends.count <= 2, !low.isEmpty,
            !high.isEmpty
        else { throw notANumber(kind, value) }
        let (first, last) = (try number(kind, low), try number(kind, high))
        if kind == .status, !(100...599).contains(first) || !(100...599).contains(last) {
            throw FilterValueProblem(
                message: "unknown status \"\(value)\"; write 404, 5xx or 200-299"
            )
        }
        guard first <= last else {
            throw FilterValueProblem(
                message: "the range \(value) is empty: write \(high)-\(low)"
            )
        }
        return first...last
    }

    /// A number of the kind: a duration in microseconds, a size in bytes.
    private static func number(
        _ kind: FilterKey.Kind,
        _ value: String
    ) throws(FilterValueProblem) -> Int64 {
        do throws(Units.Problem) {
            switch kind {
            case .duration, .age:
                let (time, isOverflow) = try Units.duration(value)
                    .multipliedReportingOverflow(by: 1000)
                return isOverflow ? .max : time
            case .bytes:
                if let count = Units.wholeNumber(value[...]) { return count }
                return Int64(try Units.size(value))
            case .status:
                guard let status = Units.wholeNumber(value[...]), 0...999 ~= status else {
                    throw Units.Problem(
                        message: "unknown status \"\(value)\"",
                        hint: "write 404, 5xx or 200-299"
                    )
                }
                return status
            case .number, .count, .text, .word, .flag, .cache, .id, .address, .body:
                guard let count = Units.wholeNumber(value[...]) else {
                    throw Units.Problem(message: "\"\(value)\" is not a number", hint: nil)
                }
                return count
            }
        } catch {
            throw FilterValueProblem(
                message: error.message + (error.hint.map { "; \($0)" } ?? "")
            )
        }
    }

    private static func notANumber(_ kind: FilterKey.Kind, _ value: String) -> FilterValueProblem {
        do throws(FilterValueProblem) {
            _ = try number(kind, value)
            return FilterValueProblem(message: "\"\(value)\" is not a range")
        } catch { return error }
    }
}
