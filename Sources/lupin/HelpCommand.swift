// `lupin help`: shows the help of a subcommand, or a page of the manual.
import ArgumentParser
import LupinConsole
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules

/// Replaces the subcommand of the same name that ArgumentParser adds to every program.
struct HelpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "help",
        abstract: "Show the help of a subcommand, or a page of the manual.",
        discussion: """
            Run it without a name to list all subcommands and all pages.

              lupin help
              lupin help ca install
              lupin help retries

            Pages are wrapped to the width of the terminal, or to $COLUMNS; what is longer than \
            it goes to $PAGER, or less. Exit codes: 0 shown, \
            64 there is no such subcommand or page.
            """
    )

    @Argument(help: "A subcommand, with its own subcommand if it has any, or the name of a page.")
    var names: [String] = []

    func run() throws {
        guard let first = names.first else {
            let contents = Manual.contents(columns: Self.columns)
            return PagedText.show("\(Lupin.helpMessage())\n\(contents)")
        }
        if let command = Self.command(names[...], below: Lupin.self) {
            let page = Manual.related(to: first).map {
                "\n  See 'lupin help \($0.name)' for the page of the manual."
            }
            return PagedText.show(Lupin.helpMessage(for: command) + (page ?? ""))
        }
        guard names.count == 1, let page = Manual.page(first) else {
            throw ValidationError(Manual.unknown(names.joined(separator: " ")))
        }
        PagedText.show(PageText(page.text, columns: Self.columns).text)
    }

    /// Returns the command at the path `names` below `parent`.
    private static func command(
        _ names: ArraySlice<String>,
        below parent: any ParsableCommand.Type
    ) -> (any ParsableCommand.Type)? {
        guard let name = names.first else { return parent }
        let child = parent.configuration.subcommands.first {
            $0.configuration.commandName == name || $0.configuration.aliases.contains(name)
        }
        return child.flatMap { command(names.dropFirst(), below: $0) }
    }

    private static var columns: Int { max(40, LocatedLog.columns ?? 80) }
}

/// The pages of `lupin.docc`, which the build embeds in the program.
enum Manual {
    struct Page {
        let name: String
        let text: String

        /// The paragraph below the title.
        var abstract: String { PageText.abstract(of: text) }
    }

    static let pages = ManualPages.texts.filter { !$0.name.hasSuffix(".json") }
        .map { Page(name: $0.name, text: $0.text) }

    static func page(_ name: String) -> Page? {
        let name = name.lowercased()
        return pages.first { $0.name == name }
    }

    /// Returns the page about a subcommand, whose name begins with the same four letters.
    static func related(to command: String) -> Page? {
        let beginning = command.prefix(4)
        guard beginning.count == 4 else { return nil }
        return pages.first { $0.name.hasPrefix(beginning) }
    }

    /// Lists every page in a line or two, as ArgumentParser lists subcommands.
    static func contents(columns: Int) -> String {
        let indent = 26
        var lines = ["", "PAGES:"]
        for page in pages {
            let wrapped = PageText.wrap(page.abstract, columns: max(20, columns - indent))
            for (i, line) in wrapped.enumerated() {
                let name = i == 0 ? "  \(page.name)" : ""
                lines.append(
                    name + String(repeating: " ", count: max(2, indent - name.count)) + line
                )
            }
        }
        lines += ["", "  See 'lupin help <page>' to read one."]
        return lines.joined(separator: "\n")
    }

    /// Suggests alternatives to an unknown name.
    static func unknown(_ name: String) -> String {
        let known =
            pages.map(\.name)
            + Lupin.configuration.subcommands.compactMap {
                $0.configuration.commandName
            }
        let wanted = name.lowercased()
        let near = known.filter { isNear(wanted, $0) }
            .map { (name: $0, distance: distance(wanted, $0)) }
            .sorted { $0.distance < $1.distance }
            .prefix(3)
            .map(\.name)
        let mentioning = pages.filter { $0.text.lowercased().contains(wanted) }
            .map { (name: $0.name, count: $0.text.lowercased().pieces(between: wanted).count) }
            .sorted { $0.count > $1.count }
            .prefix(3)
            .map(\.name)
        var sentences = ["There is no subcommand or page \"\(name)\"."]
        if !near.isEmpty {
            sentences.append("Nearest: \(near.joined(separator: ", ")).")
        }
        if wanted.count > 2, !mentioning.isEmpty {
            sentences.append("Pages that mention it: \(mentioning.joined(separator: ", ")).")
        }
        return sentences.joined(separator: " ") + " `lupin help` lists all."
    }

    /// Whether a name may be a misspelling of another: few letters differ, or they begin alike.
    private static func isNear(_ a: String, _ b: String) -> Bool {
        distance(a, b) <= max(1, a.count / 3)
            || zip(a, b).prefix { $0 == $1 }.count >= min(4, a.count)
    }

    private static func distance(_ a: String, _ b: String) -> Int {
        editDistance(Array(a.utf8), Array(b.utf8))
    }
}
