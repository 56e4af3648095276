// `lupin doctor` with tools that behave as the test wants.
import Foundation
import Testing

@Suite(.waitsForPrograms)
struct DoctorCommandTests {
    /// Runs the doctor where PATH has nothing but these programs.
    private func run(
        _ programs: [String: String],
        _ arguments: [String]
    ) throws -> (code: Int32, output: String, leftovers: [String]) {
        let folder = try Folder()
        for name in ["bin", "tmp"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/\(name)",
                withIntermediateDirectories: false
            )
        }
        for (name, script) in programs {
            let path = try folder.write("bin/\(name)", "#!/bin/sh\n\(script)\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        }
        let process = Lupin.process(Lupin.path, ["doctor"] + arguments, in: nil)
        let output = Pipe()
        process.environment = [
            "PATH": "\(folder.path)/bin", "TMPDIR": "\(folder.path)/tmp",
            "XDG_CONFIG_HOME": "\(folder.path)/config",
        ]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: bytes, as: UTF8.self),
            try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/tmp")
        )
    }

    private let good = """
        [ "$1" = --version ] && echo tool 9.8.7 && exit
        [ "$http_proxy" ] && echo lupin-doctor-ok
        """

    @Test func `a tool that works is told with its version, and absent ones by name`() throws {
        let result = try run(["curl": good], [])
        #expect(result.code == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("curl  9.8.7    ok       ") })
        #expect(lines.contains { $0.hasPrefix("not found: wget, git, ") })
        #expect(result.leftovers == [])
    }

    /// Python and Node.js take modules from where they run.
    @Test func `tools run in an empty folder`() throws {
        let empty = "[ \"$(/bin/ls -A)\" ] && exit 1\n\(good)"
        #expect(try run(["curl": empty], ["curl"]).code == 0)
    }

    @Test func `what tools leave in their temporary folder is removed`() throws {
        let untidy = "[ -d \"$TMPDIR\" ] || exit 1; echo > \"$TMPDIR/org.chromium.$$\"\n\(good)"
        let result = try run(["curl": untidy, "chromium": untidy], ["curl", "chromium"])
        #expect(result.code == 0, "\(result.output)")
        #expect(result.leftovers == [])
    }

    @Test func `a tool that fails is told with its last words and what to do`() throws {
        let bad =
            "[ \"$1\" = --version ] && echo 1.2 && exit; echo no; echo no such host >&2; exit 6"
        let result = try run(["curl": bad, "wget": good], ["curl", "wget"])
        #expect(result.code == 1)
        #expect(result.output.contains("\n    plain: no such host\n    to mend it: take `proxy`"))
        #expect(result.output.contains("wget  9.8.7    ok"))
    }

    @Test func `programs get JSON`() throws {
        let result = try run(["curl": good], ["--json", "curl"])
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let report = try #require(json as? [String: Any])
        let findings = try #require(report["findings"] as? [[String: Any]])
        #expect(findings.first?["version"] as? String == "9.8.7")
        #expect((findings.first?["plain"] as? [String: String])?["kind"] == "ok")
    }

    @Test func `a tool that is not known ends with 64`() throws {
        #expect(try run([:], ["telnet"]).code == 64)
    }

    @Test func `a signal ends the test, the tool and its files`() throws {
        // The tool stops for good after it has asked for the end of its parent, the doctor.
        let stuck = """
            [ "$1" = --version ] && echo 1.2 && exit
            kill -TERM $PPID; kill -STOP $$
            """
        let result = try run(["curl": stuck], ["curl"])
        #expect(result.code == 143)
        #expect(result.output == "")
        #expect(result.leftovers == [])
    }
}
