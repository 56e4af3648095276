// Decodes `cookies:` of a rule: no jar, or the file of one.
import LupinPolicy

extension DecodingContext {
    /// Decodes `off`, as `.some(nil)`, or the path in `{jar: file}`; returns nil after reporting a
    /// problem.
    ///
    /// The file need not exist: lupin creates it when it has something to write.
    func cookieJar(_ entry: YAMLNode.Entry) -> String?? {
        let node = entry.value
        let example = "{jar: cookies.txt}"
        if case .scalar("off", _) = node.content { return .some(nil) }
        guard case .map(let entries) = node.content else {
            let isOff = node.scalarText.flatMap(Self.meaning) == false
            return wrongType(node, "off or a jar", write: isOff ? "off" : example)
        }
        var path: String?
        var hasJar = false
        for part in entries {
            guard part.key == "jar" else {
                unknownKey(part, in: entry.key, known: ["jar"])
                continue
            }
            hasJar = true
            path = jarPath(part.value, example: "cookies.txt")
        }
        if !hasJar {
            error(.key, "\"\(entry.key)\" has no \"jar\"", at: entry, hint: "write \(example)")
        }
        return path.map { .some($0) } ?? nil
    }

    private func jarPath(_ node: YAMLNode, example: String) -> String? {
        guard let name = text(node, expected: "a file", example: example) else { return nil }
        guard !name.hasSuffix("/") else {
            error(.file, "\"\(name)\" is a directory", at: node, hint: "write \(name)\(example)")
            return nil
        }
        guard let path = path(name, as: .cookies, at: node) else { return nil }
        // An existing file holds secrets; the next write corrects its mode.
        if let contents = try? surroundings.readFile(path),
            let problem = secrecyProblem(contents, path, at: node)
        {
            warning(.file, problem.message, at: node, hint: problem.hint)
        }
        return path
    }
}
