// Whether the fields of an HTTP/2 message are well-formed (RFC 9113 §8.2 and §8.3).

/// Each function gives what is wrong, or nil.
package enum FieldJudge {
    private static let ofConnection: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade",
    ]
    private static let ofRequests: Set<String> = [
        ":method", ":scheme", ":authority", ":path", ":protocol",
    ]

    package static func problem(inRequest fields: HTTP2Fields) -> String? {
        if let problem = problem(in: fields, pseudo: ofRequests) { return problem }
        guard let method = fields[":method"], !method.isEmpty else { return "no :method" }
        let isPlainConnect = method == "CONNECT" && fields[":protocol"] == nil
        let hasTarget = !(fields[":scheme"] ?? "").isEmpty && !(fields[":path"] ?? "").isEmpty
        if isPlainConnect {
            let isBare = fields[":scheme"] == nil && fields[":path"] == nil
            return isBare && fields[":authority"] != nil ? nil : "not the fields of a CONNECT"
        }
        guard hasTarget else { return "no :scheme or no :path" }
        if fields[":protocol"] != nil, method != "CONNECT" { return ":protocol without CONNECT" }
        if let authority = fields[":authority"] {
            if authority.contains("@") { return "userinfo in :authority" }
            if let host = fields["host"], host != authority { return "two hosts" }
        }
        return nil
    }

    package static func problem(
        inResponse fields: HTTP2Fields,
        endsStream: Bool
    ) -> String? {
        if let problem = problem(in: fields, pseudo: [":status"]) { return problem }
        guard let text = fields[":status"], text.utf8.count == 3, let status = Int(text),
            (100..<1000).contains(status), status != 101
        else { return "no sound :status" }
        return status < 200 && endsStream ? "an interim response ends the stream" : nil
    }

    package static func problem(
        inTrailers fields: HTTP2Fields,
        endsStream: Bool
    ) -> String? {
        if !endsStream { return "trailers without the end" }
        return problem(in: fields, pseudo: [])
    }

    /// What holds for all messages.
    private static func problem(in fields: HTTP2Fields, pseudo: Set<String>) -> String? {
        var isInPseudo = true
        var seen: Set<String> = []
        for line in fields.lines {
            if line.name.hasPrefix(":") {
                guard pseudo.contains(line.name) else { return "\(line.name) has no place" }
                guard isInPseudo else { return "\(line.name) behind regular fields" }
                guard seen.insert(line.name).inserted else { return "\(line.name) twice" }
            } else {
                isInPseudo = false
                guard isToken(line.name) else { return "a field named \(line.name)" }
                if ofConnection.contains(line.name) { return "\(line.name) in HTTP/2" }
                if line.name == "te", line.value != "trailers" { return "te: \(line.value)" }
            }
            let value = Array(line.value.utf8)
            let blanks: Set<UInt8> = [0x20, 0x09]
            if value.contains(where: { [0, 0x0A, 0x0D].contains($0) })
                || value.first.map(blanks.contains) == true
                || value.last.map(blanks.contains) == true
            {
                return "the value of \(line.name)"
            }
        }
        return nil
    }

    /// A token of RFC 9110 §5.6.2 in lower case.
    private static func isToken(_ name: String) -> Bool {
        let signs = Array("!#$%&'*+-.^_`|~".utf8)
        return !name.isEmpty
            && name.utf8.allSatisfy { octet in
                (0x61...0x7A).contains(octet) || (0x30...0x39).contains(octet)
                    || signs.contains(octet)
            }
    }
}
