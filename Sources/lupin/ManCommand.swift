// `lupin man-pages`, which packages use: writes a man page for each command and each manual page.
import ArgumentParser
import LupinCore
import LupinIO

struct ManCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "man-pages",
        abstract: "Write the man pages of lupin into a folder.",
        discussion: """
            lupin(1) and a page for each subcommand come from the help, the others, in section 7, \
            are the pages of `lupin help`. The date is that of SOURCE_DATE_EPOCH, or today.

              lupin man-pages man && man -l man/lupin.1
            """,
        shouldDisplay: false
    )

    @Argument(help: "An existing folder.", completion: .directory)
    var folder: String

    func run() throws {
        guard
            let help = JSONValue(parsing: Array(Lupin._dumpHelp().utf8).span)?["command"],
            let command = HelpedCommand(help)
        else { throw ValidationError("the help cannot be read") }
        let date = Self.date
        for page in command.pages(date) + Self.manual(date) {
            let file = "\(folder)/\(page.file)"
            do throws(SystemError) {
                try WholeFile.write(Array(page.source.text.utf8), to: file)
            } catch {
                throw ValidationError("cannot write \(file): \(error.message)")
            }
        }
    }

    private static func manual(_ date: String) -> [(file: String, source: ManSource)] {
        Manual.pages.map { page in
            let name = "lupin-\(page.name)"
            var source = ManSource(
                name,
                section: 7,
                date: date,
                about: PageText.inline(page.abstract[...])
            )
            source.header("DESCRIPTION")
            source.markdown(page.text)
            source.header("SEE ALSO")
            source.macro("Xr", "lupin", "1")
            return (file: "\(name).7", source: source)
        }
    }

    /// `November 25, 2026`, as mdoc(7) wants it.
    private static var date: String {
        let epoch = ProcessOwner.environment["SOURCE_DATE_EPOCH"].flatMap {
            NumberReader.unsigned($0, max: 1 << 40)
        }.map(Int64.init(clamping:))
        let seconds = epoch ?? SystemCall.wallMicroseconds() / 1_000_000
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September",
            "October", "November", "December",
        ]
        // `Wed, 25 Nov 2026 14:43:21 GMT`
        let words = HTTPDate.text(seconds).split(separator: " ")
        guard words.count > 3, let day = NumberReader.unsigned(words[1]),
            let month = months.first(where: { $0.hasPrefix(words[2]) })
        else { return "January 1, 2026" }
        return "\(month) \(day), \(words[3])"
    }
}

/// A command as its help describes it.
private struct HelpedCommand {
    let names: [String]
    let abstract: String
    let discussion: String
    let arguments: [JSONValue]
    let subcommands: [HelpedCommand]

    /// Reads ArgumentParser's description; nil for a command that is not shown.
    init?(_ json: JSONValue, below parents: [String] = []) {
        guard let name = json["commandName"]?.string, json["shouldDisplay"]?.bool != false else {
            return nil
        }
        names = parents + [name]
        abstract = json["abstract"]?.string ?? name
        discussion = json["discussion"]?.string ?? ""
        arguments = (json["arguments"]?.list ?? []).filter { $0["shouldDisplay"]?.bool != false }
        let names = names
        subcommands = (json["subcommands"]?.list ?? []).compactMap {
            HelpedCommand($0, below: names)
        }
    }

    private var page: String { names.joined(separator: "-") }

    /// Its page, and those of its subcommands.
    func pages(_ date: String) -> [(file: String, source: ManSource)] {
        var source = ManSource(page, section: 1, date: date, about: abstract)
        source.header("SYNOPSIS")
        source.macro("Nm", names.joined(separator: " "))
        for argument in arguments { source.macro(synopsis(argument)) }
        if !subcommands.isEmpty {
            source.macro("Op", "Ar subcommand")
        }
        source.header("DESCRIPTION")
        source.discussion(discussion.isEmpty ? abstract : discussion)
        list("OPTIONS", arguments.map { (item($0), $0["abstract"]?.string ?? "") }, in: &source)
        list(
            "SUBCOMMANDS",
            subcommands.map { ("Sy \(ManSource.argument($0.names.last ?? ""))", $0.abstract) },
            in: &source
        )
        source.header("SEE ALSO")
        let others = names.count > 1 ? ["lupin"] : subcommands.map(\.page).sorted()
        for (index, other) in others.enumerated() {
            source.macro("Xr", other, "1", index + 1 < others.count ? "," : "")
        }
        return [(file: "\(page).1", source: source)] + subcommands.flatMap { $0.pages(date) }
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
    private func synopsis(_ argument: JSONValue) -> String {
        let text = item(argument) + (argument["isRepeating"]?.bool == true ? " ..." : "")
        return argument["isOptional"]?.bool == true ? "Op \(text)" : text
    }

    /// `Fl -rules Ar file`, `Ar host`.
    private func item(_ argument: JSONValue) -> String {
        let value = "Ar \(ManSource.argument(argument["valueName"]?.string ?? "value"))"
        guard let kind = argument["kind"]?.string, kind != "positional" else { return value }
        let names = (argument["names"]?.list ?? []).map { name in
            let dashes = name["kind"]?.string == "long" ? "-" : ""
            return "Fl \(dashes)\(ManSource.escaped(name["name"]?.string ?? ""))"
        }
        let flags = names.joined(separator: " , ")
        return kind == "option" ? "\(flags) \(value)" : flags
    }
}
