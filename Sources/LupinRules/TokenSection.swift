// Decodes the `tokens:` section alone, with its problems, without the rest of a file.

package import LupinPolicy

/// The result of decoding a `tokens:` section.
package struct TokenSection: Sendable {
    /// In the order of the file, without those that have a problem.
    package var definitions: [TokenDefinition]
    package var errors: [Diagnostic]
    package var warnings: [Diagnostic]
    /// The secrets to redact from records.
    package var secrets: [String]

    /// Decodes the names and credentials in `text`.
    package init(
        text: String,
        fileName: String,
        surroundings: Surroundings = Surroundings()
    ) {
        let source = SourceFile(name: fileName, text: text)
        let context = DecodingContext(source: source, surroundings: surroundings)
        var reader = DocumentReader(source: source)
        let root = reader.read()
        context.add(errors: reader.problems)
        definitions = root.map { TokenDecoder(context: context).definitions($0) } ?? []
        // Nothing else of a file is there.
        for check in context.checksOfWays { check(UpstreamSettings()) }
        errors = context.concealed(context.errors).sortedByPosition()
        warnings = context.concealed(context.warnings).sortedByPosition()
        secrets = context.secrets
    }
}
