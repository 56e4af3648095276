// The fields of an HTTP/2 message, pseudo-fields among them, in the order of their lines.

/// Ordered fields; a literal may name one twice.
///
/// ```swift
/// [":method": "GET", ":scheme": "http", ":path": "/", "cookie": "a=1", "cookie": "b=2"]
/// ```
package struct HTTP2Fields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    package struct Line: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var lines: [Line]

    package init(_ lines: [Line] = []) { self.lines = lines }

    package init(dictionaryLiteral elements: (String, String)...) {
        lines = elements.map { Line($0, $1) }
    }

    /// The values of all lines with this name, which HTTP/2 has in lower case.
    package func values(_ name: String) -> [String] {
        lines.filter { $0.name == name }.map(\.value)
    }

    /// The value of the lines with this name, joined by `, `; nil when there is none.
    package subscript(_ name: String) -> String? {
        let values = values(name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    package var names: [String] { lines.map(\.name) }

    package static func + (first: HTTP2Fields, second: HTTP2Fields) -> HTTP2Fields {
        HTTP2Fields(first.lines + second.lines)
    }

    /// Without the lines of this name.
    package func without(_ name: String) -> HTTP2Fields {
        HTTP2Fields(lines.filter { $0.name != name })
    }

    /// With another value in the lines of this name.
    package func with(_ name: String, _ value: String) -> HTTP2Fields {
        HTTP2Fields(lines.map { $0.name == name ? Line(name, value) : $0 })
    }

    /// What a request's head has.
    package static func request(
        _ method: String = "GET",
        scheme: String? = "http",
        authority: String? = nil,
        path: String? = "/",
        protocol name: String? = nil
    ) -> HTTP2Fields {
        var lines = [Line(":method", method)]
        let others = [
            (":scheme", scheme), (":authority", authority), (":path", path), (":protocol", name),
        ]
        for (name, value) in others {
            if let value { lines.append(Line(name, value)) }
        }
        return HTTP2Fields(lines)
    }
}
