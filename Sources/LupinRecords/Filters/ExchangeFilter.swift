// Which exchanges a filter keeps: evaluated on lines of the log.

package import LupinCore

/// A filter for exchanges, such as `host:*.acme.dev status:5xx and not error:dns_*`.
///
/// It is compiled once, and then asked for lines of the log, of stages and attempts too, and for
/// exchanges under way. A test of a value that a line doesn't have fails, so its `not` holds.
package struct ExchangeFilter: Sendable, Equatable {
    indirect enum Node: Sendable {
        case test(FilterTest)
        case not(Node)
        case all([Node])
        case any([Node])
    }

    /// The filter as it was written.
    package let text: String
    private let root: Node

    /// Keeps everything.
    package init() {
        text = ""
        root = .all([])
    }

    /// Compiles a filter; an empty one keeps everything.
    package init(_ text: String) throws(FilterProblem) {
        self.text = text
        var parser = FilterParser(text)
        root = try parser.parse()
    }

    package static func == (a: ExchangeFilter, b: ExchangeFilter) -> Bool { a.text == b.text }

    /// Whether the filter keeps a line; `now` is in microseconds since 1970.
    ///
    /// A line with heads, as the admin interface gives it, has its record in `record`.
    /// `bodies` are its captured bodies and messages, which only `body~` looks at.
    package func matches(_ line: JSONValue, now: Int64, bodies: [[UInt8]] = []) -> Bool {
        Self.holds(root, line["record"] ?? line, now, bodies)
    }

    private static func holds(
        _ node: Node,
        _ line: JSONValue,
        _ now: Int64,
        _ bodies: [[UInt8]]
    ) -> Bool {
        switch node {
        case .test(let test): test.holds(line, now: now, bodies)
        case .not(let other): !holds(other, line, now, bodies)
        case .all(let nodes): nodes.allSatisfy { holds($0, line, now, bodies) }
        case .any(let nodes): nodes.contains { holds($0, line, now, bodies) }
        }
    }

    // MARK: For a database

    /// Conditions that every exchange meets which the filter keeps.
    package struct Demands: Equatable, Sendable {
        /// In lower case.
        package var host: String?
        package var method: String?
        package var statuses: ClosedRange<Int>?
        /// In microseconds.
        package var ageMax: Int64?
    }

    package var demands: Demands {
        var demands = Demands()
        Self.add(root, to: &demands)
        return demands
    }

    private static func add(_ node: Node, to demands: inout Demands) {
        switch node {
        case .test(let test): test.add(to: &demands)
        case .all(let nodes): for node in nodes { add(node, to: &demands) }
        case .not, .any: break
        }
    }

    /// Whether a part of it looks at bodies.
    package var asksForBodies: Bool { Self.asksForBodies(root) }

    private static func asksForBodies(_ node: Node) -> Bool {
        switch node {
        case .test(let test): test.asksForBodies
        case .not(let other): asksForBodies(other)
        case .all(let nodes), .any(let nodes): nodes.contains(where: asksForBodies)
        }
    }
}

/// One comparison of a filter.
struct FilterTest: Sendable {
    enum Comparison: Sendable {
        /// There is a value, whichever.
        case exists
        /// The whole text, in which `*` stands for anything, without regard to case.
        case whole(NameSet)
        /// The whole text, as it is.
        case exact(String)
        /// A part of the text, without regard to case.
        case part([UInt8])
        case beginning(String)
        case within(CIDR)
        case flag(Bool)
        /// Microseconds, bytes or a number.
        case range(ClosedRange<Int64>)
        /// Bytes of a captured body.
        case inBody([UInt8])
    }

    private let key: FilterKey
    private let kind: FilterKey.Kind
    /// The names on each path to the value.
    private let paths: [[String]]
    private let comparison: Comparison

    init(_ key: FilterKey, _ comparison: Comparison) {
        let row = key.row
        self.key = key
        kind = row.kind
        paths = row.paths.map { $0.split(separator: ".").map(String.init) }
        self.comparison = comparison
    }

    /// Adds what it says of a column of a database.
    func add(to demands: inout ExchangeFilter.Demands) {
        switch (key, comparison) {
        case (.host, .exact(let host)): demands.host = host
        case (.method, .exact(let method)): demands.method = method
        case (.status, .range(let range)):
            // Bounded: statuses have three digits.
            let low = max(0, Int(clamping: range.lowerBound))
            demands.statuses = low...min(999, max(low, Int(clamping: range.upperBound)))
        case (.age, .range(let range)): demands.ageMax = range.upperBound
        default: break
        }
    }

    var asksForBodies: Bool { if case .inBody = comparison { true } else { false } }

    func holds(_ line: JSONValue, now: Int64, _ bodies: [[UInt8]]) -> Bool {
        if case .inBody(let part) = comparison {
            return bodies.contains { $0.firstRange(of: part) != nil }
        }
        if case .flag(let wanted) = comparison {
            return paths.contains { line[at: $0]?.bool == true } == wanted
        }
        for path in paths {
            guard let value = line[at: path] else { continue }
            // An attempt's object stands where another line has a text.
            if case .object = value { continue }
            return holds(value, now)
        }
        return false
    }

    private func holds(_ value: JSONValue, _ now: Int64) -> Bool {
        switch comparison {
        case .exists: value.list?.isEmpty != true
        case .range(let range): Self.number(value, kind, now).map(range.contains) ?? false
        case .beginning(let digits): value.string?.hasPrefix(digits) ?? false
        case .within(let network):
            value.string.flatMap(IPAddress.init).map(network.contains) ?? false
        case .whole(let names):
            Self.texts(value, kind).contains { names.contains($0.utf8Span.span) }
        case .exact(let text): Self.texts(value, kind).contains(text)
        case .part(let part):
            Self.texts(value, kind).contains { Self.contains($0, part) }
        case .inBody, .flag: false
        }
    }

    private static func texts(_ value: JSONValue, _ kind: FilterKey.Kind) -> [String] {
        if let list = value.list { return list.compactMap(\.string) }
        guard let text = value.string else { return [] }
        return kind == .cache ? CacheWords.all(text) : [text]
    }

    private static func number(
        _ value: JSONValue,
        _ kind: FilterKey.Kind,
        _ now: Int64
    ) -> Int64? {
        switch kind {
        case .duration: value.microseconds
        case .age:
            value.string.flatMap(RecordSummary.microseconds(ofDate:)).map { begun in
                // The date is the line's, and may be any.
                let (age, isOverflow) = now.subtractingReportingOverflow(begun)
                return isOverflow ? .max : max(0, age)
            }
        case .count: value.list.map { Int64($0.count) } ?? value.count.flatMap(Int64.init(exactly:))
        case .number, .status, .bytes: value.count.flatMap(Int64.init(exactly:))
        case .text, .word, .flag, .cache, .id, .address, .body: nil
        }
    }

    private static func contains(_ text: String, _ part: [UInt8]) -> Bool {
        text.utf8.map(\.asciiLowercased).firstRange(of: part) != nil
    }
}

extension JSONValue {
    /// Returns the value at a path of member names.
    fileprivate subscript(at path: [String]) -> JSONValue? {
        var value: JSONValue? = self
        for name in path { value = value?[name] }
        return value
    }
}
