// The routes that show the rules and add one to the file, after a preview.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules
import LupinTLS

/// The routes below `/v1/rules`; confined to the control loop.
struct RulesRoutes {
    let admin: AdminRoutes

    private static let snippetBytesMax = 64 << 10
    /// Lines of the file that a preview shows around the new ones.
    private static let contextLines = 3

    /// A file, and the same with a rule added.
    private struct Draft {
        let path: String
        let insertion: RuleInsertion
        /// Of the file as it is; a change in between shows in it.
        let digest: String
        var reading: RulesSource.Reading
    }

    /// The rules in force, with their lines.
    func list() -> AdminAnswer {
        let configuration = admin.shared.snapshot.configuration
        return AdminAnswer { line in
            if let file = admin.rulesFile() { line.add("file", text: file) }
            line.add("version", text: configuration.version)
            line.add("rules", objects: configuration.rules.rules) { line, rule in
                line.add("name", text: clean(rule.name))
                line.add("line", UInt64(max(0, rule.line)))
            }
        }
    }

    /// Where a rule would go, and what would come of it.
    func preview(_ wish: JSONValue) throws(AdminAnswer) -> AdminAnswer {
        let draft = try draft(wish)
        let lines = draft.insertion.text.split(omittingEmptySubsequences: false) {
            $0 == "\n" || $0 == "\r\n"
        }.map(String.init)
        let added = draft.insertion.added
        let before = lines[..<added.lowerBound].suffix(Self.contextLines)
        let after = lines[added.upperBound...].prefix(Self.contextLines)
        return AdminAnswer { line in
            line.add("file", text: draft.path)
            line.add("line", UInt64(added.lowerBound + 1))
            line.add("before", list: before.map(clean))
            line.add("added", list: lines[added].map(clean))
            line.add("after", list: after.map(clean))
            line.add("digest", text: draft.digest)
            line.add("errors", list: draft.reading.errors.map(clean))
            line.add("warnings", list: draft.reading.warnings.map(clean))
        }
    }

    /// Adds a rule that was previewed to the file.
    func append(_ wish: JSONValue) async throws(AdminAnswer) -> AdminAnswer {
        let draft = try draft(wish)
        guard wish["digest"]?.string == draft.digest else {
            throw AdminAnswer(409, sentence: "the file has changed since the preview")
        }
        guard draft.reading.errors.isEmpty else { throw refusal(draft.reading.errors) }
        // A symbolic link to a file elsewhere stays a link.
        let path = PublicFile.target(of: draft.path) ?? draft.path
        do throws(SystemError) {
            try WholeFile.rewrite(path, with: Array(draft.insertion.text.utf8))
        } catch {
            throw AdminAnswer(503, sentence: "\(draft.path) can't be written: \(error.message)")
        }
        switch await admin.reload() {
        case .loaded(let version, let warnings):
            return AdminAnswer { line in
                line.add("version", text: version)
                line.add("warnings", list: warnings.map(clean))
            }
        case .unchanged(let version): return AdminAnswer { $0.add("version", text: version) }
        case .rejected(let errors): throw refusal(errors)
        }
    }

    private func refusal(_ errors: [String]) -> AdminAnswer {
        AdminAnswer(422) { $0.add("errors", list: errors.map(clean)) }
    }

    /// The file with the rule that a request wishes for.
    private func draft(_ wish: JSONValue) throws(AdminAnswer) -> Draft {
        guard let snippet = wish["snippet"]?.string, snippet.utf8.count <= Self.snippetBytesMax
        else { throw AdminAnswer(400, sentence: "snippet is the YAML of a rule") }
        guard let source = admin.source, let path = admin.rulesFile() ?? source.candidates.first
        else { throw AdminAnswer(409, sentence: "this lupin has no rules file") }
        let bytes = try Self.content(of: path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AdminAnswer(409, sentence: "\(path) is not UTF-8")
        }
        let insertion: RuleInsertion
        let digest = MessageDigest.sha256(bytes.span)
        do throws(RuleInsertion.Problem) {
            insertion = try RuleInsertion(snippet, into: text)
        } catch {
            throw AdminAnswer(422) { $0.add("errors", list: [error.sentence]) }
        }
        var draft = Draft(
            path: path,
            insertion: insertion,
            digest: HexText.text(digest),
            reading: source.check(Array(insertion.text.utf8), path)
        )
        // Lines can be put where they mean something else: in a text, or in another rule.
        if let new = draft.reading.configuration {
            let before =
                bytes.isEmpty ? 0 : source.check(bytes, path).configuration?.rules.rules.count
            if let before, new.rules.rules.count <= before {
                draft.reading.errors = ["the file would have no rule more; use an editor"]
            }
        }
        return draft
    }

    /// The file's bytes; none if there is no file.
    private static func content(of path: String) throws(AdminAnswer) -> [UInt8] {
        if !PublicFile.exists(path) { return [] }
        do throws(FileProblem) {
            return try FileAccess.read(path).bytes
        } catch {
            throw AdminAnswer(503, sentence: "cannot read \(path): \(error.reason)")
        }
    }

    private func clean(_ text: String) -> String { admin.shared.redactor.cleaned(text) }
}
