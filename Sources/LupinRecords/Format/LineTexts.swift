// The text between the values of a line: keys, commas and braces of nested objects.

import LupinCore

/// A table of fields, in the order of a line.
protocol LineField: CaseIterable, RawRepresentable<UInt8>, Sendable {
    var row: LineFieldRow { get }

    // The phases of a ``Timing``, which every table includes.
    static var blocked: Self { get }
    static var dns: Self { get }
    static var tcp: Self { get }
    static var tls: Self { get }
    static var send: Self { get }
    static var wait: Self { get }
    static var receive: Self { get }
    static var total: Self { get }
}

/// A row of a table of fields.
package struct LineFieldRow: Sendable, Equatable {
    /// Names of nested objects and of the field itself, such as `http.request.method`.
    package let path: String
    /// A phrase for the documentation.
    package let meaning: String
    /// Whether the value is a string, rather than a number, a flag, a list or an object.
    package let isText: Bool

    static func text(_ path: String, _ meaning: String) -> LineFieldRow {
        LineFieldRow(path: path, meaning: meaning, isText: true)
    }

    static func value(_ path: String, _ meaning: String) -> LineFieldRow {
        LineFieldRow(path: path, meaning: meaning, isText: false)
    }
}

/// The text between two consecutive fields, for every pair of a table.
///
/// It closes the objects that only the former is in, opens those that only the latter is in, and
/// ends with the latter's key, and a quotation mark when the value is a text.
final class LineTexts: Sendable {
    private let count: Int
    /// By field, by the number of its objects that are already open, and by the number of other
    /// objects to close before it; the last of the second ones is for the first field of a line.
    private let openings: [Fragment]
    /// By former and latter field: the index of the text between them among the openings.
    ///
    /// In the last row, for the first field of a line, there is no former one.
    private let between: [UInt16]
    /// The number of openings per field and number of objects to close.
    private static let room = 5
    /// The numbers of objects that may have to be closed, 0 among them.
    private static let closings = 4
    /// By former and latter field: the number of objects that both are in.
    private let shared: [UInt8]
    /// The number of objects that each field is in.
    private let depths: [UInt8]

    init<Field: LineField>(_: Field.Type) {
        let paths = Field.allCases.map { $0.row.path.split(separator: ".").map(String.init) }
        let groups = paths.map { Array($0.dropLast()) }
        count = paths.count
        // Bounded: a path has few parts.
        depths = groups.map { UInt8($0.count) }
        shared = groups.flatMap { former in
            groups.map { UInt8(zip(former, $0).prefix { $0 == $1 }.count) }
        }
        precondition(groups.allSatisfy { $0.count < Self.closings }, "a field lies too deep")
        // Bounded: there are at most 256 fields, with few openings each.
        var between: [UInt16] = []
        for last in groups.indices {
            for field in groups.indices {
                let open = Int(shared[last * groups.count + field])
                let closing = groups[last].count - open
                between.append(UInt16(Self.index(field, open: open, closing: closing)))
            }
        }
        for field in groups.indices {
            between.append(UInt16(Self.index(field, open: Self.room - 1, closing: 0)))
        }
        self.between = between
        openings = Field.allCases.enumerated().flatMap { i, field in
            (0..<Self.room).flatMap { open in
                let isFirst = open == Self.room - 1
                let begun = groups[i].dropFirst(isFirst ? 0 : open).map { #""\#($0)":{"# }
                let text =
                    (isFirst ? "{" : ",") + begun.joined() + #""\#(paths[i][groups[i].count])":"#
                    + (field.row.isText ? "\"" : "")
                return (0..<Self.closings).map {
                    Fragment(String(repeating: "}", count: $0) + text)
                }
            }
        }
    }

    /// The place of an opening.
    private static func index(_ field: Int, open: Int, closing: Int) -> Int {
        (field * room + open) * closings + closing
    }

    /// What stands for the preceding field when there is none.
    fileprivate var nothing: Int { count }

    /// Appends the text before the value of a field, given the preceding field.
    @inline(__always)
    fileprivate func open(_ field: Int, behind last: Int, to output: inout TextCursor) {
        output.append(openings[Int(between[last &* count &+ field])])
    }

    /// Closes the objects of `last` that `field` isn't in.
    fileprivate func end(_ last: Int, before field: Int, to output: inout TextCursor) {
        output.close(Int(depths[last]) &- Int(shared[last &* count &+ field]))
    }

    fileprivate func close(behind last: Int, to output: inout TextCursor) {
        output.close(Int(depths[last]) &+ 1)
    }
}

/// The position in a line, or in an object of a table, where the next field goes.
struct LineCursor<Field: LineField> {
    private let texts: LineTexts
    private var last: Int

    init(_ texts: LineTexts, behind last: Field? = nil) {
        self.texts = texts
        self.last = last.map { Int($0.rawValue) } ?? texts.nothing
    }

    /// Appends the text before the value of `field`; the caller appends the value.
    @inline(__always) mutating func open(_ field: Field, to output: inout TextCursor) {
        texts.open(Int(field.rawValue), behind: last, to: &output)
        last = Int(field.rawValue)
    }

    /// Appends a run of fields that ends with `field`.
    @inline(__always) mutating func append(
        _ run: Fragment,
        to field: Field,
        in output: inout TextCursor
    ) {
        output.append(run)
        last = Int(field.rawValue)
    }

    /// Whether `field` was the last one.
    @inline(__always) func isBehind(_ field: Field) -> Bool { last == Int(field.rawValue) }

    /// Closes all objects but those of `field`, and continues as after `field`.
    mutating func end(at field: Field, to output: inout TextCursor) {
        if last != texts.nothing { texts.end(last, before: Int(field.rawValue), to: &output) }
        last = Int(field.rawValue)
    }

    /// Records that the fields up to this one have been written.
    mutating func move(to field: Field) { last = Int(field.rawValue) }

    /// Closes the object, if it was opened.
    func close(to output: inout TextCursor) {
        if last != texts.nothing { texts.close(behind: last, to: &output) }
    }

    mutating func add(_ field: Field, _ number: UInt64, to output: inout TextCursor) {
        open(field, to: &output)
        output.append(decimal: number)
    }

    mutating func add(_ field: Field, _ flag: Bool, to output: inout TextCursor) {
        open(field, to: &output)
        output.append(literal: flag ? "true" : "false")
    }

    /// Appends a duration in ms; appends nothing for nil.
    @inline(__always)
    mutating func add(
        _ field: Field,
        microseconds: Int64?,
        to output: inout TextCursor
    ) {
        guard let microseconds else { return }
        open(field, to: &output)
        output.append(milliseconds: microseconds)
    }

    /// Appends the phases that are known.
    mutating func add(_ timing: Timing, to output: inout TextCursor) {
        add(.blocked, microseconds: timing.blocked, to: &output)
        add(.dns, microseconds: timing.dns, to: &output)
        add(.tcp, microseconds: timing.tcp, to: &output)
        add(.tls, microseconds: timing.tls, to: &output)
        add(.send, microseconds: timing.send, to: &output)
        add(.wait, microseconds: timing.wait, to: &output)
        add(.receive, microseconds: timing.receive, to: &output)
        add(.total, microseconds: timing.total, to: &output)
    }

    /// Appends a time, in microseconds since 1970, of a rare field.
    mutating func add(_ field: Field, date microseconds: Int64, to output: inout TextCursor) {
        var timestamp = TimestampText()
        open(field, to: &output)
        timestamp.append(date: microseconds, to: &output)
        output.append(0x22)
    }

    /// Appends a word from lupin's own source.
    mutating func add(_ field: Field, literal: String, to output: inout TextCursor) {
        open(field, to: &output)
        output.append(literal: literal)
        output.append(0x22)
    }

    /// Appends a text that may hold secrets; appends nothing when it is empty or nil.
    mutating func add(
        _ field: Field,
        _ text: String?,
        _ redactor: Redactor,
        to output: inout TextCursor
    ) {
        guard let text, !text.isEmpty else { return }
        open(field, to: &output)
        if let cleaned = redactor.cleaned(text.utf8Span.span) {
            output.append(json: cleaned.span)
        } else {
            output.append(json: text.utf8Span.span)
        }
        output.append(0x22)
    }
}
