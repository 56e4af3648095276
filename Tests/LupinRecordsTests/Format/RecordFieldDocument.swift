// What the documentation says of the log's lines, made of the table that writes them.

import LupinRecords

/// `Sources/LupinCore/LupinCore.docc/RecordFields.md`.
enum RecordFieldDocument {
    static var text: String {
        let parts = [
            introduction, table(RecordField.allCases.map(\.row)),
            ["### Attempts", "", "Each object of `attempts` is one request to the origin:"],
            table(AttemptField.allCases.map(\.row)),
        ]
        return parts.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    private static let introduction = [
        "# What a line of the log says",
        "",
        "The fields of a record, in the order in which they are written.",
        "",
        "## Overview",
        "",
        "A record is one JSON object in a line of its own, written when the exchange ends.",
        "Paths are nested objects: `http.response.status_code` is found by",
        "`jq .http.response.status_code`. Names are those of OpenTelemetry's conventions for",
        "HTTP where these have one. What is unknown is absent; nothing is ever null. Texts have",
        "their secrets replaced, and end with `…+n` where n bytes of more than 4 KiB are left",
        "out. `lupin log --fields` prints the same list.",
    ]

    private static func table(_ rows: [LineFieldRow]) -> [String] {
        ["| Field | Meaning |", "| --- | --- |"]
            + rows.map { "| `\($0.path)` | \($0.meaning) |" }
    }
}
