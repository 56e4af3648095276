// `lupin exec` as its command meets it: variables, files, signals and exit codes.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ExecCommandTests {
    /// What stands for lupin's authority: nothing here asks whether it is a real one.
    private static let authority = """
        -----BEGIN CERTIFICATE-----
        bHVwaW4=
        -----END CERTIFICATE-----

        """

    /// A user with a home of their own.
    private final class Home {
        let folder: Folder
        var environment: [String: String]

        init(needsAuthority: Bool = true) throws {
            folder = try Folder()
            environment = [
                "PATH": "/usr/bin:/bin", "HOME": folder.path,
                "XDG_CONFIG_HOME": "\(folder.path)/config", "TMPDIR": "\(folder.path)/tmp",
            ]
            for name in ["tmp", "config/lupin"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder.path)/\(name)",
                    withIntermediateDirectories: true
                )
            }
            if needsAuthority {
                let rule = "{match: clear.test, request: [{remove: [X-A]}]}"
                _ = try folder.write("config/lupin/lupin.yaml", "lupin: 1\nrules: [\(rule)]\n")
            }
        }

        /// The certificate of lupin's authority; it is there after the first command.
        var authority: String {
            get throws {
                try String(contentsOfFile: "\(folder.path)/config/lupin/ca.pem", encoding: .utf8)
            }
        }

        /// Names of the temporary files that are left.
        var leftovers: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/tmp")
            }
        }

        /// A started `lupin exec` with pipes for its three streams.
        func start(_ arguments: [String]) throws -> (ChildProgram, input: Pipe, output: Pipe) {
            let process = Lupin.process(Lupin.path, ["exec"] + arguments, in: nil)
            let (input, output) = (Pipe(), Pipe())
            process.environment = environment
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            return (process, input, output)
        }

        func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
            let (process, input, output) = try start(arguments)
            try input.fileHandleForWriting.close()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
        }

        /// What a shell prints that has no lupin around it.
        func ownShell(_ script: String) throws -> String {
            let process = Lupin.process("/bin/sh", ["-c", script], in: nil)
            let output = Pipe()
            process.environment = environment
            process.standardOutput = output
            try process.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: bytes, as: UTF8.self)
        }

        func shell(_ script: String) throws -> String {
            let result = try run(["--", "sh", "-c", script])
            #expect(result.code == 0)
            return result.output
        }
    }

    @Test func `--help before the command is lupin's, and behind -- the command's`() throws {
        for word in ["--help", "-h"] {
            let help = try Lupin.run("exec", word)
            #expect(help.code == 0 && help.output.contains("USAGE: lupin exec"))
        }
        let told = try Home().run(["--", "sh", "-c", "echo $1", "sh", "--help"])
        #expect(told.output == "--help\n")
    }

    private static func line(of pipe: Pipe) throws -> String {
        var bytes: [UInt8] = []
        while bytes.last != 0x0A {
            let byte = try pipe.fileHandleForReading.read(upToCount: 1)
            bytes.append(try #require(byte?.first, "standard output ended"))
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    private static let endings: [(command: [String], code: Int32)] = [
        (["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143), (["/nonexistent/program"], 127),
        (["no-such-program"], 127), (["/etc/passwd"], 126), (["/etc"], 126),
    ]

    @Test(arguments: endings)
    func `it ends as its command ended, and leaves no file`(
        command: [String],
        code: Int32
    ) throws {
        let home = try Home()
        let result = try home.run(["--"] + command)
        #expect(result.code == code)
        #expect(result.output == "")
        #expect(try home.leftovers == [])
    }

    @Test(arguments: [
        ["exec"], ["exec", "--"], ["exec", "--proxy", "socks5://a", "--", "true"],
        ["exec", "--proxy", "http://a:1", "--log", "b", "--", "true"],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        #expect(try Lupin.run(arguments).code == 64)
    }

    @Test func `the command's own options are not lupin's`() throws {
        let words = ["printf", "%s|", "--rules", "-x", "--", "--help"]
        #expect(try Home().run(["--"] + words).output == "--rules|-x|--|--help|")
        #expect(try Home().run(words).output == "--rules|-x|--|--help|")
    }

    @Test func `options of an earlier lupin give way, and the user's stay`() throws {
        let home = try Home()
        let trust = "\(home.folder.path)/.local/state/lupin/trust"
        home.environment["NODE_OPTIONS"] =
            "--enable-source-maps --require=/gone/node-proxy.cjs --title=a"
        home.environment["JAVA_TOOL_OPTIONS"] =
            "-Xmx1g -Dhttp.proxyHost=1.2.3.4 -Dhttp.proxyPort=1 -Dhttp.nonProxyHosts=\"a b\" "
            + "-Djavax.net.ssl.trustStoreType=JKS "
            + "-Djavax.net.ssl.trustStore=\(trust)/trust-1.jks -Da=\"b c\""
        let told = try home.shell("echo $NODE_OPTIONS; echo $JAVA_TOOL_OPTIONS")
        let lines = told.split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines[0].hasPrefix("--enable-source-maps --title=a --require="))
        #expect(!lines[0].contains("/gone/"))
        #expect(lines[1].hasPrefix("-Xmx1g -Da=\"b c\" -Dhttp.proxyHost=127.0.0.1 "))
        #expect(!lines[1].contains("1.2.3.4") && !lines[1].contains("trust-1.jks"))
    }

    @Test func `requests go through a proxy that ends with the command`() throws {
        let home = try Home()
        let origin = try PlainListener()
        let log = "\(home.folder.path)/records"
        let script = "echo $http_proxy; read line; exit 3"
        let (process, input, output) = try home.start(["--log", log, "--", "sh", "-c", script])
        let url = try ExecCommandTests.line(of: output)
        let found = try #require(url.wholeMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/))
        let address = SocketAddress.loopback(port: try #require(UInt16(found.output.1)))
        let client = try PlainSocket.connect(to: address)
        try client.send("GET http://\(origin.address)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        let upstream = try origin.accept()
        _ = try upstream.receive(until: "\r\n\r\n")
        try upstream.send("HTTP/1.1 204 No Content\r\n\r\n")
        #expect(try client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 204"))
        client.close()
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 3)
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        let records = try String(contentsOfFile: log, encoding: .utf8)
        #expect(records.contains("\"status_code\":204"))
        #expect(throws: (any Error).self) { try PlainSocket.connect(to: address) }
    }

    @Test func `records go below the user's folder for states`() throws {
        let home = try Home()
        _ = try home.shell("true")
        #expect(
            FileManager.default.fileExists(
                atPath: "\(home.folder.path)/.local/state/lupin/exec.jsonl"
            )
        )
    }

    @Test func `an ID that the command was told is found where its records are`() throws {
        let home = try Home(needsAuthority: false)
        let rules = try home.folder.write(
            "rules.yaml",
            "lupin: 1\nrules: [{name: no, match: {host: 127.0.0.1}, respond: {status: 403}}]\n"
        )
        let curl = ["--", "curl", "-s", "-o", "/dev/null", "-D", "-", "http://127.0.0.1:9/"]
        for options in [["--log", "\(home.folder.path)/own.jsonl"], []] {
            let told = try home.run(["--all", "--rules", rules] + options + curl).output
            let field = told.split(whereSeparator: \.isNewline).first { $0.hasPrefix("Lupin-Id: ") }
            let id = try #require(field, "\(told)").dropFirst("Lupin-Id: ".count)
            for reference in [String(id), "last"] {
                let result = try Lupin.run(["explain", reference], environment: home.environment)
                #expect(result.output.contains("GET http://127.0.0.1:9/"), "\(result)")
                #expect(result.output.contains("--rules FILE names it"), "\(result)")
            }
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGUSR1])
    func `a signal that somebody sends reaches the command`(number: Int32) throws {
        let home = try Home()
        let script = "trap 'exit 9' TERM HUP INT USR1; echo ready; read line; exit 1"
        let (process, input, output) = try home.start(["--", "sh", "-c", script])
        #expect(try ExecCommandTests.line(of: output) == "ready")
        kill(process.processIdentifier, number)
        process.waitUntilExit()
        #expect(process.terminationStatus == 9)
        #expect(try home.leftovers == [])
        try input.fileHandleForWriting.close()
    }

    @Test func `each bundle has what the user trusted and lupin's authority`() throws {
        let home = try Home()
        home.environment["SSL_CERT_FILE"] = try home.folder.write("mine.pem", "MINE")
        home.environment["REQUESTS_CA_BUNDLE"] = try home.folder.write("other.pem", "OTHER\n")
        home.environment["GIT_SSL_CAINFO"] = "/nonexistent/store.pem"
        let script = """
            cat "$SSL_CERT_FILE"; echo @; cat "$CURL_CA_BUNDLE"; echo @; cat "$GIT_SSL_CAINFO"
            echo @; cat "$REQUESTS_CA_BUNDLE"; echo @; cat "$NODE_EXTRA_CA_CERTS"
            """
        let parts = try home.shell(script).split(separator: "@\n").map(String.init)
        let authority = try home.authority
        let mine = "MINE\n" + authority
        #expect(parts == [mine, mine, mine, "OTHER\n" + authority, authority])
    }

    @Test func `without a file of the user's the bundle begins as the system's`() throws {
        let stores = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/ca-bundle.pem",
        ]
        guard let store = stores.first(where: { FileManager.default.fileExists(atPath: $0) })
        else { return }
        let size = try Home().shell("head -c $(wc -c < \(store)) $AWS_CA_BUNDLE | cmp - \(store)")
        #expect(size == "")
    }

    @Test func `the files are the user's alone, and Java's are in Java's form`() throws {
        let home = try Home()
        let script = """
            d=$(dirname "$SSL_CERT_FILE"); stat -c %a "$d" "$d"/*.pem "$d"/trust-*.jks | sort -u
            od -An -tx1 -N8 "$d"/trust-*.jks; tail -n 1 "$WGETRC"; echo "$SSL_CERT_FILE"
            """
        let lines = try home.shell(script).split(separator: "\n").map(String.init)
        #expect(lines.prefix(3) == ["600", "700", " fe ed fe ed 00 00 00 02"])
        #expect(lines.dropFirst(3) == ["ca_certificate = \(lines.last ?? "")", lines.last ?? ""])
    }

    @Test func `the user's own values are kept and added to`() throws {
        let home = try Home()
        home.environment["no_proxy"] = ".corp.example, localhost"
        home.environment["NO_PROXY"] = "localhost,lab.example"
        home.environment["NODE_OPTIONS"] = "--max-old-space-size=100"
        home.environment["JAVA_TOOL_OPTIONS"] = "-Xmx1g -Djavax.net.ssl.trustStore=/own"
        _ = try home.folder.write(".wgetrc", "tries = 1")
        let script = """
            echo "$no_proxy"; echo "$NO_PROXY"; echo "${NODE_OPTIONS%%=/*}"
            echo "$JAVA_TOOL_OPTIONS"; head -n 1 "$WGETRC"; echo "${SSL_CERT_DIR-none}"
            """
        let lines = try home.shell(script).split(separator: "\n").map(String.init)
        let names = ".corp.example,localhost,lab.example,127.0.0.1,::1"
        #expect(lines.prefix(3) == [names, names, "--max-old-space-size=100 --require"])
        #expect(lines[3].hasPrefix("-Xmx1g -Djavax.net.ssl.trustStore=/own -Dhttp.proxyHost="))
        let hosts = "*.corp.example|lab.example|*.lab.example"
        #expect(lines[3].hasSuffix("=localhost|127.*|[::1]|\(hosts)"))
        #expect(lines.dropFirst(4) == ["tries = 1", "none"])
        let warning = "lupin: warning: Java trusts the store that JAVA_TOOL_OPTIONS names"
        #expect(try home.ownShell("'\(Lupin.path)' env --ca 2>&1").contains(warning))
    }

    @Test func `a rule for an address of this machine holds for Java, too`() throws {
        let home = try Home(needsAuthority: false)
        let rule = "{match: 127.0.0.1, respond: {status: 204}}"
        _ = try home.folder.write("config/lupin/lupin.yaml", "lupin: 1\nrules: [\(rule)]\n")
        // An empty list: to any other Java adds 127.* again.
        #expect(try home.shell("echo $JAVA_TOOL_OPTIONS ").contains(" -Dhttp.nonProxyHosts= "))
        home.environment["no_proxy"] = "lab.example"
        let hosts = "=localhost|[::1]|lab.example|*.lab.example "
        #expect(try home.shell("echo $JAVA_TOOL_OPTIONS ").contains(hosts))
    }

    @Test(arguments: [("app.localhost", "localhost"), ("127.0.0.5", "127.*")])
    func `a rule for another name of this machine holds for tools`(
        host: String,
        entry: String
    ) throws {
        let home = try Home(needsAuthority: false)
        let rule = "{match: \(host), respond: {status: 204}}"
        _ = try home.folder.write("config/lupin/lupin.yaml", "lupin: 1\nrules: [\(rule)]\n")
        home.environment["no_proxy"] = "lab.example"
        let told = try home.shell("echo $no_proxy; echo $JAVA_TOOL_OPTIONS ")
        let lines = told.split(separator: "\n")
        #expect(lines[0].contains("localhost") == (entry != "localhost"))
        let hosts = try #require(lines[1].split(separator: "nonProxyHosts=").last)
        #expect(!hosts.split { "| ".contains($0) }.contains(entry[...]), "\(hosts)")
    }

    @Test func `without an authority nothing about certificates changes`() throws {
        let home = try Home(needsAuthority: false)
        let script = "echo ${SSL_CERT_FILE-none} ${WGETRC-none} ${NODE_EXTRA_CA_CERTS-none}"
        #expect(try home.shell(script) == "none none none\n")
        #expect(try !home.shell("echo $JAVA_TOOL_OPTIONS").contains("trustStore"))
    }

    @Test func `a lupin that runs is used, unless the rules may be others`() throws {
        let home = try Home()
        let running = try RunningLupin("--listen", "127.0.0.1:0")
        let listen = "listen: [{address: 127.0.0.1:\(running.port), auth: none}]"
        let rules = try home.folder.write("config/lupin/lupin.yaml", "lupin: 1\n\(listen)\n")
        let url = "http://127.0.0.1:\(running.port)\n"
        #expect(try home.shell("echo $https_proxy") == url)
        let words = ["--", "sh", "-c", "echo $https_proxy"]
        #expect(try home.run(["--rules", rules] + words).output != url)
        #expect(
            try home.run(["--proxy", "b.example:81"] + words).output == "http://b.example:81\n"
        )
        running.signal(SIGTERM)
        #expect(running.end() == 0)
        #expect(try home.shell("echo $https_proxy") != url)
    }

    @Test func `a shell that asks env for trust twice has all files as after once`() throws {
        let home = try Home()
        home.environment["CURL_CA_BUNDLE"] = try home.folder.write("mine.pem", "MINE\n")
        let script = """
            eval "$('\(Lupin.path)' env --shell sh --ca)"; eval "$('\(Lupin.path)' env --ca)"
            cat "$CURL_CA_BUNDLE"; env | grep -c lupin/trust
            eval "$('\(Lupin.path)' env --ca --unset)"; env | grep -c lupin/trust
            """
        let text = try home.ownShell(script)
        #expect(try text.hasPrefix("MINE\n" + home.authority))
        let counts = text.split(separator: "\n").suffix(2)
        #expect(counts == ["19", "0"])
    }

    @Test func `the files of a shell stay as they are when another shell gets its own`() throws {
        let home = try Home()
        home.environment["OWN"] = try home.folder.write("mine.pem", "MINE\n")
        let script = """
            (
                export SSL_CERT_FILE="$OWN"
                eval "$('\(Lupin.path)' env --ca)"
                echo "$SSL_CERT_FILE" > "$HOME/name"
            )
            '\(Lupin.path)' env --ca > "$HOME/other"
            cat "$(cat "$HOME/name")"
            """
        #expect(try home.ownShell(script) == "MINE\n" + home.authority)
    }
}
