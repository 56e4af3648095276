// What HAR 1.2 demands of an archive: members, and their types.
import LupinCore

/// Checks an archive against the specification: every object has the members that are not
/// optional, all known members have their types, and others begin with `_`.
enum ArchiveRules {
    private indirect enum Form: Sendable {
        case string, number, integer, date, boolean
        case list(of: Form)
        case object([String: (isOptional: Bool, form: Form)])
    }

    private static func must(_ form: Form) -> (isOptional: Bool, form: Form) { (false, form) }
    private static func may(_ form: Form) -> (isOptional: Bool, form: Form) { (true, form) }

    private static let pair = Form.object([
        "name": must(.string), "value": must(.string), "comment": may(.string),
    ])

    private static let cookie = Form.object([
        "name": must(.string), "value": must(.string), "path": may(.string),
        "domain": may(.string), "expires": may(.date), "httpOnly": may(.boolean),
        "secure": may(.boolean), "comment": may(.string),
    ])

    private static let message: [String: (isOptional: Bool, form: Form)] = [
        "httpVersion": must(.string), "cookies": must(.list(of: cookie)),
        "headers": must(.list(of: pair)), "headersSize": must(.integer),
        "bodySize": must(.integer), "comment": may(.string),
    ]

    private static let param = Form.object([
        "name": must(.string), "value": may(.string), "fileName": may(.string),
        "contentType": may(.string), "comment": may(.string),
    ])

    private static let request = Form.object(
        message.merging(
            [
                "method": must(.string), "url": must(.string),
                "queryString": must(.list(of: pair)),
                "postData": may(
                    .object([
                        "mimeType": must(.string), "params": may(.list(of: param)),
                        "text": may(.string), "comment": may(.string),
                    ])
                ),
            ],
            uniquingKeysWith: { $1 }
        )
    )

    private static let response = Form.object(
        message.merging(
            [
                "status": must(.integer), "statusText": must(.string),
                "redirectURL": must(.string),
                "content": must(
                    .object([
                        "size": must(.integer), "compression": may(.integer),
                        "mimeType": must(.string), "text": may(.string),
                        "encoding": may(.string), "comment": may(.string),
                    ])
                ),
            ],
            uniquingKeysWith: { $1 }
        )
    )

    private static let timings = Form.object([
        "blocked": may(.number), "dns": may(.number), "connect": may(.number),
        "send": must(.number), "wait": must(.number), "receive": must(.number),
        "ssl": may(.number), "comment": may(.string),
    ])

    private static let entry = Form.object([
        "pageref": may(.string), "startedDateTime": must(.date), "time": must(.number),
        "request": must(request), "response": must(response),
        "cache": must(.object(["comment": may(.string)])), "timings": must(timings),
        "serverIPAddress": may(.string), "connection": may(.string), "comment": may(.string),
    ])

    private static let program = Form.object([
        "name": must(.string), "version": must(.string), "comment": may(.string),
    ])

    private static let archive = Form.object([
        "log": must(
            .object([
                "version": must(.string), "creator": must(program), "browser": may(program),
                "entries": must(.list(of: entry)), "comment": may(.string),
            ])
        )
    ])

    /// What is wrong with an archive.
    static func problems(of json: JSONValue) -> [String] { problems(of: json, archive, at: "") }

    private static func problems(of value: JSONValue, _ form: Form, at path: String) -> [String] {
        let isRight: Bool
        switch form {
        case .string: isRight = value.string != nil
        case .number: isRight = value.number != nil
        case .integer: isRight = value.number.map { $0 == $0.rounded() && $0 >= -1 } ?? false
        case .boolean: isRight = value.bool != nil
        case .date:
            let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/
            isRight = value.string?.wholeMatch(of: form) != nil
        case .list(let item):
            guard let values = value.list else { return ["\(path) is no list"] }
            return values.enumerated().flatMap { problems(of: $1, item, at: "\(path)[\($0)]") }
        case .object(let members):
            guard case .object(let found) = value else { return ["\(path) is no object"] }
            var all = members.filter { !$0.value.isOptional && value[$0.key] == nil }
                .map { "\(path).\($0.key) is missing" }
            for member in found where !member.name.hasPrefix("_") {
                let place = "\(path).\(member.name)"
                if let known = members[member.name] {
                    all += problems(of: member.value, known.form, at: place)
                } else {
                    all.append("\(place) is unknown")
                }
            }
            return all
        }
        return isRight ? [] : ["\(path) has another type"]
    }
}
