// What the documentation says of the forms in which a secret is found, made of their table.

import LupinCore
import LupinTestKit

/// `Sources/LupinCore/LupinCore.docc/Redaction.md`.
enum RedactionDocument {
    private static let secret = #"p/s?"w\rd" <é>"#

    static var text: String {
        ([introduction, forms, limits + heading + names + [""] + losses].map {
            $0.joined(separator: "\n")
        })
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
        "Of a text in base64 all that follows the secret on its line is hidden as well.",
        "",
    ]

    /// The table of names, which the manual has, too.
    static var table: [String] {
        func row(_ place: String, _ names: [String]) -> String {
            "| \(place) | \(names.map { "`\($0)`" }.joined(separator: ", ")) |"
        }
        let parameters = SecretNames.parameters.filter { !$0.contains("[") }
        return [
            "| Where | Names |", "| --- | --- |", row("everywhere", SecretNames.everywhere),
            row("parameters of URLs, fields of forms", parameters),
            row("fields and JSON, where the value is random", SecretNames.codes),
            row("lists and objects that hold a text", SecretNames.lists),
        ]
    }

    private static let heading = ["### The names that hide their values", ""]

    /// What holds of all names.
    private static let meaning = [
        "Names have no case, and `*` is any text, unless the name ends with `policy` or a word",
        "such as `bypass`. Blanks at the ends of a parameter's name are ignored. Of `user[token]`,",
        "`token[value]` and `user.token` each part counts. In JSON all that lies below a name is",
        "hidden, a list or an object as a whole; `true`, `false` and `null` stay. So it is in",
        "bodies, and for JSON in a field or a URL, also in a string of other JSON or",
        "percent-encoded up to twice. In a string of a body a form counts, too, and one field of a",
        "head: `\"Cookie: a=b\"`. A pair as in `{\"name\": \"token\", \"value\": \"…\"}` counts as",
        "`token`, and so does one in a list of pairs, `[[\"token\", \"…\"]]`. One that stands",
        "alone, `[\"X-Api-Key\", \"…\"]`, counts if its name has a hyphen, or is",
        "`Authorization` or `Cookie`.",
    ]

    /// What the names alone do not say.
    private static let remarks = [
        "A `code` is hidden in URLs and forms. In fields and JSON it may be that of an error, so",
        "it is hidden where the text speaks of `authorization_code` or `code_verifier`, or where",
        "it was made at random: it has ten letters and digits or more, and changes so often",
        "between digits, capitals and small letters that its parts have fewer than three",
        "characters on average.",
        "`404`, `not_found` and `ERR_TLS_CERT` stay. A number under a name of the last row is a",
        "count, as in `\"max_tokens\": 4096`, and stays.",
        "",
        "A field that lupin does not know is hidden where its value is a credential, such as",
        "`Bearer abc`.",
        "",
        "`Sec-WebSocket-Protocol` is hidden where it holds a token: behind a word such as",
        "`bearer`, or as a long random word.",
    ]

    /// The part of the manual.
    static var names: [String] { meaning + [""] + table + [""] + remarks }

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
        "- A list of the bytes as decimal numbers, octal escapes (`\\147`), and UTF-7.",
    ]
}
