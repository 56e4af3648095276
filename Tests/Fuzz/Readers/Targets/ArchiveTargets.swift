// HTTP Archives, and requests that are looked for on a tape made of one.
import LupinCore
import LupinPolicy
import LupinRecords

enum ArchiveTargets {
    static let all = [archive, tape, masked]

    private static let entry = #"""
        {"request":{"method":"POST","url":"https://a.dev/x/y?ts=1&b=REDACTED.12ab","headers":\#
        [{"name":"accept","value":"*/*"}],"postData":{"mimeType":"text/plain","text":"one"}},\#
        "response":{"status":200,"headers":[],"content":{"size":3,"text":"/wAB",\#
        "encoding":"base64"}}}
        """#

    private static let words = [
        "\"log\":", "\"entries\":", "[", "]", "{", "}", ",", "\"request\":", "\"response\":",
        "\"postData\":", "\"params\":[", "\"_truncated\":\"limit\"", "\"encoding\":\"base64\"",
        "\"_encoding\":\"base64\"", "\"status\":", "1e999", "-1", "REDACTED.0000", "\"url\":",
        "\"Content-Length\"", "\\ud800", "https://", "?", "&",
    ]

    static let archive = FuzzTarget(
        "archive",
        seeds: ["{\"log\":{\"entries\":[\(entry)]}}", "{\"log\":{\"entries\":[{}],\"x\":[1]}}"],
        words: words
    ) { input in
        var features: [String] = []
        do throws(ArchiveProblem) {
            try ArchiveReader.read(input.span) { exchange throws(ArchiveProblem) in
                let isPartial = exchange.requestBody.isPartial || exchange.responseBody.isPartial
                features.append("\(exchange.status) \(exchange.responseFields.count) \(isPartial)")
            }
        } catch {
            return String(error.sentence.prefix(20))
        }
        try hold(JSONValue(parsing: input.span) != nil, "an archive is JSON")
        return features.joined(separator: ",")
    }

    static let tape = FuzzTarget(
        "tape",
        seeds: ["{\"log\":{\"entries\":[\(entry),\(entry)]}}"],
        words: words
    ) { input in
        var settings = TapeSettings()
        settings.match = [.header("accept")]
        guard let tape = try? Tape(input.span, settings), let host = Host("a.dev") else {
            return "-"
        }
        let request = TapeRequest(
            method: "POST",
            origin: Origin(scheme: .https, host: host, port: 443),
            target: "/x/y?ts=1&b=secret",
            fields: [ArchivedExchange.Field(name: "Accept", value: "*/*")],
            body: Array("one".utf8)
        )
        let found = tape.entry(for: request, played: [])
        let miss = tape.miss(of: request)
        try hold(
            tape.entries.isEmpty || found != nil || !miss.differences.isEmpty,
            "what fits nothing differs"
        )
        _ = (miss.text, miss.sentence)
        return "\(told(found)) \(miss.differences.count)"
    }

    /// A recorded text and, behind a line feed, another.
    static let masked = FuzzTarget(
        "masked-text",
        seeds: [
            "a=REDACTED.12ab&b\na=x&b", "\"REDACTED.12ab\"\n1", "REDACTED.12abREDACTED.12ab\n",
        ],
        words: ["REDACTED.0a1f", "\"", "\n", "a", "ab", "aa"]
    ) { input in
        let parts = halves(input)
        let (first, second) = (Array(parts.0), Array(parts.1))
        let pattern = MaskedText(first)
        let difference = pattern.difference(in: second)?.text
        try hold(pattern.matches(first), "a text is like itself")
        try hold(difference ?? 0 <= second.count, "it differs within the text or at its end")
        if MaskedText(first, isPrefix: true).difference(in: second) != nil {
            try hold(difference != nil, "what is no beginning is not the whole")
        }
        return told(difference)
    }
}
