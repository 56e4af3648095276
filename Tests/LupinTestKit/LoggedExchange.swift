// A line of a log as lupin writes it, for tests of what reads logs.
package import LupinCore

/// An exchange on record; what it holds may be any text, as in a log that an attacker wrote to.
package struct LoggedExchange: Sendable {
    package var method = "GET"
    package var host: String
    package var port = 80
    /// nil for a tunnel.
    package var scheme: String? = "http"
    package var mode = "http"
    package var outcome = "ok"
    package var status = 200
    package var time = "2026-11-20T22:41:07.123456Z"
    package var program: String?
    package var client = "127.0.0.1"
    package var path = "/"
    /// What the origin answered; nil when there was no attempt, 0 when it answered nothing.
    package var answer: Int? = 200
    /// The URL of the attempt, if it is not the client's.
    package var attemptURL: String?
    package var peer: String?
    package var errorType: String?
    package var step: String?
    package var cacheStatus: String?
    package var redirect: (status: Int, location: String)?
    package var serverName: String?
    package var fields: [String: String] = [:]

    /// A request by http.
    package init(_ host: String, port: Int = 80) {
        self.host = host
        self.port = port
    }

    package static func decrypted(_ host: String, port: Int = 443) -> Self {
        var line = Self(host, port: port)
        (line.scheme, line.mode) = ("https", "intercept")
        return line
    }

    package static func tunnel(_ host: String, port: Int = 443) -> Self {
        var line = Self(host, port: port)
        (line.scheme, line.mode, line.method, line.answer) = (nil, "tunnel", "CONNECT", 0)
        return line
    }

    /// A CONNECT that a rule refused.
    package static func refused(_ host: String, port: Int = 443) -> Self {
        var line = Self(host, port: port)
        (line.scheme, line.method, line.answer, line.status) = (nil, "CONNECT", nil, 403)
        line.step = "respond 403 by the rule \"none\" (line 9)"
        return line
    }

    /// A request whose host does not exist.
    package static func failed(_ host: String) -> Self {
        var line = Self(host)
        (line.outcome, line.answer, line.status) = ("error", 0, 502)
        line.errorType = "dns_error"
        return line
    }

    /// The same, changed.
    package func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    package var json: JSONValue? {
        let bytes = Array(text.utf8)
        return JSONValue(parsing: bytes.span)
    }

    package var text: String {
        let isTunnel = mode == "tunnel"
        var client = "\"address\":\(Self.quoted(client))"
        if let program { client += ",\"program\":\(Self.quoted(program))" }
        var url = "\"domain\":\(Self.quoted(host)),\"port\":\(port)"
        if let scheme {
            let shown = host.contains(":") ? "[\(host)]" : host
            let full = "\(scheme)://\(shown):\(port)\(path)"
            url += ",\"scheme\":\"\(scheme)\",\"full\":\(Self.quoted(full))"
        }
        let names = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "PATCH"]
        let request =
            names.contains(method)
            ? "\"method\":\"\(method)\""
            : "\"method\":\"_OTHER\",\"method_original\":\(Self.quoted(method))"
        let values = fields.map { "\(Self.quoted($0.key)):[\(Self.quoted($0.value))]" }
        var parts = [
            "\"schema\":1", "\"ts\":\(Self.quoted(time))",
            "\"event\":\"\(isTunnel ? "tunnel" : "exchange")\"",
            "\"id\":\"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b\"", "\"outcome\":\"\(outcome)\"",
            "\"client\":{\(client)}", "\"mode\":\"\(mode)\"",
            "\"http\":{\"request\":{\(request),\"header\":{\(values.joined(separator: ","))}},"
                + "\"response\":{\"status_code\":\(status)}}",
            "\"url\":{\(url)}",
        ]
        if let step { parts.append("\"rules\":{\"steps\":[\(Self.quoted(step))]}") }
        if let cacheStatus { parts.append("\"cache\":{\"status\":\(Self.quoted(cacheStatus))}") }
        if let redirect {
            let location = Self.quoted(redirect.location)
            parts.append("\"redirects\":[{\"status\":\(redirect.status),\"location\":\(location)}]")
        }
        if let answer {
            var attempt = "\"n\":1"
            if answer > 0 { attempt += ",\"status\":\(answer)" }
            if let attemptURL { attempt += ",\"url\":\(Self.quoted(attemptURL))" }
            if let peer { attempt += ",\"peer\":\(Self.quoted(peer))" }
            parts.append("\"attempts\":[{\(attempt)}]")
        }
        if let errorType { parts.append("\"error\":{\"type\":\(Self.quoted(errorType))}") }
        if isTunnel {
            let name = serverName.map { ",\"sni\":\(Self.quoted($0))" } ?? ""
            parts.append("\"tunnel\":{\"sent\":1,\"received\":1\(name)}")
        }
        return "{\(parts.joined(separator: ","))}"
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
