// A request as a text that the user edits before it is sent again.
package import LupinCore
import LupinRecords

/// Why an edited text can't be sent.
package struct RequestTextProblem: Error, Equatable {
    /// A sentence for users.
    package let message: String
}

/// The request of an exchange as a text: a line with method and URL, fields, an empty line, the
/// body.
package struct RequestText: Equatable, Sendable {
    /// The exchange.
    package let id: String
    /// The text to edit.
    package let text: [UInt8]
    private let original: Parts
    /// Whether the body is undone from a content coding, which an edited one no longer has.
    private let hasCoding: Bool

    /// The parts of the text that may be changed.
    private struct Parts: Equatable, Sendable {
        var method = ""
        var url = ""
        var fields: [[String]] = []
        var body: [UInt8] = []
    }

    /// Those that lupin makes itself for the request that it sends.
    private static let ownFields: Set<String> = [
        "content-length", "transfer-encoding", "connection", "proxy-connection", "keep-alive",
        "proxy-authorization", "te", "trailer", "upgrade", "http2-settings", "expect",
    ]

    /// Makes the text of an answer to `/v1/exchanges/ID`; `body` is what is captured of the
    /// request's.
    package init(detail: JSONValue, body: [UInt8]?) throws(RequestTextProblem) {
        guard let exchange = RecordedExchange(detail) else {
            throw RequestTextProblem(message: "the exchange has not ended")
        }
        let method = exchange.original?.method ?? exchange.method
        guard exchange.mode != "tunnel", method != "CONNECT", exchange.url.contains("://") else {
            throw RequestTextProblem(message: "the requests inside a tunnel are not seen")
        }
        id = exchange.id
        var parts = Parts(method: method, url: exchange.url)
        parts.fields = (exchange.original?.fields ?? []).filter {
            !Self.ownFields.contains($0[0].lowercased())
        }
        let captured = detail["bodies"]?.list?.first { $0["side"]?.string == "request" }
        hasCoding = captured?["coding"]?.string != nil
        var remarks = [
            "Edit the request, save it and leave the editor: lupin sends it through the rules.",
            "If nothing is saved, nothing is sent.",
        ]
        let isText = body.map { String(validating: $0, as: UTF8.self) != nil } ?? false
        if let body, isText {
            parts.body = body
            if captured?["truncated"]?.string != nil {
                remarks.append("Only the beginning of the body is captured.")
            }
        } else if body?.isEmpty == false {
            remarks.append("The body is no text. It is sent as it was if you write none.")
        } else if exchange.bodyBytes > 0 {
            remarks.append("The body (\(exchange.bodyBytes) bytes) is not captured.")
        }
        original = parts
        var text = remarks.map { "# \($0)\n" }.joined()
        text += "\(Self.line(parts.method)) \(Self.line(parts.url))\n"
        for field in parts.fields { text += "\(Self.line(field[0])): \(Self.line(field[1]))\n" }
        self.text = Array("\(text)\n".utf8) + parts.body + [0x0A]
    }

    /// The object for `/v1/send` that a saved text asks for: it has what was changed.
    package func json(saved: [UInt8]) throws(RequestTextProblem) -> [UInt8] {
        let parts = try Self.parts(of: saved)
        var fields = parts.fields
        let isNewBody = parts.body != original.body
        if isNewBody, hasCoding { fields.removeAll { $0[0].lowercased() == "content-encoding" } }
        var members = ["\"of\":\(id.jsonText)"]
        if parts.method != original.method {
            members.append("\"method\":\(parts.method.jsonText)")
        }
        if parts.url != Self.line(original.url) {
            members.append("\"url\":\(parts.url.jsonText)")
        }
        if fields != original.fields.map({ $0.map(Self.line) }) {
            let pairs = fields.map { "[\(($0[0]).jsonText),\(($0[1]).jsonText)]" }
            members.append("\"fields\":[\(pairs.joined(separator: ","))]")
        }
        if isNewBody {
            members.append("\"body_base64\":\"\(Base64Text.encode(parts.body))\"")
        }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    /// The object that sends an exchange again as it was.
    static func again(_ id: String) -> [UInt8] { Array("{\"of\":\(id.jsonText)}".utf8) }

    private static func parts(of saved: [UInt8]) throws(RequestTextProblem) -> Parts {
        var rest = saved[...]
        var parts = Parts()
        var isFirst = true
        while !rest.isEmpty {
            let bytes = rest.prefix { $0 != 0x0A }
            rest = rest.dropFirst(bytes.count + 1)
            let line = String(
                decoding: bytes.last == 0x0D ? bytes.dropLast() : bytes,
                as: UTF8.self
            )
            if isFirst, line.hasPrefix("#") || line.isEmpty { continue }
            if isFirst {
                let words = line.split(separator: " ")
                guard words.count == 2, words[1].contains("://") else {
                    throw RequestTextProblem(
                        message: "the first line is a method and a URL: \"\(line)\" is not"
                    )
                }
                (parts.method, parts.url) = (String(words[0]), String(words[1]))
                isFirst = false
                continue
            }
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
                throw RequestTextProblem(message: "\"\(line)\" is no field: write name: value")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            parts.fields.append([String(line[..<colon]), String(value)])
        }
        if isFirst { throw RequestTextProblem(message: "the text is empty, so nothing was sent") }
        // An editor ends the last line, as the text to edit did.
        parts.body = Array(rest.last == 0x0A ? rest.dropLast() : rest)
        return parts
    }

    /// A text that can't break its line.
    private static func line(_ text: String) -> String {
        String(text.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) })
    }
}
