// The build plugin that turns text files of a target into Swift: the program needs no files.
import Foundation
import PackagePlugin

/// Writes the name and the text of each file as string literals: of `TARGET.docc`, the pages for
/// `lupin help`, without their `.md`, and the schema of the rules file; and of `page`, the files of
/// the inspector's page.
///
/// SwiftPM's own `.embedInCode` does the same by array literals of bytes. The compiler needs half a
/// minute for 100 KB of those, and none for string literals.
@main
struct EmbedPages: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: Target) throws -> [Command] {
        let page = target.directoryURL.appending(path: "page")
        let isPage = FileManager.default.fileExists(atPath: page.path)
        let folder =
            isPage ? page : target.directoryURL.appending(path: "\(target.name).docc")
        let files =
            try FileManager.default.contentsOfDirectory(
                at: folder,
                includingPropertiesForKeys: nil
            )
            .filter { isPage || $0.pathExtension == "md" }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            + (isPage
                ? [] : [context.package.directoryURL.appending(path: "config/rules.schema.json")])
        let type = isPage ? "PageFiles" : "ManualPages"
        let output = context.pluginWorkDirectoryURL.appending(path: "\(type).swift")
        return [
            .buildCommand(
                displayName: "Embedding the files of \(folder.lastPathComponent)",
                executable: URL(filePath: "/bin/sh"),
                arguments: ["-euc", script, "sh", type, output.path] + files.map(\.path),
                inputFiles: files,
                outputFiles: [output]
            )
        ]
    }

    /// A raw string literal with three number signs: no file has its end in it.
    private var script: String {
        ####"""
        type=$1
        output=$2
        shift 2
        {
            echo '// Generated from text files.'
            echo "enum $type {"
            echo 'static let texts: [(name: String, text: String)] = ['
            for file; do
                name=${file##*/}
                printf '("%s", ###"""\n' "${name%.md}"
                cat "$file"
                printf '\n"""###),\n'
            done
            echo ']'
            echo '}'
        } >"$output"
        """####
    }
}
