// Fields by which some servers take another path or method than that of the request line.

package import LupinCore

/// What such a field replaces.
package enum TargetField: CaseIterable, Sendable {
    case path
    case method

    /// Who heeds it, for users; the page on security names them, too.
    package var servers: String {
        switch self {
        case .path: "IIS with rewriting modules, Symfony and Zend"
        case .method: "Rails, Symfony, Spring and Express"
        }
    }

    /// What the field of a name replaces; nil for other fields.
    ///
    /// CGI takes an underscore for a hyphen.
    init?(name: Span<UInt8>) {
        guard 13...22 ~= name.count, name[0] | 0x20 == UInt8(ascii: "x") else { return nil }
        switch String(copying: name).lowercased().replacing("_", with: "-") {
        case "x-original-url", "x-rewrite-url", "x-override-url": self = .path
        case "x-http-method-override", "x-http-method", "x-method-override": self = .method
        default: return nil
        }
    }
}

extension FieldSection {
    /// Whether some servers take another path or method from a field.
    package var replacesTarget: Bool {
        lines.contains { line in
            line.known == .other
                && TargetField(name: storage.span.extracting(line.name.range)) != nil
        }
    }
}

extension RuleSet {
    /// The path and method in fields for which other rules would decide; nil if there is none.
    func readingByFields(of subject: MatchSubject) -> OtherReading? {
        let fields = TargetFields(of: subject)
        guard let name = fields.name, let servers = fields.servers else { return nil }
        let judges = judging(subject)
        func reading(_ path: String, _ others: [Int]) -> OtherReading {
            let rule = Set(others).symmetricDifference(judges).min() ?? 0
            return OtherReading(
                servers: servers,
                path: path,
                sent: "\(subject.method.token) \(subject.sentPath)",
                rule: rules[rule].reference,
                field: name
            )
        }
        guard fields.areFew else { return reading("something else", []) }
        for method in fields.methods {
            for target in fields.targets {
                let other = subject.replacing(method, target)
                let others = judging(other)
                let further = others == judges ? readingOfPath(of: other) : nil
                if others == judges, further == nil { continue }
                let path = further?.path ?? other.sentPath
                return reading("\(method.token) \(path)", others)
            }
        }
        return nil
    }
}

/// The paths and methods that a request has, by its line and by fields.
private struct TargetFields {
    private(set) var methods: [Method]
    /// Each a path with a query.
    private(set) var targets: [[UInt8]]
    /// The first of the fields, as it was sent.
    private(set) var name: String?
    /// Who heeds that one.
    private(set) var servers: String?

    /// All pairs of them are looked at.
    var areFew: Bool { methods.count <= Self.countMax && targets.count <= Self.countMax }

    private static let countMax = 5

    init(of subject: MatchSubject) {
        methods = [subject.method]
        targets = [subject.target]
        let fields = subject.fields
        for line in fields.lines where line.known == .other {
            let name = fields.storage.span.extracting(line.name.range)
            guard let field = TargetField(name: name) else { continue }
            let value = fields.text(line.value)
            switch field {
            case .method where value.isEmpty: continue
            case .method:
                let method = Method(value.uppercased())
                if !methods.contains(method) { methods.append(method) }
            case .path:
                guard let target = Self.target(in: value, of: subject) else { continue }
                if !targets.contains(target) { targets.append(target) }
            }
            guard self.name == nil else { continue }
            (self.name, servers) = (fields.text(line.name), field.servers)
        }
    }

    /// The path in a field, with the request's own query where it has none; nil for an empty one.
    private static func target(in value: String, of subject: MatchSubject) -> [UInt8]? {
        if value.isEmpty { return nil }
        var text = value[...]
        if let marker = text.firstRange(of: "://"), !text[..<marker.lowerBound].contains("/") {
            text = text[marker.upperBound...].drop { !"/?#".contains($0) }
        }
        let path = text.hasPrefix("/") ? Array(text.utf8) : [0x2F] + text.utf8
        return text.contains("?") ? path : path + subject.target.drop { $0 != 0x3F }
    }
}

extension MatchSubject {
    /// Path and query.
    fileprivate var target: [UInt8] { Array(fields.storage[pathAndQuery.range]) }

    fileprivate var sentPath: String {
        String(decoding: target.prefix { $0 != 0x3F }, as: UTF8.self)
    }

    fileprivate func replacing(_ method: Method, _ target: [UInt8]) -> MatchSubject {
        var other = self
        other.method = method
        let start = other.fields.storage.count
        other.fields.storage += target
        other.pathAndQuery = ByteRange(start: start, count: target.count)
        return other
    }
}
