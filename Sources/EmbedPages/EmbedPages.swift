// The build plugin that turns the pages of lupin.docc into Swift for `lupin help`.
import Foundation
import PackagePlugin

/// Writes `ManualPages.swift`: the name and the text of each page, as string literals.
///
/// SwiftPM's own `.embedInCode` does the same by array literals of bytes. The compiler needs half a
/// minute for 100 KB of those, and none for string literals.
@main
struct EmbedPages: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        let folder = target.directoryURL.appending(path: "\(target.name).docc")
        let pages = try FileManager.default.contentsOfDirectory(
            at: folder,
            includingPropertiesForKeys: nil
        )
        .filter { $0.pathExtension == "md" }
        .sorted { $0.lastPathComponent < $1.lastPathComponent }
        let output = context.pluginWorkDirectoryURL.appending(path: "ManualPages.swift")
        return [
            .buildCommand(
                displayName: "Embedding the pages of \(target.name).docc",
                executable: URL(filePath: "/bin/sh"),
                arguments: ["-euc", script, "sh", output.path] + pages.map(\.path),
                inputFiles: pages,
                outputFiles: [output]
            )
        ]
    }

    /// A raw string literal with three number signs: no page has its end in it.
    private var script: String {
        ####"""
        output=$1
        shift
        {
            echo '// Generated from the pages of the manual.'
            echo 'enum ManualPages {'
            echo 'static let texts: [(name: String, text: String)] = ['
            for page; do
                name=${page##*/}
                printf '("%s", ###"""\n' "${name%.md}"
                cat "$page"
                printf '\n"""###),\n'
            done
            echo ']'
            echo '}'
        } >"$output"
        """####
    }
}
