// Options that an earlier call of lupin left in the variables of a shell: `lupin env` sets them.
import LupinCore

/// Takes lupin's own options out of variables that hold the user's, too.
///
/// Their files are of another proxy, or none: a confined command does not even see them.
enum EarlierVariables {
    /// Removes them.
    ///
    /// - Parameters:
    ///   - environment: The variables of a shell.
    ///   - folder: Where `lupin env` keeps its files; nil where it can't have any.
    /// - Returns: The variables as they were before lupin added to them.
    static func removed(
        from environment: [String: String],
        folder: String?
    ) -> [String: String] {
        var result = environment
        result[ShellMemory.name] = nil
        for (name, isOwn) in [("NODE_OPTIONS", isNodeOption), ("JAVA_TOOL_OPTIONS", isJavaOption)] {
            guard let value = environment[name] else { continue }
            var kept = words(of: value).filter { !isOwn($0, folder ?? "/dev/null") }
            // Without its store the type would be that of another one.
            if !kept.contains(where: { $0.contains(javaStore) }) {
                kept.removeAll { $0 == "-Djavax.net.ssl.trustStoreType=JKS" }
            }
            result[name] = kept.isEmpty ? nil : kept.joined(separator: " ")
        }
        return result
    }

    private static func isNodeOption(_ word: Substring, _ folder: String) -> Bool {
        let text = word.filter { $0 != "\"" }
        return text.hasPrefix("--require=") && text.hasSuffix("/node-proxy.cjs")
    }

    private static let javaNames = [
        "http.proxyHost", "http.proxyPort", "https.proxyHost", "https.proxyPort",
        "http.nonProxyHosts",
    ]

    /// Of what names a proxy the last one holds, and lupin's comes last; a trust store is the
    /// user's unless it lies among lupin's files.
    private static func isJavaOption(_ word: Substring, _ folder: String) -> Bool {
        let text = word.filter { $0 != "\"" }
        if javaNames.contains(where: { text.hasPrefix("-D\($0)=") }) { return true }
        return text.hasPrefix("\(javaStore)\(folder)/")
    }

    private static let javaStore = "-Djavax.net.ssl.trustStore="

    /// The words of an option list, in which quotes keep blanks.
    private static func words(of text: String) -> [Substring] {
        var isQuoted = false
        return text.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == " " && !isQuoted
        }
    }
}
