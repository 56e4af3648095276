// Finds `$NAME` in values: lupin has `${env:NAME}`, and would send the characters themselves.
import LupinCore

extension ValuePiece {
    /// The first variable written as shells do, with the offset and the count of its scalars.
    ///
    /// That is `$` and a name in capitals, or `$` and any name as the whole value: `$top` inside a
    /// value belongs to other languages.
    static func shellVariable(in text: String) -> (name: String, offset: Int, count: Int)? {
        let scalars = Array(text.unicodeScalars)
        var i = 0
        while i + 1 < scalars.count {
            guard scalars[i] == "$", scalars[i + 1] != "$" else {
                // `$$` is one `$`.
                i += scalars[i] == "$" ? 2 : 1
                continue
            }
            let end = scalars[(i + 1)...].firstIndex { !$0.isOfVariable } ?? scalars.count
            let name = String(String.UnicodeScalarView(scalars[(i + 1)..<end]))
            let isWhole = i == 0 && end == scalars.count
            let isCapital = name.utf8.count > 1 && !name.utf8.contains { 0x61...0x7A ~= $0 }
            if let first = name.utf8.first, !first.isASCIIDigit, isWhole || isCapital {
                return (name, i, end - i)
            }
            i = max(end, i + 1)
        }
        return nil
    }
}

extension Unicode.Scalar {
    fileprivate var isOfVariable: Bool {
        isASCII && (properties.isAlphabetic || self == "_" || ("0"..."9").contains(self))
    }
}

extension DecodingContext {
    /// Reports a variable written as shells do: as an error in a credential, else as a warning.
    /// - Returns: Whether the value may be used.
    func acceptsVariables(of text: String, isCredential: Bool, at node: YAMLNode) -> Bool {
        guard let found = ValuePiece.shellVariable(in: text) else { return true }
        // A name that is no variable may be a part of a password.
        let isVariable =
            found.count == text.unicodeScalars.count
            || surroundings.environment[found.name] != nil || !isCredential
        let name = isVariable ? found.name : "NAME"
        let message =
            isVariable
            ? "\"$\(name)\" is no reference, and would be sent as these characters"
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
