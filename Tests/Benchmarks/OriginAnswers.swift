// What the origin answers: the fields of a head, and small answers of HTTP/1.1 as a whole.
import Foundation
import LupinCore

/// Answers of HTTP/1.1, made once for every kind of demand.
struct OriginAnswers {
    private struct Kind: Hashable {
        let bytes: Int
        let isNamed: Bool
        let isStorable: Bool
        let isLast: Bool
    }

    private var texts: [Kind: VariedText] = [:]

    /// Bodies up to this length stand behind their head, so that a usual answer is one write.
    static let wholeBytesMax = 64 << 10

    /// What an answer to something that isn't a proper request says.
    static let refusal = Array(
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".utf8
    )

    /// The head, and the body unless it is long.
    mutating func text(for demand: Demand, isLast: Bool) -> VariedText {
        let kind = Kind(
            bytes: demand.bytes,
            isNamed: demand.id != nil,
            isStorable: demand.isStorable,
            isLast: isLast
        )
        if let made = texts[kind] { return made }
        var lines = ["HTTP/1.1 200 OK"]
        lines += Self.fields(isNamed: kind.isNamed, isStorable: kind.isStorable).map {
            "\($0.name): \($0.value)"
        }
        if isLast { lines.append("Connection: close") }
        lines.append("Content-Length: \(demand.bytes)")
        let head = lines.map { "\($0)\r\n" }.joined() + "\r\n"
        let text = VariedText(Array(head.utf8) + Self.body(of: demand))
        texts[kind] = text
        return text
    }

    /// The fields of an answer, but for its framing.
    static func fields(
        isNamed: Bool,
        isStorable: Bool
    ) -> [(name: String, value: String)] {
        var date = isNamed ? VariedText.date : "Sun, 06 Nov 1994 08:49:37 GMT"
        // What is kept is as old as it says.
        if isStorable { date = HTTPDate.text(Int64(Date().timeIntervalSince1970)) }
        let general = [
            (name: "Server", value: "lupin-bench"),
            (name: "Date", value: date),
            (name: "Content-Type", value: "application/octet-stream"),
            (name: "Cache-Control", value: isStorable ? "public, max-age=86400" : "no-store"),
        ]
        guard isNamed else { return general }
        return general + [
            (name: "ETag", value: "\"\(VariedText.urlID)\""),
            (name: "X-Request-Id", value: VariedText.urlID),
        ]
    }

    private static func body(of demand: Demand) -> [UInt8] {
        if demand.id != nil {
            return NamedBody.template(demand.bytes, naming: VariedText.urlID)
        }
        let count = demand.bytes > wholeBytesMax ? 0 : demand.bytes
        return Array(repeatElement(UInt8(ascii: "x"), count: count))
    }
}
