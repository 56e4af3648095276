// Finds `$NAME` and `$env:NAME` in values: lupin has `${env:NAME}`, and would send the characters
// themselves.
import LupinCore
import LupinPolicy

extension ValuePiece {
    /// A variable written as shells do, with its place in scalars.
    struct ShellVariable {
        let name: String
        /// As it is written, such as `$env:NAME` in PowerShell.
        let text: String
        let offset: Int
        let count: Int
    }

    /// The first variable written as shells do.
    ///
    /// That is `$` and a name in capitals, `$env:` and any name, or `$` and any name as the whole
    /// value: `$top` inside a value belongs to other languages.
    static func shellVariable(in text: String) -> ShellVariable? {
        let scalars = Array(text.unicodeScalars)
        var i = 0
        while i + 1 < scalars.count {
            guard scalars[i] == "$", scalars[i + 1] != "$" else {
                // `$$` is one `$`.
                i += scalars[i] == "$" ? 2 : 1
                continue
            }
            func word(from start: Int) -> String {
                String(String.UnicodeScalarView(scalars[start...].prefix(while: \.isOfVariable)))
            }
            var (start, name) = (i + 1, word(from: i + 1))
            let colon = start + name.utf8.count
            let isPowerShell =
                name.lowercased() == "env" && colon < scalars.count && scalars[colon] == ":"
            if isPowerShell { (start, name) = (colon + 1, word(from: colon + 1)) }
            let end = start + name.utf8.count
            let isWhole = i == 0 && end == scalars.count
            let isCapital = name.utf8.count > 1 && !name.utf8.contains { 0x61...0x7A ~= $0 }
            if let first = name.utf8.first, !first.isASCIIDigit,
                isWhole || isCapital || isPowerShell
            {
                let text = String(String.UnicodeScalarView(scalars[i..<end]))
                return ShellVariable(name: name, text: text, offset: i, count: end - i)
            }
            i = max(end, i + 1)
        }
        return nil
    }
}

extension ValuePiece {
    /// The first `$1` to `$9`, as replacements have them; `$$` is one `$`.
    static func group(in text: String) -> String? {
        var rest = Substring(text).utf8
        while let dollar = rest.firstIndex(of: 0x24) {
            rest = rest[dollar...].dropFirst()
            guard let next = rest.first else { return nil }
            if 0x31...0x39 ~= next { return "$\(UnicodeScalar(next))" }
            if next == 0x24 { rest = rest.dropFirst() }
        }
        return nil
    }
}

/// What stands in a value for another one, in languages that lupin doesn't speak.
enum ForeignPlaceholder: CaseIterable {
    /// `$(command)`, as shells write it.
    case command
    /// The same between backticks.
    case backticks
    /// `{{name}}`, as templates write it.
    case template
    /// `%NAME%`, as Windows writes it.
    case percent
    /// `<your token>`, as documentation writes it.
    case blank

    /// The first in a credential, with the offset and the count of its scalars.
    ///
    /// Backticks and `<…>` count as a word of their own only: a password may have such characters.
    static func find(in text: String) -> (kind: Self, offset: Int, count: Int)? {
        let scalars = Array(text.unicodeScalars)
        for i in scalars.indices {
            for kind in allCases {
                if let end = kind.end(in: scalars, from: i) { return (kind, i, end - i) }
            }
        }
        return nil
    }

    /// The text for users.
    var name: String {
        switch self {
        case .command: "\"$(…)\""
        case .backticks: "\"`…`\""
        case .template: "\"{{…}}\""
        case .percent: "\"%…%\""
        case .blank: "\"<…>\""
        }
    }

    /// Where one that begins at `start` ends; nil if none does.
    private func end(in scalars: [Unicode.Scalar], from start: Int) -> Int? {
        switch self {
        case .command:
            // `$$` is one `$`.
            let dollars = scalars[..<start].reversed().prefix { $0 == "$" }.count
            guard dollars.isMultiple(of: 2) else { return nil }
            return between("$(", ")", scalars, start)
        case .template: return between("{{", "}}", scalars, start)
        case .backticks: return word(between("`", "`", scalars, start), scalars, start)
        case .blank:
            guard let end = word(between("<", ">", scalars, start), scalars, start) else {
                return nil
            }
            let inner = scalars[(start + 1)..<(end - 1)]
            let isText = inner.allSatisfy { $0.isOfVariable || " -.'".unicodeScalars.contains($0) }
            return isText ? end : nil
        case .percent: return percentEnd(scalars, start)
        }
    }

    private func percentEnd(_ scalars: [Unicode.Scalar], _ start: Int) -> Int? {
        guard let end = between("%", "%", scalars, start) else { return nil }
        let inner = scalars[(start + 1)..<(end - 1)]
        guard let first = inner.first, !("0"..."9").contains(first),
            inner.allSatisfy(\.isOfVariable)
        else { return nil }
        // Behind the second one of two escapes stand two digits.
        let isEscape =
            scalars[end...].prefix(2).count { $0.isASCII && $0.properties.isASCIIHexDigit } == 2
        let isWhole = start == 0 && end == scalars.count
        let isCapital = inner.count > 1 && !inner.contains { ("a"..."z").contains($0) }
        return isWhole || (isCapital && !isEscape) ? end : nil
    }

    /// The end of `close`, behind something that begins with `open` at `start`.
    private func between(
        _ open: String,
        _ close: String,
        _ scalars: [Unicode.Scalar],
        _ start: Int
    ) -> Int? {
        let (open, close) = (Array(open.unicodeScalars), Array(close.unicodeScalars))
        guard scalars[start...].starts(with: open) else { return nil }
        let inner = start + open.count
        var end = inner + 1
        while end + close.count <= scalars.count {
            if scalars[end...].starts(with: close) { return end + close.count }
            end += 1
        }
        return nil
    }

    /// The same end if what stands before and behind is none of the word.
    private func word(_ end: Int?, _ scalars: [Unicode.Scalar], _ start: Int) -> Int? {
        guard let end else { return nil }
        let isBegun = start == 0 || " :=\"'".unicodeScalars.contains(scalars[start - 1])
        let isEnded = end == scalars.count || " @\"'".unicodeScalars.contains(scalars[end])
        return isBegun && isEnded ? end : nil
    }
}

extension Unicode.Scalar {
    fileprivate var isOfVariable: Bool {
        isASCII && (properties.isAlphabetic || self == "_" || ("0"..."9").contains(self))
    }
}

extension DecodingContext {
    /// Reports a variable written as shells do: as an error in a credential, else as a warning; and
    /// in a credential what other languages would replace.
    /// - Returns: Whether the value may be used.
    func acceptsVariables(of text: String, isCredential: Bool, at node: YAMLNode) -> Bool {
        if isCredential, let found = ForeignPlaceholder.find(in: text) {
            error(
                .environment,
                "\(found.kind.name) is no reference, and would be sent as these characters",
                in: node,
                offset: found.offset,
                count: found.count,
                hint: "write ${env:NAME} or ${secret:PATH}; `command:` under tokens runs a program"
            )
            return false
        }
        if isCredential, text.hasPrefix("~/") {
            warning(
                .environment,
                "\"~/…\" is no reference, and would be sent as these characters",
                at: node,
                hint: "write \"${file:~/…}\" for the content of the file"
            )
        }
        guard let found = ValuePiece.shellVariable(in: text) else { return true }
        // A name that is no variable may be a part of a password.
        let isVariable =
            found.count == text.unicodeScalars.count
            || surroundings.environment[found.name] != nil || !isCredential
        let name = isVariable ? found.name : "NAME"
        let message =
            isVariable
            ? "\"\(found.text)\" is no reference, and would be sent as these characters"
            : "a \"$\" before a name is no reference, and would be sent as these characters"
        let hint = "write ${env:\(name)}, or $$ for the character"
        guard isCredential else {
            warning(.environment, message, at: node, hint: hint)
            return true
        }
        error(
            .environment,
            message,
            in: node,
            offset: found.offset,
            count: found.count,
            hint: hint
        )
        return false
    }

    /// What to write for an unknown `${NAME}`.
    func hint(forUnknown kind: String, among kinds: [String]) -> String {
        if let near = nearest(to: kind, among: kinds) { return "did you mean \"\(near)\"?" }
        let isName = !kind.isEmpty && kind.unicodeScalars.allSatisfy(\.isOfVariable)
        return isName
            ? "write ${env:\(kind)}, or $${ for the characters" : "write $${ for the characters"
    }
}
