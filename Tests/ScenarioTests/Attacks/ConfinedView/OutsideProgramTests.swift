// What lupin runs, serves and writes outside is nothing that a confined command put there.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct OutsideProgramTests {
    /// A working folder, and beside it the rules; `WORK` in them is the folder.
    private struct Fixture {
        let base: Folder
        let path: String
        var work: String { "\(path)/given" }

        init(_ rules: String) throws {
            base = try Folder()
            path = try #require(PublicFile.target(of: base.path))
            try WholeFile.makeDirectories("\(path)/given/mock")
            try WholeFile.makeDirectories("\(path)/own/.ssh")
            try WholeFile.write(Array("hidden\n".utf8), to: "\(path)/own/.ssh/id")
            try WholeFile.write(Array("shown\n".utf8), to: "\(path)/given/mock/id")
            let text = "lupin: 1\nintercept: {mode: none}\n\(rules)\n"
                .replacing("WORK", with: work)
            try WholeFile.write(Array(text.utf8), to: "\(path)/rules.yaml")
        }

        func confined(
            _ script: String,
            _ options: String...,
            search: String = "/usr/bin:/bin"
        ) throws -> Lupin.Result {
            let rules = ["exec", "--confine", "--rules", "\(path)/rules.yaml"]
            return try Lupin.run(
                rules + ["--log", "/dev/null"] + options + ["--", "sh", "-c", script],
                environment: ["HOME": "\(path)/own", "PATH": search, "TMPDIR": "/tmp"],
                in: work
            )
        }
    }

    @Test(arguments: [
        "WORK/tok", "[WORK/tok]", "[sh, WORK/tok]", "[sh, --file=WORK/tok]", "[own-tok]",
    ])
    func `a token command that it could change is refused`(command: String) throws {
        let fixture = try Fixture("tokens: {t: {command: \(command)}}")
        try WholeFile.write(
            Array("#!/bin/sh\n".utf8),
            to: "\(fixture.work)/tok",
            isExecutable: true
        )
        try WholeFile.write(
            Array("#!/bin/sh\n".utf8),
            to: "\(fixture.work)/own-tok",
            isExecutable: true
        )
        let result = try fixture.confined("echo begun", search: "\(fixture.work):/usr/bin:/bin")
        #expect(result.code == 126 && result.output == "")
        #expect(result.errors.contains("token command"), "\(result.errors)")
    }

    @Test func `a token command has no folder or variable that leads there`() throws {
        let origin = "127.0.0.1:9"
        let fixture = try Fixture(
            """
            tokens:
              t: {command: [sh, -c, 'pwd >"$0"; echo "$PATH $PWD" >>"$0"; echo x', ROOT/said]}
            access: {deny_targets: []}
            rules: [{match: "http://\(origin)", request: [{auth: t}]}]
            """
        )
        let rules = "\(fixture.path)/rules.yaml"
        let text = try String(contentsOfFile: rules, encoding: .utf8)
            .replacing("ROOT", with: fixture.path)
        try WholeFile.write(Array(text.utf8), to: rules)
        let ask = "curl -s -o /dev/null --noproxy '' http://\(origin)/; echo done"
        let result = try fixture.confined(ask, search: "\(fixture.work):/usr/bin:/bin")
        #expect(result.output == "done\n", "\(result.errors)")
        let said = WholeFile.content(of: "\(fixture.path)/said") ?? []
        #expect(String(decoding: said, as: UTF8.self) == "/\n/usr/bin:/bin /\n")
    }

    @Test func `what a rule attaches is masked, with a stand-in or without`() async throws {
        let origin = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                try connection.reply(200, body: "got \(request["authorization"] ?? "nothing")")
            }
        }
        defer { origin.stop() }
        let fixture = try Fixture(
            """
            tokens: {t: {bearer: "a-planted-secret"}}
            access: {deny_targets: []}
            rules: [{match: "http://\(origin.authority)", request: [{auth: t}]}]
            """
        )
        let result = try fixture.confined("curl -s --noproxy '' http://\(origin.authority)/")
        #expect(result.output == "got Bearer ****************", "\(result.errors)")
    }

    @Test func `a token command beside its rules runs wherever they are named from`() throws {
        let fixture = try Fixture(
            """
            tokens: {t: {command: [./tok.sh]}}
            access: {deny_targets: []}
            rules: [{match: "http://127.0.0.1:9", request: [{auth: t}]}]
            """
        )
        let file = "\(fixture.path)/tok.sh"
        let script = "#!/bin/sh\necho run >\(fixture.path)/said; echo x\n"
        try WholeFile.write(Array(script.utf8), to: file, isExecutable: true)
        let result = try Lupin.run(
            ["exec", "--confine", "--rules", "../rules.yaml", "--log", "/dev/null", "--"]
                + ["curl", "-s", "--noproxy", "", "http://127.0.0.1:9/"],
            environment: [
                "HOME": "\(fixture.path)/own", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp",
            ],
            in: fixture.work
        )
        #expect(PublicFile.exists("\(fixture.path)/said"), "\(result.output) \(result.errors)")
    }

    /// Whoever names it: a shell, an option, a variable, a script or the first line of one.
    @Test(arguments: [
        "[sh, -c, '. WORK/tok']", "[make, -s, '-CWORK', -f, tok]", "[ROOT/wrap]", "[ROOT/shebang]",
        "[bash, -c, ':'], env: {BASH_ENV: WORK/tok}", "[sh, -c, 'cat WORK/link']",
    ])
    func `a token command sees nothing of what the command writes`(command: String) throws {
        let fixture = try Fixture("")
        let rules = """
            lupin: 1
            tokens: {t: {command: \(command)}}
            access: {deny_targets: []}
            rules: [{match: "http://127.0.0.1:9", request: [{auth: t}]}]
            """
            .replacing("WORK", with: fixture.work).replacing("ROOT", with: fixture.path)
        try WholeFile.write(Array(rules.utf8), to: "\(fixture.path)/rules.yaml")
        let first = "#!\(fixture.work)/tok\n"
        for (name, text) in [("wrap", "#!/bin/sh\n\(fixture.work)/tok\n"), ("shebang", first)] {
            let file = "\(fixture.path)/\(name)"
            try WholeFile.write(Array(text.utf8), to: file, isExecutable: true)
        }
        let script = """
            printf '#!/bin/sh\\necho run >\(fixture.path)/escaped\\necho x\\n' >tok; chmod +x tok
            ln -s \(fixture.path)/own/.ssh/id link
            curl -s --noproxy '' http://127.0.0.1:9/
            """
        let result = try fixture.confined(script)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.contains("credential"), "\(result.output)")
        #expect(!PublicFile.exists("\(fixture.path)/escaped"))
        #expect(!result.errors.contains("can't be confined"), "\(result.errors)")
    }

    @Test(arguments: ["folder: WORK/mock", "file: WORK/mock/id", "folder: WORK/mock/deeper"])
    func `a link that an earlier command left is not served by`(content: String) throws {
        let fixture = try Fixture("rules: [{match: a.test, respond: {\(content)}}]")
        #expect(try fixture.confined("mv mock old; ln -s ../own/.ssh mock").code == 0)
        let result = try fixture.confined("echo begun")
        #expect(result.code == 126 && result.output == "")
        #expect(result.errors.contains("is a link in a folder"), "\(result.errors)")
    }

    @Test func `a tape is not written through a link that an earlier command left`() throws {
        let fixture = try Fixture("")
        #expect(try fixture.confined("rm -r mock; ln -s ../own/.ssh mock").code == 0)
        let result = try fixture.confined("echo begun", "--record", "mock/tape.har")
        #expect(result.code == 126 && result.output == "")
        #expect(PublicFile.names(in: "\(fixture.path)/own/.ssh") == ["id"])
    }

    @Test(arguments: ["folder: WORK/mock", "file: WORK/mock/id"])
    func `what a running lupin serves from the folder can't be replaced`(
        content: String
    ) throws {
        let fixture = try Fixture("")
        let rules = """
            lupin: 1
            listen: [{address: "127.0.0.1:0"}]
            rules: [{match: a.test, respond: {\(content)}}]
            """
        let file = "\(fixture.path)/serve.yaml"
        try WholeFile.write(Array(rules.replacing("WORK", with: fixture.work).utf8), to: file)
        let running = try RunningLupin("serve", "--rules", file)
        let result = try fixture.confined("echo begun")
        #expect(result.code == 126 && result.output == "")
        #expect(result.errors.contains("/given/mock"), "\(result.errors)")
        withExtendedLifetime(running) {}
    }

    @Test func `files for programs of an unconfined command lie among lupin's own`() throws {
        let fixture = try Fixture("")
        let result = try Lupin.run(
            ["exec", "--log", "/dev/null", "--", "sh", "-c", "echo $NODE_OPTIONS; ls $TMPDIR"],
            environment: [
                "HOME": "\(fixture.path)/own", "PATH": "/usr/bin:/bin", "TMPDIR": fixture.work,
            ],
            in: fixture.work
        )
        #expect(result.output.contains("\(fixture.path)/own/.local/state/lupin/run/lupin-"))
        #expect(result.output.hasSuffix("\nmock\n"), "\(result.output)")
    }
}
