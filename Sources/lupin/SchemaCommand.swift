// `lupin schema`: prints the JSON schema of the rules file, for editors.
import ArgumentParser

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON schema of the rules file, for editors.",
        discussion: """
            Editors complete and check a rules file by it. Those with the YAML language server \
            take it from a line of the file:

              lupin schema > ~/.config/lupin/rules.schema.json
              # yaml-language-server: $schema=rules.schema.json
            """
    )

    func run() { StandardOutput.print(code: Self.text, terminator: "") }

    /// The schema with the version of this program as its name.
    static var text: String {
        let schema = ManualPages.texts.first { $0.name == "rules.schema.json" }?.text ?? "{}"
        let name = "\n  \"$id\": \"urn:lupin:rules:\(VersionText.lupin)\","
        return "{\(name)\(schema.drop { $0 != "\n" })\n"
    }
}
