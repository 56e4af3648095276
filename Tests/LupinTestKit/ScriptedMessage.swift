// What a test reads of an HTTP/1.1 message: its lines as they came, and its body without framing.

/// A request or a response as the test's own reader understood it.
package struct ScriptedMessage: Sendable {
    /// Without its CRLF.
    package var startLine: String
    /// Name, value; in the order of the lines.
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    package var trailers: [(name: String, value: String)] = []
    /// Sizes of the chunks that the body came in, without the last one; empty when not chunked.
    package var chunkSizes: [Int] = []
    /// Whether the body was chunked.
    package var isChunked = false
    /// The interim responses that came before a response.
    package var interim: [ScriptedMessage] = []

    init(startLine: String) { self.startLine = startLine }

    package var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The status of a response; 0 for a request.
    package var status: Int {
        let words = startLine.split(separator: " ", maxSplits: 2)
        return words.count > 1 && words[0].hasPrefix("HTTP/") ? Int(words[1]) ?? 0 : 0
    }

    /// The method of a request.
    package var method: String { String(startLine.prefix { $0 != " " }) }

    /// The target of a request.
    package var target: String {
        let words = startLine.split(separator: " ")
        return words.count > 1 ? String(words[1]) : ""
    }

    /// The values of all lines with this name, compared without case.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The values of all lines with this name, joined by `, `; nil when there is none.
    package subscript(_ name: String) -> String? {
        let values = values(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The value of a trailer.
    package func trailer(_ name: String) -> String? {
        trailers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The field names, in the order of the lines.
    package var names: [String] { fields.map(\.name) }
}

/// The lines of a head with their CRLFs and the empty line.
package func head(_ lines: String...) -> String { lines.joined(separator: "\r\n") + "\r\n\r\n" }
