// The settings and rule tables as a JSON schema, so that editors complete and check rules files.

import LupinCore
import LupinPolicy

/// `config/rules.schema.json`.
enum SchemaDocument {
    /// JSON Schema draft-07, which editors' YAML support knows best.
    static var json: String {
        var properties = section("")
        properties.append(("rules", .object([("type", "array"), ("items", rule)])))
        return JSON.object([
            ("$schema", "http://json-schema.org/draft-07/schema#"),
            ("title", "lupin.yaml"),
            ("type", "object"),
            ("required", .array(["lupin"])),
            ("additionalProperties", false),
            ("properties", .object(properties)),
        ]).text() + "\n"
    }

    // MARK: Settings

    private static func section(_ name: String) -> [(String, JSON)] {
        SettingsTable.keys(in: name).map { key in
            let full = name.isEmpty ? key : "\(name).\(key)"
            if let setting = SettingsTable.setting(full) { return (key, schema(of: setting)) }
            let map = closed(section(full))
            let remark = SettingsDocument.sections[full] ?? ""
            switch full {
            case "cache":
                let map: [(String, JSON)] = [
                    ("type", "object"), ("additionalProperties", .object(cachePolicy())),
                    ("properties", .object(section(full))),
                ]
                return (key, described(remark, map))
            case "listen":
                return (key, described(remark, [("type", "array"), ("items", .object(map))]))
            case "log":
                return (key, described(remark, [either(.object(map), ["off"])]))
            default:
                let later = SettingsTable.unavailability(of: full) != nil
                return (key, described(later ? notYet(remark) : remark, map))
            }
        }
    }

    private static func schema(of setting: Setting) -> JSON {
        let remark = setting.isAvailable ? setting.sentence : notYet(setting.sentence)
        if setting.name == "retry" {
            let policy = JSON.object(retryPolicy())
            return described(remark, [("type", "object"), ("additionalProperties", policy)])
        }
        if setting.name == "trust" {
            let policies: [(String, JSON)] = [
                ("type", .array(["object", "string"])),
                ("additionalProperties", .object(trustPolicy)),
            ]
            return described("\(remark); default: \(setting.defaultText)", policies)
        }
        if let form = cacheForm(of: setting) {
            return described("\(remark); default: \(setting.defaultText)", form)
        }
        return described("\(remark); default: \(setting.defaultText)", form(of: setting))
    }

    private static func form(of setting: Setting) -> [(String, JSON)] {
        switch setting.kind {
        case .duration(_, let orNone):
            return [either(0, unit("ms|s|m|h|d", or: orNone ? "none" : nil))]
        case .size(_, let word):
            return [either(0, unit("B|KiB|MiB|GiB|TiB", or: word))]
        case .number(let range, let word):
            let number = JSON.object([
                ("type", "integer"), ("minimum", .number(range.lowerBound)),
                ("maximum", .number(range.upperBound)),
            ])
            return [either(number, (word.map { [$0] } ?? []), orReference: true)]
        case .boolean:
            return [either(.object([("type", "boolean")]), [], orReference: true)]
        case .choice(let words):
            return [("enum", .array(words.map { .string($0) }))]
        case .rate:
            return [("type", "string"), ("pattern", "^([0-9]+([KMGT]iB|B)?/s|none)$|\\$\\{")]
        case .count:
            return [("type", "string"), ("pattern", "^[0-9]+/[0-9]+(ms|s|m|h|d)$|\\$\\{")]
        case .text:
            return [("type", "string")]
        case .list:
            return oneOrMany(.object([("type", .array(["string", "number"]))]))
        case .map:
            return [("type", .array(["object", "string"]))]
        }
    }

    /// A retry policy; in a rule it may begin with `use`.
    private static func retryPolicy(_ more: [(String, JSON)] = []) -> [(String, JSON)] {
        let keys = RetryKeyTable.policy.map { setting -> (String, JSON) in
            let leaves = RetryKeyTable.leaves(of: setting.key)
            guard !leaves.isEmpty else { return (setting.key, schema(of: setting)) }
            let map = JSON.object(closed(leaves.map { ($0.key, retryLeaf($0)) }))
            let remark = "\(setting.sentence); default: \(setting.defaultText)"
            let words: [String] =
                switch setting.key {
                case "retry_after": []
                case "circuit": ["off"]
                default: ["none"]
                }
            return (setting.key, described(remark, [either(map, words)]))
        }
        return closed(more + keys)
    }

    private static func retryLeaf(_ setting: Setting) -> JSON {
        let remark = "\(setting.sentence); default: \(setting.defaultText)"
        switch setting.name {
        case "backoff.base": return described(remark, [("type", .array(["number", "string"]))])
        case "hedge.after": return described(remark, [either(0, unit("ms|s|m|h|d", or: "p95"))])
        default: return schema(of: setting)
        }
    }

    /// A cache policy; in a rule it may begin with `use`.
    private static func cachePolicy(_ more: [(String, JSON)] = []) -> [(String, JSON)] {
        closed(more + CacheKeyTable.policy.map { ($0.key, schema(of: $0)) })
    }

    /// A trust policy by its name or in place; what stands in one is for `lupin check` to say.
    private static var trustPolicy: [(String, JSON)] {
        let remark = "certificates between the server's and the CA's at most; alone: system"
        let number = integer(0...TrustPathDemand.intermediatesMax)
        let depth = described(remark, [either(number, [], orReference: true)])
        return [
            ("type", .array(["string", "object"])), ("properties", .object([("max_depth", depth)])),
        ]
    }

    /// What the table says in words only.
    private static func cacheForm(of setting: Setting) -> [(String, JSON)]? {
        switch setting.name {
        case "cache.standard.heuristic": return [either(0, unit("%", or: nil))]
        case "cache.standard.ttl": return [either(0, unit("s|m|h|d", or: "origin"))]
        case "cache.standard.ignore":
            let words = CachePolicy.Ignored.words.map { JSON.string($0.word) }
            return oneOrMany(.object([("enum", .array(words))]))
        case "cache.standard.modify":
            let steps = closed(RuleKeyTable.responseStep.map { ($0.key, .object([])) })
            return oneOrMany(.object(steps))
        default: return nil
        }
    }

    private static func unit(_ units: String, or word: String?) -> JSON {
        let word = word.map { "|\($0)" } ?? ""
        let pattern = "^([0-9]+(\(units))|0\(word))$|\\$\\{"
        return .object([("type", "string"), ("pattern", .string(pattern))])
    }

    // MARK: Rules

    private static var rule: JSON {
        let text = JSON.object([("type", "string")])
        var forms: [String: [(String, JSON)]] = [
            "name": [("type", "string")],
            "match": oneOrMany(
                .object([
                    ("anyOf", .array([.object([("type", "string")]), ref("match")]))
                ])
            ),
            "request": [("type", "array"), ("items", step)],
            "respond": closed([
                ("status", integer(200...599)),
                ("headers", .object([("type", "object")])),
                ("body", .object([("type", "string")])),
                ("file", .object([("type", "string")])),
                ("folder", .object([("type", "string")])),
            ]),
            "timeouts": closed(perRule("timeouts")),
            "log": [either(.object(closed(perRule("log"))), ["off"])],
            "proxy": [("type", "string")],
            "retry": [
                (
                    "anyOf",
                    .array([text, .object(retryPolicy([("use", text)]))])
                )
            ],
            "cache": [
                (
                    "anyOf",
                    .array([text, .object(cachePolicy([("use", text)]))])
                )
            ],
            "stand_ins": [
                (
                    "anyOf",
                    .array([
                        .object(oneOrMany(text)),
                        .object(
                            closed([
                                ("tokens", .object(oneOrMany(text))),
                                (
                                    "in",
                                    .object(
                                        oneOrMany(
                                            .object([
                                                (
                                                    "enum",
                                                    .array(
                                                        StandInLocations.words.map {
                                                            .string($0.word)
                                                        }
                                                    )
                                                )
                                            ])
                                        )
                                    )
                                ),
                            ])
                        ),
                    ])
                )
            ],
            "cross_site": oneOrMany(text),
            "capture": [
                (
                    "anyOf",
                    .array([
                        .object([("type", "boolean")]),
                        .object(
                            closed([
                                ("bodies", .object([either(0, unit("B|KiB|MiB|GiB|TiB", or: nil))]))
                            ])
                        ),
                    ])
                )
            ],
            "trust": trustPolicy,
            "cookies": [either(.object(closed([("jar", text)])), ["off"])],
            "client_cert": [
                either(.object(closed([("cert", text), ("key", text)])), ["none"])
            ],
            "tls": closed([
                ("min", .object([("enum", .array(["1.2", "1.3"]))])),
                ("alpn", .object(oneOrMany(.object([("enum", .array(["h2", "http/1.1"]))])))),
                ("ciphers", text),
                ("close_notify", .object([("enum", .array(["required", "optional"]))])),
            ]),
            "intercept": [("enum", .array(["auto", true]))],
            "stop": [("type", "boolean")],
        ]
        for key in RuleKey.allCases {
            if case .flag = key.row.value { forms[key.rawValue] = [("type", "boolean")] }
        }
        var schema = closed(properties(RuleKeyTable.rule, forms))
        schema.append(("required", .array(["match"])))
        schema.append(("definitions", .object([("match", match)])))
        return .object(schema)
    }

    private static var match: JSON {
        let names: [(String, JSON)] = [("type", "object")]
        let not = oneOrMany(
            .object([("anyOf", .array([.object([("type", "string")]), ref("match")]))])
        )
        let scalar = JSON.object([("type", .array(["string", "number"]))])
        let text = oneOrMany(scalar)
        var forms: [String: [(String, JSON)]] = ["header": names, "query": names, "not": not]
        forms["scheme"] = oneOrMany(.object([("enum", .array(["http", "https"]))]))
        let file = JSON.object(closed([("file", .object([("type", "string")]))]))
        forms["host"] = oneOrMany(.object([("anyOf", .array([scalar, file]))]))
        for key in ["port", "path", "method", "client", "program", "user"] {
            forms[key] = text
        }
        return .object(closed(properties(RuleKeyTable.match, forms)))
    }

    private static var step: JSON {
        let map: [(String, JSON)] = [("type", "object")]
        let text = JSON.object([("type", "string")])
        let forms: [String: [(String, JSON)]] = [
            "set": map, "add": map, "default": map,
            "remove": oneOrMany(text),
            "rewrite": closed([("header", text), ("from", text), ("to", text)]),
            "query": closed([("set", .object(map)), ("remove", .object(oneOrMany(text)))]),
            "url": closed([
                ("scheme", .object([("enum", .array(["http", "https"]))])),
                ("host", text), ("port", integer(1...65535)),
                (
                    "path",
                    .object([
                        (
                            "anyOf",
                            .array([text, .object(closed([("from", text), ("to", text)]))])
                        )
                    ])
                ),
            ]),
            "compress": closed([
                ("with", .object([("enum", .array(["gzip", "deflate"]))])),
                ("min", .object([either(0, unit("B|KiB|MiB|GiB|TiB", or: nil))])),
                ("if_encoded", .object([("enum", .array(["skip", "error"]))])),
            ]),
            "body": closed([("replace", .object(closed([("from", text), ("to", text)])))]),
            "json": closed([("set", .object(map)), ("remove", .object(oneOrMany(text)))]),
        ]
        var schema = closed(properties(RuleKeyTable.step, forms))
        schema.append(("maxProperties", 1))
        return .object(schema)
    }

    private static func properties(
        _ keys: [DocumentedKey],
        _ forms: [String: [(String, JSON)]]
    ) -> [(String, JSON)] {
        keys.map { key in
            (key.key, described("\(key.sentence); such as \(key.form)", forms[key.key] ?? []))
        }
    }

    private static func perRule(_ section: String) -> [(String, JSON)] {
        SettingsTable.settings.filter { $0.isPerRule && $0.section == section }
            .map { ($0.key, schema(of: $0)) }
    }

    // MARK: Small pieces

    private static func closed(_ properties: [(String, JSON)]) -> [(String, JSON)] {
        [
            ("type", "object"), ("additionalProperties", false),
            ("properties", .object(properties)),
        ]
    }

    private static func described(_ text: String, _ schema: [(String, JSON)]) -> JSON {
        .object((text.isEmpty ? [] : [("description", .string(text))]) + schema)
    }

    private static func notYet(_ text: String) -> String { "\(text) (not available yet)" }

    private static func ref(_ name: String) -> JSON {
        .object([("$ref", .string("#/properties/rules/items/definitions/\(name)"))])
    }

    private static func integer(_ range: ClosedRange<Int>) -> JSON {
        .object([
            ("type", "integer"), ("minimum", .number(range.lowerBound)),
            ("maximum", .number(range.upperBound)),
        ])
    }

    private static func oneOrMany(_ item: JSON) -> [(String, JSON)] {
        [("anyOf", .array([item, .object([("type", "array"), ("items", item)])]))]
    }

    private static func either(_ constant: Int, _ other: JSON) -> (String, JSON) {
        ("anyOf", .array([.object([("const", .number(constant))]), other]))
    }

    private static func either(
        _ schema: JSON,
        _ words: [String],
        orReference: Bool = false
    ) -> (String, JSON) {
        var options = [schema]
        if !words.isEmpty { options.append(.object([("enum", .array(words.map { .string($0) }))])) }
        if orReference { options.append(.object([("type", "string"), ("pattern", "\\$\\{")])) }
        return ("anyOf", .array(options))
    }
}

/// A JSON value whose objects keep their order.
private enum JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral
{
    case string(String)
    case number(Int)
    case boolean(Bool)
    case array([JSON])
    case object([(String, JSON)])

    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(integerLiteral value: Int) { self = .number(value) }

    /// Indented by two spaces a level; what is short stays on one line.
    func text(_ indentation: String = "") -> String {
        let inner = indentation + "  "
        switch self {
        case .string(let text): return JSON.quoted(text)
        case .number(let value): return "\(value)"
        case .boolean(let value): return "\(value)"
        case .array(let items):
            return JSON.joined(items.map { $0.text(inner) }, "[", "]", indentation)
        case .object(let members):
            let texts = members.map { "\(JSON.quoted($0.0)): \($0.1.text(inner))" }
            return JSON.joined(texts, "{", "}", indentation)
        }
    }

    private static func joined(
        _ items: [String],
        _ open: String,
        _ close: String,
        _ indentation: String
    ) -> String {
        let line = "\(open)\(items.joined(separator: ", "))\(close)"
        if line.count < 80, !line.contains("\n") { return line }
        let lines = items.map { "\(indentation)  \($0)" }.joined(separator: ",\n")
        return "\(open)\n\(lines)\n\(indentation)\(close)"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
