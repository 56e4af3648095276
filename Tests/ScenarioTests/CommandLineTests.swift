// The command line as a person or a script meets it: exit codes, exact words, what a shell makes of
// them.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct CommandLineTests {
    @Test func `help names every command and the exit codes`() throws {
        let help = try Lupin.run("help")
        #expect(help.code == 0)
        for command in [
            "serve", "reload", "status", "exec", "env", "doctor", "ca", "pin", "trust", "check",
            "schema",
            "suggest", "rules", "explain", "curl", "log", "har", "cache", "settings", "version",
        ] {
            let isListed =
                help.output.contains("\n  \(command) ") || help.output.contains("\n  \(command), ")
            #expect(isListed, "\(command) is missing")
            let own = try Lupin.run("help", command)
            #expect(own.code == 0)
            #expect(own.output.contains("USAGE: lupin \(command)"))
        }
        #expect(help.output.contains("69 lupin cannot listen on an address"))
    }

    @Test func `version names the libraries that are loaded`() throws {
        let version = try Lupin.run("version")
        let openSSL = #/OpenSSL 3\.\d+\.\d+ with(out)? X25519MLKEM768/#
        let form = #/lupin \d+\.\d+\.\d+ \(Swift 6\.\d, (.+), nghttp2 1\.\d+\.\d+, .+\)\n/#
        #expect(version.code == 0)
        let named = version.output.wholeMatch(of: form)?.output.1
        #expect(named?.wholeMatch(of: openSSL) != nil, "\(version.output)")
        #expect(try Lupin.run("--version").output == version.output)
    }

    @Test func `settings shows the whole table in lines for any terminal`() throws {
        let page = try Lupin.run("help", "settings").output
        #expect(page.contains("\n  timeouts.connect *"))
        #expect(page.contains("\n  limits.connections "))
        #expect(page.contains("\nSteps of request\n"))
        #expect(!page.split(separator: "\n").contains { $0.count > 80 })
    }

    @Test(arguments: [
        ["--nonsense"], ["serve", "--workers", "0"], ["serve", "--workers", "many"],
        ["serve", "--listen", "localhost:80"], ["serve", "--listen", "127.0.0.1:65536"],
        ["serve", "--listen", "127.0.0.1:+1"], ["serve", "--listen", "::1:80"],
        ["env", "--shell", "tcsh"], ["check", "a", "b"],
        ["check", "--rules", "a", "b"],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        let result = try Lupin.run(arguments)
        #expect(result.code == 64)
        #expect(result.output == "")
        #expect(result.errors.contains("Usage: lupin"))
    }

    @Test(arguments: [
        ("lgo", "; did you mean log?"), ("exce", "; did you mean exec?"),
        ("cofnined", "; lupin help lists all"), ("", "; lupin help lists all"),
    ])
    func `a mistyped command names the nearest one`(word: String, advice: String) throws {
        let result = try Lupin.run(word, "x")
        #expect(result.code == 64 && result.output == "")
        #expect(result.errors.contains("there is no command \"\(word)\"\(advice)\n"))
        #expect(!result.errors.contains("lupin serve"), "\(result.errors)")
    }

    @Test(arguments: [
        ("localhost:1", "\"localhost\" is no IP address: write 127.0.0.1 or [::1]"),
        ("a.example:1", "\"a.example\" is no IP address: names are not resolved here"),
        ("127.0.0.1", "\"127.0.0.1\" has no port: write 127.0.0.1:8080"),
        ("127.0.0.1:x", "\"x\" is no port: it is a number from 0 to 65535"),
        ("::1:80", "an IPv6 address stands in brackets: [::1]:80"),
        (
            "0.0.0.0:0",
            "others can reach 0.0.0.0 and use the proxy: write it under listen in the "
                + "rules file, with auth"
        ),
    ])
    func `an address that can't be listened on is told why`(
        address: String,
        sentence: String
    ) throws {
        let result = try Lupin.run("serve", "--listen", address)
        #expect(result.code == 64)
        #expect(result.errors.contains(sentence), "\(result.errors)")
    }

    @Test(arguments: [["check"], ["serve", "--rules"], ["env", "--rules"]])
    func `a bad file ends with 2 and every error in its exact form`(arguments: [String]) throws {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", "lupin: 1\nretryy: 2\nworkers: two\n")
        let result = try Lupin.run(arguments + [file])
        #expect(result.code == 2)
        #expect(result.output == "")
        #expect(
            result.errors == """
                \(file):2:1: unknown key "retryy"  [E-KEY]
                    retryy: 2
                    ^^^^^^  did you mean "retry"?
                \(file):3:10: "two" is not a number  [E-TYPE]
                    workers: two
                             ^^^  write a number from 1 to 256

                """
        )
    }

    @Test func `a good file ends with 0, one line, and what to know about it`() throws {
        let folder = try Folder()
        let text = """
            lupin: 1
            rules:
              - match: a.example
                proxy: "http://parent.example:3128"
              - match: {}
                log: off

            """
        let file = try folder.write("lupin.yaml", text)
        let result = try Lupin.run("check", file)
        #expect(try Lupin.run("check", "--rules", file) == result)
        #expect(result.code == 0)
        #expect(result.output == "\(file): ok, 2 rules\n")
        #expect(result.errors.hasPrefix("\(file): note: behind a parent proxy"))
        let direct = try folder.write("direct.yaml", "lupin: 1\nrules: [{match: a.example}]\n")
        let plain = try Lupin.run("check", direct)
        #expect(plain == Lupin.Result(code: 0, output: "\(direct): ok, 1 rule\n", errors: ""))
    }

    @Test func `check prints problems for editors and for workflows`() throws {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", "lupin: 1\nworkers: two\n")
        let json = try Lupin.run("check", "--format", "json", file)
        #expect(json.code == 2 && json.errors == "")
        #expect(
            json.output == #"{"file":"\#(file)","ok":false,"problems":[{"severity":"error","#
                + #""code":"E-TYPE","message":"\"two\" is not a number","#
                + #""hint":"write a number from 1 to 256","line":2,"column":10,"length":3}]}"#
                + "\n"
        )
        let github = try Lupin.run("check", "--format", "github", file)
        #expect(
            github.output == "::error file=\(file),line=2,col=10,title=E-TYPE::"
                + "\"two\" is not a number; write a number from 1 to 256\n"
        )
        let script = "printf 'lupin: 1\n' | '\(Lupin.path)' check --format json -"
        let piped = try Lupin.run(program: "/bin/sh", ["-c", script])
        #expect(piped.output == #"{"file":"/dev/stdin","ok":true,"problems":[]}"# + "\n")
        #expect(piped.code == 0)
    }

    @Test func `schema prints what editors check rules files by`() throws {
        let schema = try Lupin.run("schema")
        let json = try JSONSerialization.jsonObject(with: Data(schema.output.utf8))
        let object = try #require(json as? [String: Any])
        let id = try #require(object["$id"] as? String)
        #expect(id.hasPrefix("urn:lupin:rules:") && object["title"] as? String == "lupin.yaml")
    }

    @Test func `rules may come from a pipe that has them only later`() throws {
        let script = "\(Lupin.path) check <(sleep 0.5; printf 'lupin: 1\n')"
        let result = try Lupin.run(program: "/bin/bash", ["-c", script])
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.output.hasSuffix(": ok, 0 rules\n"))
    }

    @Test func `check says for each rule that answers https whether it decrypts`() throws {
        let folder = try Folder()
        let text = """
            lupin: 1
            rules:
              - {name: mock, match: "https://a.example/x", respond: {status: 200, body: x}}
              - {name: block, match: b.example, respond: {status: 403}}
              - {name: plain, match: "http://c.example", respond: {status: 200, body: x}}

            """
        let file = try folder.write("lupin.yaml", text)
        #expect(
            try Lupin.run("check", file).output == """
                \(file): ok, 3 rules
                  rule "mock" (line 3) decrypts https to answer the requests inside
                  rule "block" (line 4) answers the CONNECT of https without decrypting it

                """
        )
    }

    @Test func `check says that a refusal of the CONNECT comes before a mock`() throws {
        let folder = try Folder()
        let text = """
            lupin: 1
            rules:
              - name: mock
                match: "https://a.example/x"
                stop: true
                respond: {status: 200, body: x}
              - {name: rest, match: "**", respond: {status: 403}}

            """
        let file = try folder.write("lupin.yaml", text)
        #expect(
            try Lupin.run("check", file).output.contains(
                "  rule \"mock\" (line 3) never answers https: rule \"rest\" (line 7) refuses the "
                    + "CONNECT first; with intercept: true it refuses the requests inside instead\n"
            )
        )
        let told = try Lupin.run(
            "explain",
            "-X",
            "CONNECT",
            "a.example:443",
            "--rules",
            file
        ).output
        #expect(told.hasPrefix("CONNECT https://a.example:443\n"))
        #expect(told.contains("path shows only inside https, so its `stop: true` has no effect"))
        #expect(told.contains("answers the CONNECT; nothing is decrypted"))
        for target in ["a.example", "a.example:", "a.example:70000", "a.example:443/x", ":443"] {
            #expect(try Lupin.run("explain", "-X", "CONNECT", target, "--rules", file).code == 64)
        }
    }

    @Test(arguments: ["https://a.example/x", "{host: a.example, method: [GET]}"])
    func `check says so of a list that lets a path or a method through`(match: String) throws {
        let folder = try Folder()
        let text = """
            lupin: 1
            tokens: {t: {bearer: some-token-of-mine}}
            rules:
              - {name: api, match: \(match), request: [{auth: t}], stop: true}
              - {name: rest, match: {}, respond: {status: 403}}

            """
        let file = try folder.write("lupin.yaml", text)
        let told = try Lupin.run("check", file).output
        let expected = "\"api\" (line 4) never acts on https: rule \"rest\" (line 5) refuses"
        #expect(told.contains(expected), "\(told)")
    }

    @Test func `the working directory's file is never picked up`() throws {
        let folder = try Folder()
        _ = try folder.write("lupin.yaml", "lupin: 99\n")
        let result = try Lupin.run(["check"], in: folder.path)
        #expect(result.code == 0)
        #expect(!result.output.contains("lupin.yaml"))
    }

    @Test(arguments: [
        ("127.0.0.1:9001", "http://127.0.0.1:9001"), ("'[::1]:9002'", "http://[::1]:9002"),
        ("0.0.0.0:9003", "http://127.0.0.1:9003"), ("'[::]:9004'", "http://[::1]:9004"),
    ])
    func `a real shell understands env`(address: String, url: String) throws {
        let folder = try Folder()
        let listen = "listen: [{address: \(address), auth: none}]"
        let file = try folder.write("it's.yaml", "lupin: 1\n\(listen)\n")
        let script = """
            eval "$('\(Lupin.path)' env --shell sh --rules "$1")" &&
            printf '%s\\n' "$http_proxy" "$HTTPS_PROXY" "$no_proxy" "$NO_PROXY" "${all_proxy-no}"
            eval "$('\(Lupin.path)' env --shell sh --unset)" &&
            echo "${http_proxy-gone} ${HTTPS_PROXY-gone} ${NO_PROXY-gone}"
            """
        let result = try Lupin.run(program: "/bin/sh", ["-c", script, "sh", file])
        let names = "localhost,127.0.0.1,::1"
        #expect(result.output == "\(url)\n\(url)\n\(names)\n\(names)\nno\ngone gone gone\n")
        #expect(result.errors == "")
    }

    @Test(arguments: ["", " --ca"])
    func `unset gives back what the shell had, however often env was asked`(options: String) throws
    {
        let folder = try Folder()
        let script = """
            env | sort > "$HOME/before"
            eval "$('\(Lupin.path)' env --shell sh\(options))"
            eval "$('\(Lupin.path)' env --shell sh\(options))"
            echo "$http_proxy"
            eval "$('\(Lupin.path)' env --shell sh --unset)"
            env | sort | diff "$HOME/before" - && echo same
            """
        let environment = [
            "PATH=/usr/bin:/bin", "HOME=\(folder.path)", "http_proxy=http://u:p%40'q@b.corp:3128",
            "NO_PROXY=a.corp, b.corp", "NODE_OPTIONS=--title='it'",
        ]
        let words = ["-i"] + environment + ["/bin/sh", "-c", script]
        let result = try Lupin.run(program: "/usr/bin/env", words)
        #expect(result.output.hasPrefix("http://127.0.0.1:8080\n"), "\(result)")
        #expect(result.output.hasSuffix("\nsame\n"), "\(result)")
    }

    @Test(arguments: [
        ("dotenv", "http_proxy='http://127.0.0.1:8080'\n"),
        ("docker", "http_proxy=http://127.0.0.1:8080\n"),
        ("json", #"{"http_proxy":"http://127.0.0.1:8080","#),
        ("bash", "export http_proxy='http://127.0.0.1:8080'\n"),
    ])
    func `env prints variables for other readers, too`(format: String, first: String) throws {
        let folder = try Folder()
        let environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path]
        let words = ["env", "--format", format]
        let result = try Lupin.run(words, environment: environment)
        #expect(result.code == 0 && result.output.hasPrefix(first), "\(result)")
        let isForShell = format == "bash"
        #expect(result.output.contains("LUPIN_ENV_BEFORE") == isForShell)
        let unset = try Lupin.run(words + ["--unset"], environment: environment)
        #expect(unset.code == (isForShell ? 0 : 64))
    }

    @Test func `a signal stops a running proxy with 0 and a hang-up does not`() throws {
        let running = try RunningLupin("--listen", "127.0.0.1:0")
        #expect(running.firstLine.contains("lupin: listening on 127.0.0.1:"))
        #expect(running.firstLine.contains(", no rules file; records to standard output; in a "))
        #expect(running.firstLine.contains("; in a shell: export http_proxy=http://127.0.0.1:"))
        let socket = try PlainSocket.connect(to: .loopback(port: running.port))
        running.signal(SIGHUP)
        #expect(try running.nextLine().contains("lupin: rules 00000000 loaded"))
        running.signal(SIGUSR1)
        socket.close()
        running.signal(SIGTERM)
        #expect(running.end() == 0)
    }

    @Test func `a second signal ends it at once`() throws {
        let origin = try PlainListener()
        let running = try RunningLupin("serve", "--listen", "127.0.0.1:0")
        let client = try PlainSocket.connect(to: .loopback(port: running.port))
        try client.send("GET http://\(origin.address)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        let upstream = try origin.accept()
        _ = try upstream.receive(until: "\r\n\r\n")
        running.signal(SIGTERM)
        #expect(try running.nextLine().contains("lupin: stopping"))
        running.signal(SIGINT)
        #expect(running.end() == 130)
    }

    @Test func `a signal that comes twice at once is one, as timeout sends it`() throws {
        let origin = try PlainListener()
        let running = try RunningLupin("serve", "--listen", "127.0.0.1:0")
        let client = try PlainSocket.connect(to: .loopback(port: running.port))
        try client.send("GET http://\(origin.address)/ HTTP/1.1\r\nHost: a\r\n\r\n")
        let upstream = try origin.accept()
        _ = try upstream.receive(until: "\r\n\r\n")
        running.signal(SIGTERM)
        running.signal(SIGTERM)
        #expect(try running.nextLine().contains("lupin: stopping"))
        try upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        #expect(try client.receive(until: "ok").contains("200"))
        #expect(running.end() == 0)
    }

    @Test func `an address in use ends with 69 and says which`() throws {
        let taken = try PlainListener()
        let result = try Lupin.run("serve", "--listen", "\(taken.address)")
        #expect(result.code == 69)
        #expect(result.errors.contains("lupin: error: cannot listen on \(taken.address): "))
    }
}
