// `lupin exec` with stand-ins: the command never has the credential, the origin has nothing else.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ExecStandInTests {
    private static let secret = "r3al-credential-of-github"

    private let folder: Folder
    private let environment: [String: String]

    init() throws {
        folder = try Folder()
        environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path, "XDG_CONFIG_HOME": folder.path,
            "XDG_STATE_HOME": folder.path, "TMPDIR": folder.path, "MY_TOKEN": Self.secret,
            "OTHER": "x=\(Self.secret)", "GITHUB_TOKEN": Self.secret,
        ]
    }

    private func rules(_ more: String = "") throws -> String {
        try folder.write(
            "rules.yaml",
            """
            lupin: 1
            tokens: {github: {bearer: "${env:MY_TOKEN}", stand_in: "ghp_{36}"}}
            exec: {env: {GITHUB_TOKEN: github}}
            \(more)
            rules:
              - name: api
                match: {host: localhost}
                stand_ins: {tokens: [github], in: [fields, query]}
            """
        )
    }

    /// Runs a shell script under `lupin exec`; `$URL` is that of an origin that says what it got.
    private func run(
        _ script: String,
        options: [String] = [],
        _ more: String = ""
    ) async throws -> (result: Lupin.Result, received: String) {
        let origin = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                let said = request["authorization"] ?? "nothing"
                try connection.reply(200, "Content-Type: text/plain", body: "you said \(said)")
            }
        }
        defer { origin.stop() }
        let path = try rules(more)
        var environment = environment
        environment["URL"] = "http://\(origin.authority("localhost"))/"
        environment["IP"] = origin.url()
        let words = ["exec", "--rules", path, "--log", "\(folder.path)/log"] + options
        let (all, variables) = (words + ["--", "sh", "-c", script], environment)
        let result = try await ScriptThread.run { try Lupin.run(all, environment: variables) }
        return (result, origin.receivedText)
    }

    private var log: String {
        get throws { try String(contentsOfFile: "\(folder.path)/log", encoding: .utf8) }
    }

    @Test func `the command sees only the stand-in, the origin only the credential`() async throws {
        let script = """
            env; curl -sS -H "Authorization: token $GITHUB_TOKEN" "$URL?t=$GITHUB_TOKEN"
            """
        let (result, received) = try await run(script)
        #expect(result.code == 0, "\(result)")
        let line = try #require(
            result.output.split(separator: "\n").first { $0.hasPrefix("GITHUB_TOKEN=") }
        )
        let standIn = String(line.dropFirst("GITHUB_TOKEN=".count))
        #expect(standIn.wholeMatch(of: /ghp_[A-Za-z0-9]{36}/) != nil)
        // Not in what comes back, nor in a variable with whatever else it holds.
        #expect(!result.output.contains(Self.secret))
        #expect(!result.output.contains("OTHER="))
        #expect(!result.output.contains("MY_TOKEN="))
        let stars = String(repeating: "*", count: Self.secret.utf8.count)
        #expect(result.output.contains("you said token \(stars)"))
        #expect(received.contains("Authorization: token \(Self.secret)"))
        #expect(received.contains("?t=\(Self.secret)"))
        #expect(!received.contains(standIn))
        let log = try log
        #expect(log.contains(#""stand_ins":{"exchanged":["github"]}"#))
        #expect(!log.contains(standIn) && !log.contains(Self.secret))
        // The next run has another one.
        let (next, _) = try await run("echo $GITHUB_TOKEN")
        #expect(!next.output.contains(standIn))
        #expect(next.output.hasPrefix("ghp_"))
    }

    @Test func `elsewhere: refuse keeps it from other hosts`() async throws {
        let (result, received) = try await run(
            #"curl -sS --noproxy "" -H "X-Key: $GITHUB_TOKEN" "$IP""#,
            options: ["--all"],
            "stand_ins: {elsewhere: refuse}"
        )
        #expect(result.output.contains("stand-in for the token \"github\""), "\(result)")
        #expect(received.isEmpty)
    }

    @Test func `a tape has neither of the two`() async throws {
        let tape = "\(folder.path)/tape.har"
        let (result, received) = try await run(
            #"echo $GITHUB_TOKEN; curl -sS -H "X-Key: $GITHUB_TOKEN" "$URL?$GITHUB_TOKEN""#,
            options: ["--record", tape]
        )
        #expect(result.code == 0, "\(result)")
        #expect(received.contains(Self.secret))
        let standIn = try #require(result.output.split(separator: "\n").first)
        let text = try String(contentsOfFile: tape, encoding: .utf8)
        #expect(text.contains("you said"))
        #expect(!text.contains(standIn) && !text.contains(Self.secret))
    }

    @Test func `with a tape the command has the variables that it has without`() throws {
        let path = try rules()
        let tape = "\(folder.path)/tape.har"
        let recorded = "--record \(tape)", replayed = "--replay \(tape)"
        var names: [Set<Substring>] = []
        for options in ["", recorded, replayed] {
            let words = ["exec", "--rules", path] + options.split(separator: " ").map(String.init)
            let result = try Lupin.run(words + ["--", "env"], environment: environment)
            #expect(result.code == 0, "\(options): \(result.errors)")
            #expect(!result.output.contains(Self.secret), "\(options)")
            #expect(result.output.contains(/\nGITHUB_TOKEN=ghp_[A-Za-z0-9]{36}\n/), "\(options)")
            let lines = result.output.split(separator: "\n")
            names.append(Set(lines.map { $0.prefix { $0 != "=" } }))
        }
        #expect(names.allSatisfy { $0 == names[0] && !$0.contains("OTHER") })
    }

    @Test func `with a tape it goes by the rules of the lupin that runs, too`() throws {
        let path = try rules()
        let running = try RunningLupin(
            ["serve", "--rules", path, "--listen", "127.0.0.1:0"],
            environment: environment
        )
        var environment = environment
        environment["XDG_RUNTIME_DIR"] = running.runtime.path
        environment["XDG_CONFIG_HOME"] = running.runtime.path
        for options in [[], ["--record", "\(folder.path)/tape.har"]] {
            let words = ["exec"] + options + ["--", "env"]
            let result = try Lupin.run(words, environment: environment)
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output.contains(/\nGITHUB_TOKEN=ghp_[A-Za-z0-9]{36}\n/), "\(options)")
            #expect(!result.output.contains(Self.secret), "\(options)")
        }
    }

    @Test(arguments: [nil, ""])
    func `a tape is played where the secret is not there, with a stand-in too`(
        token: String?
    ) throws {
        let path = try rules()
        let tape = try folder.write(
            "tape.har",
            #"{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": []}}"#
        )
        var environment = environment
        environment["MY_TOKEN"] = token
        let words = ["exec", "--rules", path, "--replay", tape, "--", "sh", "-c"]
        let script = #"echo $GITHUB_TOKEN; curl -s -o /dev/null http://localhost/; echo $OTHER"#
        let result = try Lupin.run(words + [script], environment: environment)
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.hasPrefix("ghp_") && result.output.hasSuffix("x=\(Self.secret)\n"))
        #expect(result.errors == "lupin: 1 request was not on the tape \(tape)\n")
    }

    @Test func `another proxy is refused, since it does not know the stand-in`() throws {
        let path = try rules()
        try FileManager.default.createDirectory(
            atPath: "\(folder.path)/lupin",
            withIntermediateDirectories: true
        )
        try FileManager.default.copyItem(atPath: path, toPath: "\(folder.path)/lupin/lupin.yaml")
        let result = try Lupin.run(
            ["exec", "--proxy", "http://127.0.0.1:1", "--", "true"],
            environment: environment
        )
        #expect(result.code == 1)
        #expect(result.errors.contains("leave --proxy out"))
    }

    @Test func `explain says where the stand-in becomes the credential, and whose that is`() throws
    {
        let path = try rules()
        let words = ["explain", "--rules", path, "http://localhost:1/"]
        let result = try Lupin.run(words, environment: environment)
        let known = "the stand-in of lupin exec for token github becomes the credential"
        #expect(result.output.contains(known), "\(result)")
        #expect(result.output.contains("token github"))
        #expect(result.output.contains("access.credentials"))
        #expect(!result.output.contains(Self.secret))
    }
}
