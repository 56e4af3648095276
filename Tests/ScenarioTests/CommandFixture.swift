// A home and a search path of a test's own, with programs in it that only pretend.
import Foundation
import LupinTestKit

/// Where a command runs as if on somebody's machine.
final class CommandFixture {
    let folder: Folder
    /// The user's home.
    let home: String
    /// A mounted image.
    let image: String
    /// The whole PATH, but for the shell's own tools behind it.
    let programs: String

    init() throws {
        folder = try Folder()
        home = "\(folder.path)/home"
        image = "\(folder.path)/image"
        programs = "\(folder.path)/programs"
        for path in [home, image, programs] { try makeFolder(path) }
    }

    func run(_ arguments: String...) throws -> Lupin.Result {
        try Lupin.run(
            arguments,
            environment: [
                "HOME": home, "XDG_CONFIG_HOME": "\(home)/.config", "TMPDIR": folder.path,
                "PATH": "\(programs):/usr/bin:/bin",
            ]
        )
    }

    /// The same where no program is installed.
    func runAlone(_ arguments: String...) throws -> Lupin.Result {
        try Lupin.run(
            arguments,
            environment: [
                "HOME": home, "XDG_CONFIG_HOME": "\(home)/.config", "TMPDIR": folder.path,
                "PATH": programs,
            ]
        )
    }

    func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
    }

    /// Puts a shell script in the search path; `$place` is the folder of the test.
    func install(_ program: String, _ script: String) throws {
        let text = "#!/bin/sh\nplace='\(folder.path)'\n\(script)\n"
        let file = "\(programs)/\(program)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    }

    func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// What a file holds; nil if there is none.
    func content(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    func names(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? []
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }
}

extension Lupin {
    static func run(
        _ arguments: [String],
        environment: [String: String],
        in folder: String? = nil
    ) throws -> Result {
        let process = process(path, arguments, in: folder)
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let texts = [output, errors].map {
            String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        process.waitUntilExit()
        return Result(code: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}
