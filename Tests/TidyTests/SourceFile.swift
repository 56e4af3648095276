// One text file as the checks see it: its lines, and for Swift its tokens and comments apart.

/// A file of the repository, or a sample that stands for one.
struct SourceFile: Sendable {
    /// A word, a number or one byte of punctuation outside comments and string literals.
    struct Token: Sendable, Equatable {
        let text: String
        let line: Int
    }

    /// One line of a comment, without its slashes.
    struct Comment: Sendable, Equatable {
        let text: String
        let line: Int
        /// It began with `///`.
        let isDocumentation: Bool
    }

    /// From the repository's root, with `/`.
    let path: String
    let lines: [Substring]
    let tokens: [Token]
    let comments: [Comment]
    /// Where each token stands.
    private let places: [String: [Int]]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if path.hasSuffix(".swift") {
            var scanner = SwiftScanner(text)
            scanner.scan()
            tokens = scanner.tokens
            comments = scanner.comments
        } else {
            tokens = []
            comments = []
        }
        var places: [String: [Int]] = [:]
        for i in tokens.indices { places[tokens[i].text, default: []].append(i) }
        self.places = places
    }

    var isSwift: Bool { path.hasSuffix(".swift") }

    /// The folder below `Sources` or `Tests` that the file belongs to, nil for any other file.
    var module: String? {
        let parts = path.split(separator: "/")
        guard parts.count >= 3, isShipped || parts[0] == "Tests" else { return nil }
        return String(parts[1])
    }

    /// The file is part of the product, not of its tests.
    var isShipped: Bool { path.hasPrefix("Sources/") }

    /// The file's name without folder and extension.
    var stem: String {
        let name = path.split(separator: "/").last ?? ""
        return String(name.prefix { $0 != "." })
    }

    /// Where the tokens `pattern` follow each other, as indices of the first.
    func occurrences(of pattern: [String]) -> [Int] {
        guard let first = pattern.first else { return [] }
        return (places[first] ?? []).filter { i in
            pattern.count == 1
                || tokens[i...].prefix(pattern.count).elementsEqual(pattern) { $0.text == $1 }
        }
    }

    func finding(at line: Int, _ problem: String) -> Finding {
        Finding(path: path, line: line, problem: problem)
    }
}

/// Something that a check found.
struct Finding: Equatable, CustomStringConvertible {
    let path: String
    let line: Int
    let problem: String

    var description: String { "\(path):\(line): \(problem)" }
}
