// `lupin-man`, which runs when a package is made and is in none: writes the man pages of lupin.
import Glibc
import LupinCore
import LupinIO

/// lupin(1) and a page for each subcommand come from the help that the program prints, the others,
/// in section 7, from the pages of the manual.
@main
struct LupinMan {
    private let program: String
    private let manual: String
    private let folder: String
    private let date: String

    static func main() {
        let arguments = ProcessArguments.all.dropFirst()
        do throws(ManProblem) {
            guard arguments.count == 3 else {
                throw ManProblem("usage: lupin-man PROGRAM MANUAL FOLDER")
            }
            try LupinMan(arguments).write()
        } catch {
            if var file = try? AppendFile(.standardError) {
                _ = file.write(Array("lupin-man: \(error.sentence)\n".utf8).span) { false }
            }
            exit(1)
        }
    }

    private init(_ arguments: ArraySlice<String>) {
        program = arguments[arguments.startIndex]
        manual = arguments[arguments.startIndex + 1]
        folder = arguments[arguments.startIndex + 2]
        let epoch = ProcessOwner.environment["SOURCE_DATE_EPOCH"].flatMap {
            NumberReader.unsigned($0, max: 1 << 40)
        }.map(Int64.init(clamping:))
        date = ManSource.date(epoch ?? SystemCall.wallMicroseconds() / 1_000_000)
    }

    private func write() throws(ManProblem) {
        var commands = [[String]()]
        while let names = commands.popLast() {
            let help = try CommandHelp(names, text: helpText(names))
            commands += help.subcommands.map { names + [$0.name] }
            try write(help.source(date), to: "\(help.page).1")
        }
        for file in PublicFile.names(in: manual) where file.hasSuffix(".md") {
            let bytes: [UInt8]
            do throws(SystemError) {
                bytes = try FileContent(path: "\(manual)/\(file)", bytesMax: 1 << 20).bytes
            } catch {
                throw ManProblem("cannot read \(manual)/\(file): \(error.message)")
            }
            let name = "lupin-\(file.dropLast(3))"
            let text = String(decoding: bytes, as: UTF8.self)
            try write(ManSource(manual: name, text, date: date), to: "\(name).7")
        }
    }

    /// What the program says of a command, on lines of any length.
    private func helpText(_ names: [String]) throws(ManProblem) -> String {
        let environment = ProcessOwner.environment.merging(["COLUMNS": "100000"]) { $1 }
        let result: CommandRun.Outcome
        do throws(SystemError) {
            result = try CommandRun(environment: environment).run(program, names + ["--help"])
        } catch {
            throw ManProblem("cannot run \(program): \(error.message)")
        }
        guard result.hasSucceeded else {
            throw ManProblem("\(program) has no help of \"\(names.joined(separator: " "))\"")
        }
        return result.output
    }

    private func write(_ source: ManSource, to name: String) throws(ManProblem) {
        do throws(SystemError) {
            try WholeFile.write(Array(source.text.utf8), to: "\(folder)/\(name)")
        } catch {
            throw ManProblem("cannot write \(folder)/\(name): \(error.message)")
        }
    }
}

/// Why there are no man pages.
struct ManProblem: Error {
    let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
}
