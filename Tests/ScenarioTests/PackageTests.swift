// What a package installs besides the program: units, man pages, completions, scripts.
import Foundation
import Testing

@Suite(.waitsForPrograms)
struct PackageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }

    /// The first of these programs that is on this machine.
    private static func program(_ names: String...) -> String? {
        names.flatMap { ["/usr/bin/\($0)", "/bin/\($0)"] }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Lines `Key=value` of a section.
    private static func options(_ unit: String, in section: String) throws -> [String] {
        var isInside = false
        return try text("config/systemd/\(unit)").split(separator: "\n").map(String.init).filter {
            if $0.hasPrefix("[") { isInside = $0 == "[\(section)]" }
            return isInside && !$0.hasPrefix("[") && !$0.hasPrefix("#")
        }
    }

    // MARK: Units

    @Test func `the system unit does all that the user unit does`() throws {
        let system = Set(try Self.options("system/lupin.service", in: "Service"))
        let user = try Self.options("user/lupin.service", in: "Service").map {
            $0.replacingOccurrences(of: "%E/", with: "/etc/")
        }
        #expect(user.count > 15)
        for option in user { #expect(system.contains(option)) }
    }

    @Test func `both socket units listen where the package's rules file does`() throws {
        let rules = try Self.text("config/package/lupin.yaml")
        let system = try Self.options("system/lupin.socket", in: "Socket")
        #expect(system == (try Self.options("user/lupin.socket", in: "Socket")))
        let stream = try #require(system.first { $0.hasPrefix("ListenStream=") })
        #expect(rules.contains("- address: \(stream.dropFirst(13))\n"))
        #expect(rules.contains("socket: /run/lupin/lupin.sock\n"))
        let checked = try Lupin.run("check", "--trusted", "\(Self.root)/config/package/lupin.yaml")
        #expect(checked.code == 0)
        #expect(checked.errors == "")
    }

    @Test(.enabled(if: program("systemd-analyze") != nil))
    func `the system unit is exposed to little`() throws {
        let analyze = try #require(Self.program("systemd-analyze"))
        let unit = "\(Self.root)/config/systemd/system/lupin.service"
        let result = try Lupin.run(
            program: analyze,
            ["security", "--offline=true", "--threshold=20", "--no-pager", unit]
        )
        #expect(result.code == 0, "\(result.output.suffix(80))")
    }

    @Test(arguments: ["postinst", "prerm", "postrm"])
    func `the scripts of the package are good shell`(name: String) throws {
        let path = "\(Self.root)/config/package/\(name)"
        #expect(FileManager.default.isExecutableFile(atPath: path))
        let result = try Lupin.run(program: "/bin/sh", ["-n", path])
        #expect(result == Lupin.Result(code: 0, output: "", errors: ""))
    }

    // MARK: Man pages

    /// The program that makes man pages lies beside lupin.
    private static let manProgram = "\(Lupin.path)-man"

    private static func manArguments(_ folder: Folder) -> [String] {
        [Lupin.path, "\(root)/Sources/lupin/lupin.docc", folder.path]
    }

    @Test func `every command and every page of the manual has a man page`() throws {
        let folder = try Folder()
        let result = try Lupin.run(program: Self.manProgram, Self.manArguments(folder))
        #expect(result == Lupin.Result(code: 0, output: "", errors: ""))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        for name in ["lupin.1", "lupin-serve.1", "lupin-ca-install.1", "lupin-service.7"] {
            #expect(files.contains(name))
        }
        for hidden in ["confined", "apart"] {
            #expect(!files.contains { $0.contains(hidden) })
        }
        let serve = try String(contentsOfFile: "\(folder.path)/lupin-serve.1", encoding: .utf8)
        #expect(serve.contains("\n.Op Fl -rules Ar file\n"))
        #expect(serve.contains("\n.Op Fl -listen Ar address:port ...\n"))
        #expect(serve.contains("\n.It Fl -check-config\nCheck the rules file as"))
        let log = try String(contentsOfFile: "\(folder.path)/lupin-log.1", encoding: .utf8)
        #expect(log.contains("\n.Op Ar filter ...\n.Sh DESCRIPTION\n"))
        #expect(log.contains("\n.It Fl f , Fl -follow\nWait for more, "))
        #expect(log.contains("\n.It Fl n Ar count\nHow many of the last"))
        let explain = try String(contentsOfFile: "\(folder.path)/lupin-explain.1", encoding: .utf8)
        // The text of an item whose head is long stands on the next line of the help.
        #expect(explain.contains("\n.It Fl H , Fl -header Ar name: value\nA field of the request"))
        #expect(explain.contains("\n.Ar \\&url ...\n"))
        guard let mandoc = Self.program("mandoc") else { return }
        let lint = try Lupin.run(
            program: mandoc,
            ["-T", "lint"] + files.map { "\(folder.path)/\($0)" }
        )
        // Pages that refer to each other are not installed here.
        let findings = lint.output.split(separator: "\n").filter {
            !$0.contains("referenced manual not found")
        }
        #expect(findings == [])
    }

    @Test func `the date of man pages can be set`() throws {
        let folder = try Folder()
        let process = Lupin.process(Self.manProgram, Self.manArguments(folder), in: nil)
        process.environment?["SOURCE_DATE_EPOCH"] = "1700000000"
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOfFile: "\(folder.path)/lupin.1", encoding: .utf8)
        #expect(text.hasPrefix(".Dd November 14, 2023\n.Dt LUPIN 1\n"))
    }

    @Test func `no man page is made of a program that has no help`() throws {
        let folder = try Folder()
        let arguments = ["/bin/true", "\(Self.root)/Sources/lupin/lupin.docc", folder.path]
        let result = try Lupin.run(program: Self.manProgram, arguments)
        #expect(result.code == 1)
        #expect(result.errors == "lupin-man: cannot read the help of lupin\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    // MARK: Completions

    @Test(.enabled(if: program("bash") != nil))
    func `bash completes commands and options`() throws {
        let words = try complete(
            """
            COMP_WORDS=(lupin se); COMP_CWORD=1; COMP_LINE='lupin se'; COMP_POINT=8
            _lupin lupin se lupin; printf '%s\\n' "${COMPREPLY[@]}"
            COMP_WORDS=(lupin serve --ru); COMP_CWORD=2; COMP_LINE='lupin serve --ru'; COMP_POINT=16
            COMPREPLY=(); _lupin lupin --ru serve; printf '%s\\n' "${COMPREPLY[@]}"
            """,
            in: "bash"
        )
        #expect(words.contains("serve"))
        #expect(words.contains("--rules"))
    }

    @Test(.enabled(if: program("fish") != nil))
    func `fish completes commands and options`() throws {
        let words = try complete(
            "complete -C 'lupin se'; complete -C 'lupin serve --ru'",
            in: "fish"
        )
        #expect(words.contains("serve"))
        #expect(words.contains("--rules"))
    }

    @Test(.enabled(if: program("zsh") != nil))
    func `zsh takes the completions`() throws {
        let words = try complete("print -- ${+functions[_lupin]}", in: "zsh")
        #expect(words == ["1"])
    }

    /// Runs a script in a shell that has read the completions; returns the words at the beginnings
    /// of the lines that it prints.
    private func complete(_ script: String, in shell: String) throws -> [String] {
        let folder = try Folder()
        let made = try Lupin.run("--generate-completion-script", shell)
        #expect(made.code == 0)
        let before = shell == "zsh" ? "autoload -Uz compinit; compinit -D\n" : ""
        let file = try folder.write("completions", before + made.output + "\n" + script + "\n")
        let process = Lupin.process(try #require(Self.program(shell)), [file], in: nil)
        let folderOfProgram = URL(fileURLWithPath: Lupin.path).deletingLastPathComponent().path
        process.environment?["PATH"] = "\(folderOfProgram):/usr/bin:/bin"
        process.environment?["HOME"] = folder.path
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap {
            $0.split(whereSeparator: \.isWhitespace).first.map(String.init)
        }
    }
}
