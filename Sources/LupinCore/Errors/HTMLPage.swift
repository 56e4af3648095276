// The frame of lupin's HTML pages for browsers.

/// A small page without scripts, images or other resources to load.
///
/// A browser takes it for a page of the host that it asked. So it must load nothing from there, its
/// icon neither: what a page loads from its own host gets what the rules attach.
package struct HTMLPage {
    /// `Content-Security-Policy` for such a page, and for an answer that is shown as one.
    package static let policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
        + "base-uri 'none'; frame-ancestors 'none'"

    package var title: String
    /// HTML; untrusted texts in it must be ``escaped(_:)``.
    package var body: String

    package init(title: String, body: String) {
        self.title = title
        self.body = body
    }

    package var text: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <link rel="icon" href="data:,">
        <title>\(Self.escaped(title))</title>
        <style>
        body {font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 44rem; \
        padding: 0 1rem}
        code, pre {background: #8882; padding: .1em .3em}
        pre {padding: .6em; overflow-x: auto}
        </style>
        \(body)
        </html>

        """
    }

    /// Escapes a text for use in elements and quoted attributes of HTML.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
