// What the documentation says of the forms in which a secret is found, made of their table.

import LupinCore

/// `Sources/LupinCore/LupinCore.docc/Redaction.md`.
enum RedactionDocument {
    private static let secret = #"p/s?"w\rd" <é>"#

    static var text: String {
        ([introduction, forms, limits + names + losses].map { $0.joined(separator: "\n") })
            .joined(separator: "\n\n") + "\n"
    }

    private static let introduction = [
        "# How secrets are found",
        "",
        "In which forms a known secret is hidden, and in which it is not.",
        "",
        "## Overview",
        "",
        "Everything that lupin writes for people is searched for the secrets that it knows: what",
        "`tokens:`, `${secret:…}` and `${file:…}` gave, the tokens that it fetched, and the newest",
        "256 cookies of jars. Of `user:password` each part is a secret too. What was found becomes",
        "`REDACTED.hhhh`, with the same four digits for the same secret for as long as lupin runs.",
    ]

    private static var forms: [String] {
        let head = [
            "### The forms that are found", "",
            "The examples stand for the secret `\(secret)`.", "",
            "| Form | Example |", "| --- | --- |",
        ]
        return head + SecretForm.allCases.map { "| \(cell($0.name)) | \(example($0)) |" }
    }

    private static func example(_ form: SecretForm) -> String {
        let text = form.text(of: secret).replacing("\r\n", with: " ")
        return "`\(cell(text))`"
    }

    /// A vertical line would end the cell.
    private static func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }

    private static let limits = [
        "Escapes of URLs, of strings, of HTML and of lines may lie in two layers on each other,",
        "in any order. The spaces in the examples of lines stand for the line breaks.",
        "",
        "Of a text in base64 all that follows the secret is hidden as well.",
        "",
    ]

    private static var names: [String] {
        let all = SecretNames.everywhere
        func row(_ place: String, _ names: [String]) -> String {
            "| \(place) | \(names.map { "`\($0)`" }.joined(separator: ", ")) |"
        }
        return [
            "### The names that hide their values", "",
            "Names have no case, and `*` is any text. Of `user[token]` and `user.token` the last "
                + "part counts.",
            "", "| Where | Names |", "| --- | --- |", row("everywhere", all),
            row("fields of heads", SecretNames.fields.filter { !all.contains($0) }),
            row("URLs and their parameters", SecretNames.parameters.filter { !all.contains($0) }),
            "",
            "`Sec-WebSocket-Protocol` is hidden where it holds a token: behind a word such as "
                + "`bearer`, or as a",
            "long random word.", "",
        ]
    }

    private static let losses = [
        "### What is not found",
        "",
        "- A secret of less than six bytes: it would turn up in innocent words.",
        "- A part of a secret, or a secret in other letters, such as a host in lower case.",
        "- A secret below three or more layers of escapes, or of base64.",
        "- A secret that was compressed, encrypted, hashed, reversed or written as base32.",
        "- Escapes inside base64 other than those of forms and of JSON strings.",
        "- Hexadecimal with something between the digits, or that changes its case within the",
        "  first four of them.",
    ]
}
