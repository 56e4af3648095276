// That a confined command reaches its proxy and nothing else, and is otherwise like any command.
import Foundation
import LupinConfinement
import LupinCore
import LupinIO
import LupinTestKit
import Testing

/// Whether this machine lets commands be confined.
enum ConfinedFixture {
    static let isPossible: Bool = {
        let folder = try? Folder()
        let rules = "\(folder?.path ?? "")/none.yaml"
        let isWritten = FileManager.default.createFile(
            atPath: rules,
            contents: Data("lupin: 1\n".utf8)
        )
        guard let folder, isWritten else { return false }
        let arguments = ["exec", "--confine", "--rules", rules, "--log", "\(folder.path)/log"]
        return (try? Lupin.run(arguments + ["--", "true"]))?.code == 0
    }()
}

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct ConfinementTests {
    /// A folder with rules that allow two hosts, and a secret.
    ///
    /// `port` is that of the origin of the second host.
    private func fixture(port: UInt16 = 1) throws -> Folder {
        let folder = try Folder()
        let files = [
            "token": "planted-s3cret-value\n",
            "lupin.yaml": """
            lupin: 1
            admin: {socket: DIR/admin.sock}
            intercept: {ca: {cert: DIR/ca.pem, key: DIR/ca.key}}
            tokens:
              api: {bearer: "${file:DIR/token}"}
            # planted-s3cret-value
            rules:
              - name: allowed
                match: {host: allowed.test}
                stop: true
                respond: {status: 200, body: "yes"}
              - name: redirects
                match: {host: redirects.test}
                request: [{url: {host: 127.0.0.1, port: \(port)}}]
                redirect: {follow: true}
                stop: true
              - {name: api, match: "https://api.test/", request: [{auth: api}]}
              - {name: deny, match: {}, respond: {status: 403}}

            """,
            "log": "planted-s3cret-value\n",
        ]
        for (name, text) in files {
            let text = text.replacingOccurrences(of: "DIR", with: folder.path)
            _ = FileManager.default.createFile(
                atPath: "\(folder.path)/\(name)",
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        }
        return folder
    }

    private func confined(
        _ words: [String],
        in folder: Folder,
        options: [String] = []
    ) throws -> Lupin.Result {
        let rules = ["--rules", "\(folder.path)/lupin.yaml", "--log", "\(folder.path)/log"]
        let all = ["exec", "--confine"] + rules + options
        return try Lupin.run(all + ["--"] + words, in: folder.path)
    }

    private static let python = "/usr/bin/python3"

    private static func has(_ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: program)
    }

    @Test(.enabled(if: has(python)), arguments: [[], ["--no-redirect"]])
    func `an adversary gets no byte out and no secret in`(_ options: [String]) throws {
        // Redirects to what its query says.
        let origin = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                let target = request.target.split(separator: "?", maxSplits: 1).last ?? ""
                try connection.reply(302, "Location: \(target)")
            }
        }
        defer { origin.stop() }
        let folder = try fixture(port: origin.address.port)
        let outside = try PlainListener()
        let abstract = "lupin-test-\(getpid())"
        let facts: [String: Any] = [
            "port": Int(outside.address.port), "folder": folder.path, "abstract": abstract,
            "secret": "planted-s3cret-value", "admin": "\(folder.path)/admin.sock",
        ]
        let json = try JSONSerialization.data(withJSONObject: facts)
        let result = try confined(
            [Self.python, "-c", Adversary.script, String(decoding: json, as: UTF8.self)],
            in: folder,
            options: options
        )
        let lines = result.output.split(separator: "\n")
        #expect(result.code == 0, "\(result.errors)")
        #expect(lines.count >= 145, "\(lines.count) attempts: \(result.errors)")
        #expect(lines.filter { !$0.hasPrefix("kept ") } == [])
        #expect(!outside.hasWaiting)
        #expect(origin.receivedText.contains("/latest/"))
        let rules = try String(contentsOfFile: "\(folder.path)/lupin.yaml", encoding: .utf8)
        #expect(rules.contains("planted-s3cret-value"))
    }

    @Test(.enabled(if: has("/usr/bin/curl")))
    func `the proxy is reached, as by any command`() throws {
        let folder = try fixture()
        let script = "curl -sS http://allowed.test/; curl -sS http://other.test/"
        let result = try confined(["sh", "-c", script], in: folder)
        #expect(result.output.hasPrefix("yesanswered by the rule \"deny\""), "\(result.errors)")
        let log = try String(contentsOfFile: "\(folder.path)/log", encoding: .utf8)
        #expect(log.contains("allowed.test") && log.contains("other.test"))
    }

    @Test func `exit codes, streams, variables and the working folder are as without`() throws {
        let folder = try fixture()
        let script = "pwd; echo $0; echo problem >&2; exit 7"
        let result = try confined(["sh", "-c", script, "word"], in: folder)
        #expect(result.code == 7)
        #expect(result.output == "\(folder.path)\nword\n")
        // Behind it, lupin says which settings the command did not see.
        #expect(result.errors.contains("problem\n"))
        #expect(try confined(["sh", "-c", "kill -KILL $$"], in: folder).code == 128 + SIGKILL)
        #expect(try confined(["/nonexistent/program"], in: folder).code == 127)
        #expect(try confined([folder.path], in: folder).code == 126)
    }

    @Test func `a tape in the home is absent, be it recorded or replayed`() throws {
        let home = try fixture()
        let (work, tape) = ("\(home.path)/work", "\(home.path)/tape.har")
        try WholeFile.makeDirectories(work)
        for option in ["--record", "--record", "--replay"] {
            let words = ["exec", "--confine", "--rules", "\(home.path)/lupin.yaml", option, tape]
            let result = try Lupin.run(
                words + ["--log", "/dev/null", "--", "test", "-e", tape],
                environment: ["PATH": "/usr/bin:/bin", "API": "planted", "HOME": home.path],
                in: work
            )
            #expect(result.code == 1, "\(option): \(result.errors)")
        }
        #expect(WholeFile.content(of: tape) != nil)
    }

    @Test func `no variable holds a secret, with a tape neither`() throws {
        let folder = try fixture()
        let tape = "\(folder.path)/tape.har"
        for options in [[], ["--record", tape], ["--replay", tape]] {
            let words = ["exec", "--confine", "--rules", "\(folder.path)/lupin.yaml"] + options
            let result = try Lupin.run(
                words + ["--log", "\(folder.path)/log", "--", "env"],
                environment: [
                    "PATH": "/usr/bin:/bin", "API": "planted-s3cret-value", "HERE": folder.path,
                ]
            )
            #expect(result.code == 0, "\(result.errors)")
            #expect(!result.output.contains("planted-s3cret-value"), "\(options)")
            #expect(result.output.contains("HERE=\(folder.path)\n"))
        }
    }

    @Test(.enabled(if: has(python) && has("/usr/bin/curl")))
    func `its own servers are reached, and what it leaves behind ends with it`() throws {
        let folder = try fixture()
        let script = """
            \(Self.python) -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &
            for i in 1 2 3 4 5 6 7 8 9 10; do
              curl -sf -o /dev/null http://127.0.0.1:8000/ && echo reached && break; sleep 0.2
            done
            """
        #expect(try confined(["sh", "-c", script], in: folder).output == "reached\n")
    }

    @Test func `a device is not hidden, though the log goes there`() throws {
        let folder = try fixture()
        let rules = ["--rules", "\(folder.path)/lupin.yaml", "--log", "/dev/null"]
        let script = "echo x > /dev/null && test -c /dev/null && echo there"
        let result = try Lupin.run(["exec", "--confine"] + rules + ["--", "sh", "-c", script])
        #expect(result.output == "there\n", "\(result.errors)")
    }

    @Test func `what --hide names is hidden, and must be there`() throws {
        let folder = try fixture()
        try "mine".write(toFile: "\(folder.path)/mine", atomically: true, encoding: .utf8)
        let rules = ["--rules", "\(folder.path)/lupin.yaml", "--log", "\(folder.path)/log"]
        let hidden = ["exec", "--confine", "--hide", "\(folder.path)/mine"] + rules
        #expect(try Lupin.run(hidden + ["--", "cat", "\(folder.path)/mine"]).output == "")
        let absent = try Lupin.run(["exec", "--confine", "--hide", "/absent"] + ["--", "true"])
        #expect(absent.code == 64 && absent.errors.contains("there is no /absent"))
        #expect(try Lupin.run("exec", "--hide", "/", "--", "true").code == 64)
    }

    @Test(arguments: ["/dev", "/proc", "/sys", "/"], ["--write", "--show"])
    func `what is the command's own or all there is can't be given`(
        path: String,
        option: String
    ) throws {
        let result = try confined(["echo", "run"], in: try fixture(), options: [option, path])
        #expect(result.code == 126 && result.output == "")
        let cause = path == "/" ? "the whole file system" : "the command's own inside"
        #expect(result.errors.contains("\(path) is \(cause)"), "\(result.errors)")
    }

    @Test func `caches that variables name are used, and stay as they are`() throws {
        let home = try Folder()
        for name in ["work", "tools/pip", "tools/go/pkg", "tools/go/src", "tools/all/mozilla"] {
            try WholeFile.makeDirectories("\(home.path)/\(name)")
            try WholeFile.write(Array("old".utf8), to: "\(home.path)/\(name)/file")
        }
        let script = """
            cd ~/tools; for f in pip go/pkg go/src all all/mozilla; do
              cat $f/file; echo new 2>/dev/null > $f/file; echo " $f $(cat $f/file)"
            done 2>/dev/null
            """
        let result = try Lupin.run(
            ["exec", "--confine", "--log", "/dev/null", "--", "sh", "-c", script],
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": home.path,
                "PIP_CACHE_DIR": "\(home.path)/tools/pip",
                "GOPATH": "\(home.path)/tools/go", "XDG_CACHE_HOME": "\(home.path)/tools/all",
                "UV_CACHE_DIR": "/", "GOCACHE": "off",
            ],
            in: "\(home.path)/work"
        )
        #expect(
            result.output
                == "old pip new\nold go/pkg new\nold go/src old\n all new\n all/mozilla \n",
            "\(result.errors)"
        )
        for name in ["pip", "go/pkg", "all/mozilla"] {
            let text = try String(
                contentsOfFile: "\(home.path)/tools/\(name)/file",
                encoding: .utf8
            )
            #expect(text == "old")
        }
    }

    @Test func `what variables name has no credentials inside, unless it is given`() throws {
        let home = try Folder()
        let secrets = [
            "cargoh/credentials.toml", "gradleh/gradle.properties", "gradleh/init.gradle",
            "gradleh/init.d/x.gradle", "npmc/_logs/log", "kube/one", "kube/two", "xdg/gh/hosts.yml",
            "docker/config.json", "gitglobal", "cargoh/config.toml", "cargoh/unheard-of",
            "gradleh/develocity/keys.properties",
        ]
        let plain = ["cargoh/bin/tool", "gradleh/caches/x", "npmc/_cacache/x", "given/config"]
        for name in secrets + plain + ["work/file"] {
            let path = "\(home.path)/\(name)"
            try WholeFile.makeDirectories(CanonicalPath.parent(of: path))
            try WholeFile.write(Array("[hub]\napikey = PLANTED\n".utf8), to: path)
        }
        let variables = [
            "CARGO_HOME": "cargoh", "GRADLE_USER_HOME": "gradleh", "npm_config_cache": "npmc",
            "XDG_CONFIG_HOME": "xdg", "DOCKER_CONFIG": "docker", "GIT_CONFIG_GLOBAL": "gitglobal",
            "AWS_CONFIG_FILE": "given/config", "XDG_DATA_HOME": ".local/share",
        ].mapValues { "\(home.path)/\($0)" }
        let names = (secrets + plain).joined(separator: " ")
        let environment = variables.merging([
            "HOME": home.path, "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": home.path,
            "KUBECONFIG": "\(home.path)/kube/one:\(home.path)/kube/two",
        ]) { $1 }
        let options = ["exec", "--confine", "--log", "/dev/null", "--show", "\(home.path)/given"]
        let command = [
            "--", "sh", "-c",
            "cd ~; for f in \(names); do [ -s $f ] && echo $f; done; cat work/file",
        ]
        let (result, told) = try (
            Lupin.run(options + command, environment: environment, in: "\(home.path)/work"),
            Lupin.run(options + ["--explain"], environment: environment, in: "\(home.path)/work")
        )
        let expected = plain.map { $0 + "\n" }.joined() + "[hub]\napikey = PLANTED\n"
        #expect(result.output == expected, "\(result.errors)")
        let remark = "gitglobal line 2 (hub.apikey) may hold a credential"
        #expect(told.output.contains(remark), "\(told)")
    }

    @Test func `in a home that is shared nothing takes the place of lupin's own folders`() throws {
        let home = try Folder()
        let work = "\(home.path)/work"
        try WholeFile.makeDirectories(work)
        let script = """
            cd ~/.config; mkdir -p lupin; echo planted > lupin/lupin.yaml; mv lupin gone
            echo kept > ../other; tr '\\0' '\\n' < /proc/1/cmdline | grep '^\(home.path)'
            """
        let words = ["exec", "--confine", "--home", "shared", "--log", "/dev/null", "--"]
        let result = try Lupin.run(
            words + ["sh", "-c", script],
            environment: [
                "HOME": home.path, "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": home.path,
            ],
            in: work
        )
        // Nor do the words of the first process say what is absent.
        #expect(result.output == "", "\(result.errors)")
        #expect(WholeFile.content(of: "\(home.path)/other") == Array("kept\n".utf8))
        #expect(PublicFile.names(in: "\(home.path)/.config") == ["lupin"])
        #expect(PublicFile.names(in: "\(home.path)/.config/lupin") == [])
    }
}
