// What a rule with `respond` answers, and which file of a folder a request asks for.

/// What a `respond:` rule answers.
package struct CannedResponse: Sendable, Equatable {
    /// Where its content comes from.
    package enum Content: Sendable, Equatable {
        /// There is none; a refusal says which rule refuses.
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

    package init(status: UInt16) { self.status = status }

    /// Whether it only refuses, which the answer to a CONNECT can say as well: 403, 407 or 5xx
    /// without content.
    package var isRefusal: Bool {
        content == .none && (status == 403 || status == 407 || status >= 500)
    }

    /// Whether a file has to be read for it.
    package var readsFile: Bool {
        switch content {
        case .file, .folder: true
        case .none, .text: false
        }
    }

    /// Whether one file is named, which is a mistake in the rules where it is not there.
    package var namesFile: Bool {
        if case .file = content { true } else { false }
    }

    /// What its fields say of its type.
    package var contentType: String? {
        fields.last { $0.name.lowercased() == "content-type" }?.value
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.status == b.status && a.content == b.content
            && a.fields.elementsEqual(b.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}

/// The file below a folder that a URL's path names.
package struct FolderPath: Sendable, Equatable {
    /// The names that lead to it, decoded; none is the folder itself.
    package let names: [String]
    /// The path ends with `/`: what it names is a folder.
    package let isFolder: Bool

    /// Tried in this order where the path names a folder.
    package static let indexes = ["index.html", "index.json"]

    /// Reads the path of `target`, a path and query, without its first `skipped` segments.
    ///
    /// - Returns: nil where the path can be no file's: it has `..`, an empty segment, an encoded
    ///   slash or NUL, bytes that are no UTF-8, or a name that begins with a dot. Hidden files are
    ///   seldom meant for others; `.well-known` (RFC 8615) is.
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
    /// How many segments at the beginning of the path in `target` the rule spells out.
    ///
    /// Of several patterns the first counts that the path matches; without any it is 0.
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
