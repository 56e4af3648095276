// The files of the inspector's page, as the build embedded them.

/// A file of the page.
package struct InspectorFile: Sendable {
    package let contentType: String
    package let text: String
}

/// The page of `lupin inspect`.
package enum InspectorPage {
    /// The file at a path: `/` is the page, `/page/NAME` what it loads; nil for any other path.
    package static func file(at path: String) -> InspectorFile? {
        files[path == "/" ? "/page/index.html" : path]
    }

    private static let files = Dictionary(
        PageFiles.texts.map { name, text in
            ("/page/\(name)", InspectorFile(contentType: contentType(of: name), text: text))
        },
        uniquingKeysWith: { first, _ in first }
    )

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: "text/plain; charset=utf-8"
        }
    }
}
