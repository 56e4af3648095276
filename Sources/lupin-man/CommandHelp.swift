// Reads the help of a command, as ArgumentParser prints it, and makes a man page of it.
import LupinConsole
import LupinCore

/// What the help of a command says, which was printed on lines of any length.
struct CommandHelp {
    /// An argument, an option or a subcommand, with what is said of it.
    struct Item {
        /// `<file>`, `-f, --follow`, `--rules <file>`, `log, tail`, `serve (default)`.
        var head: String
        var text: String

        /// Of a subcommand, without aliases.
        var name: String { String(head.prefix { $0 != "," && $0 != " " }) }
    }

    private let names: [String]
    private let abstract: String
    private let discussion: String
    private let usage: String
    private let arguments: [Item]
    private let options: [Item]
    let subcommands: [Item]

    /// - Parameters:
    ///   - names: Of the subcommand, below those that it is part of; empty for the program itself.
    ///   - text: The help.
    /// - Throws: That it is not in the form of ArgumentParser.
    init(_ names: [String], text: String) throws(ManProblem) {
        self.names = ["lupin"] + names
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let (overview, usage) = ("OVERVIEW: ", "USAGE: ")
        guard let first = lines.first, first.hasPrefix(overview),
            let end = lines.firstIndex(where: { $0.hasPrefix(usage) })
        else {
            throw ManProblem("cannot read the help of \(self.names.joined(separator: " "))")
        }
        abstract = String(first.dropFirst(overview.count))
        discussion = Self.trimmed(lines[1..<end]).joined(separator: "\n")
        self.usage = String(lines[end].dropFirst(usage.count))
        arguments = Self.items("ARGUMENTS:", of: lines[end...])
        options = Self.items("OPTIONS:", of: lines[end...])
        subcommands = Self.items("SUBCOMMANDS:", of: lines[end...])
    }

    private static func trimmed(_ lines: ArraySlice<String>) -> ArraySlice<String> {
        var lines = lines.drop { $0.isEmpty }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// The items below a title: two columns of blanks, the head, and its text behind two blanks or
    /// on the next line.
    private static func items(_ title: String, of lines: ArraySlice<String>) -> [Item] {
        var items: [Item] = []
        for line in lines.drop(while: { $0 != title }).dropFirst().prefix(while: { $0 != "" }) {
            let words = line.drop { $0 == " " }
            if line.count - words.count > 2, !items.isEmpty {
                items[items.count - 1].text = String(words)
                continue
            }
            // The longest head that leaves the text on its line has one blank behind it.
            let column = line.index(line.startIndex, offsetBy: 26, limitedBy: line.endIndex)
            let head = line[..<(column ?? line.endIndex)].drop { $0 == " " }
            var item = Item(head: String(words), text: "")
            if let column, column < line.endIndex, head.last == " " {
                item.text = String(line[column...])
                item.head = String(head)
            }
            while item.head.last == " " { item.head.removeLast() }
            items.append(item)
        }
        return items
    }

    // MARK: As a page

    /// The name of its page.
    var page: String { names.joined(separator: "-") }

    func source(_ date: String) -> ManSource {
        var source = ManSource(page, section: 1, date: date, about: abstract)
        source.header("SYNOPSIS")
        source.macro("Nm", names.joined(separator: " "))
        for item in options + arguments { source.macro(synopsis(item)) }
        if !subcommands.isEmpty { source.macro("Op", "Ar subcommand") }
        source.header("DESCRIPTION")
        source.discussion(discussion.isEmpty ? abstract : discussion)
        list("OPTIONS", (arguments + options).map { (Self.head($0), $0.text) }, in: &source)
        list(
            "SUBCOMMANDS",
            subcommands.map { ("Sy \(ManSource.argument($0.name))", $0.text) },
            in: &source
        )
        source.header("SEE ALSO")
        let below = subcommands.map { "\(page)-\($0.name)" }.sorted()
        let others = names.count > 1 ? ["lupin"] : below
        for (index, other) in others.enumerated() {
            source.macro("Xr", other, "1", index + 1 < others.count ? "," : "")
        }
        return source
    }

    private func list(
        _ title: String,
        _ items: [(head: String, text: String)],
        in source: inout ManSource
    ) {
        guard !items.isEmpty else { return }
        source.header(title)
        source.macro("Bl", "-tag", "-width", "Ds")
        for item in items {
            source.macro("It", item.head)
            source.prose(item.text)
        }
        source.macro("El")
    }

    /// `Op Fl -rules Ar file`.
    private func synopsis(_ item: Item) -> String {
        // The usage has the last of its names.
        let words = item.head.pieces(between: ", ").last.map(String.init) ?? item.head
        let isRepeating = usage.contains("\(words) ...")
        let isDemanded = usage.contains(" \(words)")
        let text = Self.head(item) + (isRepeating ? " ..." : "")
        return isDemanded ? text : "Op \(text)"
    }

    /// `Fl -rules Ar file`, `Ar host`.
    private static func head(_ item: Item) -> String {
        let value = item.head.firstIndex(of: "<").map {
            "Ar \(ManSource.argument(String(item.head[$0...].dropFirst().prefix { $0 != ">" })))"
        }
        let names = item.head.prefix { $0 != "<" }.split(whereSeparator: { ", ".contains($0) })
        let flags = names.map { "Fl \(ManSource.escaped(String($0.dropFirst())))" }
            .joined(separator: " , ")
        return [flags, value ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    }
}
