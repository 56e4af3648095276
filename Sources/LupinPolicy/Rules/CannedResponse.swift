// The response of a `respond` rule, and the file of a folder for a request.

package import LupinCore

/// The response of a `respond:` rule.
package struct CannedResponse: Sendable, Equatable {
    /// The source of its content.
    package enum Content: Sendable, Equatable {
        /// None; the body of a refusal names the rule that refuses.
        case none
        case text(Template)
        /// The file at this path, read for every request.
        case file(String)
        /// A file below the folder at this path; see ``FolderPath``.
        case folder(String)
    }

    package var status: UInt16
    package var fields: [(name: String, value: String)] = []
    package var content = Content.none
    /// Whether a link in the place of a file may lead out of its folder.
    package var followsLinks = true

    package init(status: UInt16) { self.status = status }

    /// Whether it only refuses, which a response to CONNECT can express as well: 403, 407 or 5xx
    /// without content.
    package var isRefusal: Bool {
        content == .none && Self.refuses(status)
    }

    /// Whether a status says that lupin refuses: 403, 407 or 5xx.
    package static func refuses(_ status: UInt16) -> Bool {
        status == 403 || status == 407 || status >= 500
    }

    /// How the record's steps begin that stand for a `respond`.
    package static let stepName = "respond "

    /// What the record says of it among the steps, with the rule that it is from.
    package func step(of rule: String, answering method: Method) -> String {
        let what =
            switch content {
            case .file: "file"
            case .folder: "folder"
            case .none, .text: "\(status(answering: method))"
            }
        return "\(Self.stepName)\(what) by the \(rule)"
    }

    /// Whether a file must be read for it.
    package var readsFile: Bool {
        switch content {
        case .file, .folder: true
        case .none, .text: false
        }
    }

    /// Whether it names a single file; a missing one is a mistake in the rules.
    package var namesFile: Bool {
        if case .file = content { true } else { false }
    }

    /// The Content-Type in its fields.
    package var contentType: String? {
        fields.last { $0.name.lowercased() == "content-type" }?.value
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.status == b.status && a.content == b.content
            && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}

/// The file below a folder for the path of a URL.
package struct FolderPath: Sendable, Equatable {
    /// The decoded names of the path below the folder; empty for the folder itself.
    package let names: [String]
    /// Whether the path ends with `/` and so names a folder.
    package let isFolder: Bool

    /// The files to try, in order, when the path names a folder.
    package static let indexes = ["index.html", "index.json"]

    /// Parses the path of `target`, a path and query, without its first `skipped` segments.
    ///
    /// - Returns: nil when the path can't name a file: it has `..`, an empty segment, an encoded
    ///   slash or NUL, invalid UTF-8, or a name that begins with a dot. Hidden files are rarely
    ///   meant to be public, except `.well-known` (RFC 8615).
    package init?(_ target: Span<UInt8>, skipping skipped: Int) {
        let normal = NormalPath(target)
        let path = normal.rewritten ?? [UInt8](copying: target.extracting(0..<normal.pathCount))
        guard path.first == 0x2F else { return nil }
        var segments = path.dropFirst().split(separator: 0x2F, omittingEmptySubsequences: false)
        isFolder = segments.last?.isEmpty != false
        if segments.last?.isEmpty == true { segments.removeLast() }
        var names: [String] = []
        for segment in segments.dropFirst(skipped) {
            guard let decoded = Array(segment).span.percentDecoded, !decoded.isEmpty,
                !decoded.contains(0x2F), !decoded.contains(0),
                let name = String(validating: decoded, as: UTF8.self),
                !name.hasPrefix(".") || name == ".well-known"
            else { return nil }
            names.append(name)
        }
        self.names = names
    }
}

extension Rule {
    /// The number of literal segments at the beginning of the path in the rule's pattern.
    ///
    /// The first pattern that matches the path counts; without patterns it is 0.
    package func spelledSegments(of target: Span<UInt8>, for origin: Origin) -> Int {
        let normal = NormalPath(target)
        let path = normal.rewritten ?? [UInt8](copying: target.extracting(0..<normal.pathCount))
        for match in matches where match.mayMeet(origin) {
            guard let paths = match.paths else { return 0 }
            if let pattern = paths.first(where: { $0.matches(path.span) }) {
                return pattern.fixedSegments.count
            }
        }
        return 0
    }
}
