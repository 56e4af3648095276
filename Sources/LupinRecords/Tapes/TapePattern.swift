// Compares a request with a recorded one, part by part.

import LupinCore
import LupinPolicy

/// Which parts of requests count.
struct ComparedParts: Sendable {
    private let ignoredParameters: NameSet
    private let ignoredFields: NameSet
    private let matchedFields: NameSet
    let hasFields: Bool
    let hasBody: Bool

    init(_ settings: TapeSettings) {
        func names(_ parts: [TapePart], _ name: (TapePart) -> String?) -> [String] {
            parts.compactMap(name)
        }
        func header(_ part: TapePart) -> String? {
            if case .header(let name) = part { name } else { nil }
        }
        ignoredParameters = NameSet(
            names(settings.ignore) { if case .query(let name) = $0 { name } else { nil } }
        )
        ignoredFields = NameSet(names(settings.ignore, header))
        let matched = names(settings.match, header)
        matchedFields = NameSet(matched)
        hasFields = !matched.isEmpty
        hasBody = !settings.ignore.contains(.body)
    }

    /// The parameters of a query that count.
    func parameters(of target: String) -> [ComparedPair] {
        QueryParameters.decoded(of: target.utf8Span.span)
            .filter { !ignoredParameters.contains($0.name.span) }
            .map { ComparedPair(name: String(decoding: $0.name, as: UTF8.self), value: $0.value) }
    }

    /// The fields that count: each name once, in lower case and sorted, with all values.
    func fields(_ fields: [ArchivedExchange.Field]) -> [ComparedPair] {
        guard hasFields else { return [] }
        var values: [String: [String]] = [:]
        for field in fields {
            let name = field.name.utf8Span.span
            guard matchedFields.contains(name), !ignoredFields.contains(name) else { continue }
            let key = field.name.lowercased()
            let value = key == "content-type" ? ComparedBody.normal(type: field.value) : field.value
            values[key, default: []].append(value)
        }
        return values.sorted { $0.key < $1.key }.map {
            ComparedPair(name: $0.key, value: Array($0.value.joined(separator: ", ").utf8))
        }
    }
}

/// A parameter or a field.
struct ComparedPair: Sendable, Equatable {
    var name: String
    var value: [UInt8]
}

/// What of a request is compared.
struct ComparedRequest {
    let method: String
    let origin: Origin
    let path: [UInt8]
    let parameters: [ComparedPair]
    let fields: [ComparedPair]
    /// nil when bodies are ignored.
    let body: [UInt8]?

    init(_ request: TapeRequest, _ parts: ComparedParts) {
        method = request.method
        origin = request.origin
        path = ComparedRequest.path(of: request.target)
        parameters = parts.parameters(of: request.target)
        fields = parts.fields(request.fields)
        let type = request.fields.first { $0.name.lowercased() == "content-type" }?.value
        body = parts.hasBody ? ComparedBody.normal(request.body, type: type) : nil
    }

    /// The path in the form in which rules compare paths: `%7e` is `~`, and `%2f` is `%2F`.
    static func path(of target: String) -> [UInt8] {
        let normal = NormalPath(target.utf8Span.span)
        return normal.rewritten ?? Array(target.utf8.prefix(normal.pathCount))
    }
}

/// The request of a tape's entry, as others are compared with it.
struct TapePattern: Sendable {
    private struct Pair: Sendable {
        let name: String
        let shown: [UInt8]
        let value: MaskedText

        init(_ pair: ComparedPair) {
            name = pair.name
            shown = pair.value
            value = TapePattern.pattern(pair.value)
        }
    }

    private let method: String
    private let origin: Origin
    private let path: [UInt8]
    private let pathPattern: MaskedText
    private let parameters: [Pair]
    private let fields: [Pair]
    private let bodyText: [UInt8]
    private let body: MaskedText

    /// nil if the URL is of neither http nor https.
    init?(_ exchange: ArchivedExchange, _ parts: ComparedParts) {
        guard let (origin, target) = Self.split(exchange.url) else { return nil }
        self.origin = origin
        method = exchange.method
        path = ComparedRequest.path(of: target)
        pathPattern = Self.pattern(path)
        parameters = parts.parameters(of: target).map(Pair.init)
        fields = parts.fields(exchange.requestFields).map(Pair.init)
        let isPartial = exchange.requestBody.isPartial
        bodyText = ComparedBody.normal(
            exchange.requestBody.content,
            type: exchange.requestValue("content-type") ?? exchange.requestType,
            isPartial: isPartial
        )
        body = MaskedText(bodyText, isPrefix: isPartial)
    }

    /// The origin of a URL, and its path with the query.
    private static func split(_ url: String) -> (Origin, target: String)? {
        let text = url.prefix { $0 != "#" }
        guard let marker = text.firstRange(of: "://") else { return nil }
        let rest = text[marker.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let site = HTTPURL(String(text[..<end])) else { return nil }
        let target = rest[end...]
        return (site.origin, target.hasPrefix("/") ? String(target) : "/\(target)")
    }

    /// A text of a record: long ones end with `…+n` there.
    private static func pattern(_ text: [UInt8]) -> MaskedText {
        let ellipsis = Array("…+".utf8)
        let digits = text.reversed().prefix { $0.isASCIIDigit }.count
        let kept = text.count - digits - ellipsis.count
        guard text.count > LogText.bytesMax, digits > 0, kept >= 0,
            text[kept..<kept + ellipsis.count].elementsEqual(ellipsis)
        else { return MaskedText(text) }
        return MaskedText(Array(text[..<kept]), isPrefix: true)
    }

    /// Whether it is the same request.
    func fits(_ asked: ComparedRequest) -> Bool {
        method == asked.method && origin == asked.origin && pathPattern.matches(asked.path)
            && Self.fit(parameters, asked.parameters) && Self.fit(fields, asked.fields)
            && (asked.body.map(body.matches) ?? true)
    }

    private static func fit(_ recorded: [Pair], _ asked: [ComparedPair]) -> Bool {
        recorded.count == asked.count
            && zip(recorded, asked).allSatisfy { $0.name == $1.name && $0.value.matches($1.value) }
    }

    // MARK: The nearest one

    /// How near it is: more for a part that matters more.
    func nearness(to asked: ComparedRequest) -> Int {
        var result = origin == asked.origin ? 400 : 0
        result += pathPattern.matches(asked.path) ? 300 : pathNearness(asked.path)
        if method == asked.method { result += 150 }
        result += Self.nearness(parameters, asked.parameters, of: 100)
        result += Self.nearness(fields, asked.fields, of: 20)
        if let difference = asked.body.map(body.difference) {
            let length = max(bodyText.count, asked.body?.count ?? 0, 1)
            result += difference.map { min($0.text, length) * 40 / length } ?? 50
        }
        return result
    }

    /// By the number of segments in common from the start.
    private func pathNearness(_ asked: [UInt8]) -> Int {
        let slash = UInt8(ascii: "/")
        let (a, b) = (path.split(separator: slash), asked.split(separator: slash))
        let common = zip(a, b).prefix { $0 == $1 }.count
        return 200 * common / max(a.count, b.count, 1)
    }

    private static func nearness(_ a: [Pair], _ b: [ComparedPair], of weight: Int) -> Int {
        let most = max(a.count, b.count)
        if most == 0 { return weight }
        let equal = a.count { pair in
            b.contains { $0.name == pair.name && pair.value.matches($0.value) }
        }
        return weight * equal / most
    }

    // MARK: What differs

    /// An escaped line for each part that differs.
    func differences(from asked: ComparedRequest) -> [String] {
        var lines: [String] = []
        func add(_ part: String, _ recorded: String, _ now: String) {
            lines.append("\(part): \(recorded) on the tape, \(now) now")
        }
        if method != asked.method { add("method", method, asked.method) }
        if origin != asked.origin { add("host", Self.text(origin), Self.text(asked.origin)) }
        if let difference = pathPattern.difference(in: asked.path) {
            add("path", Self.shown(path), Self.shown(asked.path, where: difference))
        }
        lines += Self.differences(parameters, asked.parameters, "query.")
        lines += Self.differences(fields, asked.fields, "header.")
        if let now = asked.body, let difference = body.difference(in: now) {
            let here = difference.isQuotable ? Self.excerpt(now, difference.text) : Self.hidden
            add("body", Self.excerpt(bodyText, difference.recorded), here)
            lines[lines.count - 1] += ", from byte \(difference.text) on"
        }
        // Names are decoded, and may be any text: the author of the tape chose them.
        return lines.map(LogText.plain)
    }

    private static func differences(
        _ recorded: [Pair],
        _ asked: [ComparedPair],
        _ prefix: String
    ) -> [String] {
        if fit(recorded, asked) { return [] }
        var lines: [String] = []
        var rest = asked
        for pair in recorded {
            guard let index = rest.firstIndex(where: { $0.name == pair.name }) else {
                lines.append("\(prefix)\(pair.name): \(shown(pair.shown)) on the tape, missing now")
                continue
            }
            let now = rest.remove(at: index)
            guard let difference = pair.value.difference(in: now.value) else { continue }
            let (old, new) = (shown(pair.shown), shown(now.value, where: difference))
            lines.append("\(prefix)\(pair.name): \(old) on the tape, \(new) now")
        }
        lines += rest.map { "\(prefix)\($0.name): not on the tape, \(shown($0.value)) now" }
        return lines.isEmpty ? ["\(prefix)*: in another order"] : lines
    }

    private static let shownBytes = 60

    private static func text(_ origin: Origin) -> String {
        "\(origin.scheme.name)://\(origin.authority)"
    }

    private static func excerpt(_ text: [UInt8], _ start: Int) -> String {
        if start >= text.count { return "its end" }
        return shown(Array(text[start..<min(text.count, start + 32)]))
    }

    /// What stands for a text that may be a secret on the tape.
    private static let hidden = "another"

    private static func shown(_ text: [UInt8], where difference: MaskedText.Difference) -> String {
        difference.isQuotable ? shown(text) : hidden
    }

    private static func shown(_ text: [UInt8]) -> String {
        let isCut = text.count > shownBytes
        let cut = LogText.plain(String(decoding: text.prefix(shownBytes), as: UTF8.self))
        return "\"\(cut)\(isCut ? "…" : "")\""
    }
}
