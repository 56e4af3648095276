// That a confined command sees and changes only what it was given, whatever comes to be outside.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(
        if: ConfinedFixture.isPossible && SmallInternet.has(SmallInternet.python),
        "this machine gives users no namespaces, or has no Python"
    )
)
struct ViewAttackTests {
    fileprivate static let secret = "planted-s3cret-value"

    /// A home, a working folder in it, and the files of another lupin that runs.
    private struct Surroundings {
        let base: Folder
        let path: String
        var home: String { "\(path)/home" }
        var work: String { "\(home)/work" }
        var other: String { "\(path)/other" }

        init() throws {
            base = try Folder()
            path = try #require(PublicFile.target(of: base.path))
            let secrets =
                [
                    ".ssh/id", ".npmrc", ".netrc", ".git-credentials", ".aws/credentials",
                    ".config/gh/hosts.yml", ".gnupg/key", ".docker/config.json", ".kube/config",
                    ".mozilla/profile", ".cargo/credentials.toml", ".m2/settings.xml", ".pypirc",
                    ".local/share/keyrings/login", ".config/git/credentials", ".unheard-of/file",
                    ".cache/mozilla/page", "kept/by-hide", "dotfiles/npmrc", "work/token",
                    ".gradle/develocity/keys.properties", ".opam/plugins/opam-publish/me.token",
                    ".cache/ms-playwright/mcp-chrome-profile/Default/Cookies",
                    ".cache/pre-commit/repo1/.git/config", ".cargo/unheard-of",
                    "snap/firefox/common/.mozilla/logins.json", "miniconda3/.condarc",
                ].map { "home/\($0)" }
                + ["token", "jar.txt", "log", "log.1", "store", "capture/1", "cache/1"].map {
                    "other/\($0)"
                }
            for name in secrets { try write(name, ViewAttackTests.secret + "\n") }
            for name in [
                ".vimrc", ".gitconfig", "docs/text", ".cache/pip/x", ".npm/x", ".cargo/x",
            ] {
                try write("home/\(name)", "text\n")
            }
            try FileManager.default.removeItem(atPath: "\(home)/.npmrc")
            try FileManager.default.createSymbolicLink(
                atPath: "\(home)/.npmrc",
                withDestinationPath: "dotfiles/npmrc"
            )
            try write(
                "other/rules.yaml",
                """
                lupin: 1
                listen: [{address: "127.0.0.1:0"}]
                admin: {socket: \(other)/admin.sock}
                log: {to: \(other)/log}
                intercept: {mode: all, ca: {cert: \(other)/ca.pem, key: \(other)/ca.key}}
                capture: {path: \(other)/capture}
                cache: {store: {path: \(other)/cache}}
                tokens:
                  api: {bearer: "${file:\(other)/token}"}
                  grant:
                    oauth2: {grant: refresh_token, url: "https://id.test/", client: {id: a},
                      refresh_token: "${file:\(other)/token}", store: \(other)/store}
                rules:
                  # \(ViewAttackTests.secret)
                  - {match: "https://api.test/", request: [{auth: api}]}
                  - {match: "https://id.test/x", request: [{auth: grant}]}
                  - {match: "https://jar.test/", cookies: {jar: \(other)/jar.txt}}

                """
            )
            try write(
                "home/work/lupin.yaml",
                """
                lupin: 1
                tokens:
                  api: {bearer: "${file:\(work)/token}"}
                # \(ViewAttackTests.secret)
                rules: [{match: "https://api.test/", request: [{auth: api}]}]

                """
            )
        }

        func write(_ name: String, _ text: String) throws {
            let file = "\(path)/\(name)"
            try WholeFile.makeDirectories(
                URL(fileURLWithPath: file).deletingLastPathComponent().path
            )
            try WholeFile.write(Array(text.utf8), to: file)
        }

        func confined(_ options: [String], _ words: [String]) -> ChildProgram {
            let common = [
                "exec", "--confine", "--rules", "\(work)/lupin.yaml", "--log", "\(work)/log",
                "--show", path, "--hide", "\(home)/kept",
            ]
            let process = Lupin.process(Lupin.path, common + options + ["--"] + words, in: work)
            process.environment?["HOME"] = home
            process.environment?["XDG_CONFIG_HOME"] = "\(home)/.config"
            process.environment?["XDG_STATE_HOME"] = "\(home)/.local/state"
            return process
        }
    }

    @Test func `an adversary reads, changes and reaches nothing that it was not given`() throws {
        let fixture = try Surroundings()
        let running = try RunningLupin("serve", "--rules", "\(fixture.other)/rules.yaml")
        let doors = try ["outside.sock", "home/docs/door.sock", "home/work/door.sock"].map {
            try LocalDoor("\(fixture.path)/\($0)")
        }
        // As another lupin's, in the temporary folder that both have.
        let wrappers = try PrivateFolder(in: "/tmp")
        let wrapper = "\(wrappers.path)/node-proxy.cjs"
        try WholeFile.write(Array("// \(Self.secret)".utf8), to: wrapper)
        let facts: [String: Any] = [
            "base": fixture.path, "home": fixture.home, "secret": Self.secret,
            "wrappers": [wrapper],
            "sockets": doors.map(\.path) + ["\(fixture.other)/admin.sock"],
            "later": ["\(fixture.path)/outside.sock", "\(fixture.other)/later.sock"],
        ]
        let json = String(
            decoding: try JSONSerialization.data(withJSONObject: facts),
            as: UTF8.self
        )
        let process = fixture.confined(
            [],
            [SmallInternet.python, "-c", ViewAdversary.script, json]
        )
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var lines = Self.lines(output, until: "ready")
        // As lupin does it: a new file in the place of the old one.
        for name in ["store", "store.new", "jar.txt", "token", "rules.yaml", "log.2"] {
            try fixture.write("other/\(name)", Self.secret)
        }
        try FileManager.default.moveItem(
            atPath: "\(fixture.other)/log",
            toPath: "\(fixture.other)/log.3"
        )
        for name in ["other/log", "home/.later", "home/later"] {
            try fixture.write(name, Self.secret)
        }
        doors[0].remove()
        let later = try ["outside.sock", "other/later.sock"].map {
            try LocalDoor("\(fixture.path)/\($0)")
        }
        input.fileHandleForWriting.write(Data("go\n".utf8))
        lines += Self.lines(output, until: nil)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(lines.count >= 190, "\(lines.count) attempts: \(lines.suffix(3))")
        // New names in a home that is read-only are seen like old ones, unless they have a dot.
        #expect(lines.filter { !$0.hasPrefix("kept ") } == [])
        for path in [
            "/tmp/planted", "\(fixture.home)/.cache/pip/planted", "\(fixture.home)/.npm/planted",
        ] {
            #expect(!FileManager.default.fileExists(atPath: path), "\(path)")
        }
        withExtendedLifetime((running, later, wrappers.path)) {}
    }

    private static func lines(_ pipe: Pipe, until last: String?) -> [String] {
        var (lines, line): ([String], [UInt8]) = ([], [])
        while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first {
            guard byte == 0x0A else {
                line.append(byte)
                continue
            }
            let text = String(decoding: line, as: UTF8.self)
            if text == last { break }
            lines.append(text)
            line = []
        }
        return lines
    }
}
