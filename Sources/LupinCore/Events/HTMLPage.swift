// The frame of lupin's HTML pages for browsers.

/// A small page without scripts, images or other resources to load.
package struct HTMLPage {
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
