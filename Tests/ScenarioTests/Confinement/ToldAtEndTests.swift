// What lupin says of a confined command that failed: what was refused, missed or can't be run.
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
struct ToldAtEndTests {
    /// A home with a working folder in it.
    private struct Fixture {
        private let base: Folder
        let home: String
        private let rules: String

        init(_ rules: String = "") throws {
            base = try Folder()
            let path = try #require(PublicFile.target(of: base.path))
            home = "\(path)/home"
            self.rules = "\(path)/rules.yaml"
            try WholeFile.makeDirectories("\(home)/work")
            let text = """
                lupin: 1
                intercept: {ca: {cert: \(path)/ca.pem, key: \(path)/ca.key}}
                \(rules)

                """
            try WholeFile.write(Array(text.utf8), to: self.rules)
        }

        /// Puts a file into the home.
        func write(_ name: String, _ text: String, isExecutable: Bool = false) throws {
            let path = "\(home)/\(name)"
            try WholeFile.makeDirectories((path as NSString).deletingLastPathComponent)
            try WholeFile.write(Array(text.utf8), to: path, isExecutable: isExecutable)
        }

        /// `search` is in the home, and comes first in PATH.
        func run(
            _ words: [String],
            _ options: [String] = [],
            search: String = "bin",
            folder: String = "work"
        ) throws -> Lupin.Result {
            try Lupin.run(
                ["exec", "--confine", "--rules", rules, "--log", "/dev/null"] + options + ["--"]
                    + words,
                environment: [
                    "HOME": home, "PATH": "\(home)/\(search):/usr/bin:/bin", "TMPDIR": "/tmp",
                ],
                in: "\(home)/\(folder)"
            )
        }
    }

    @Test func `refusals are told with their rules, where a rule answers, too`() throws {
        let fixture = try Fixture(
            """
            rules:
              - {name: mock, match: {host: mock.test}, stop: true, respond: {status: 200, body: y}}
              - {name: law, match: {host: law.test}, stop: true, respond: {status: 451}}
              - {name: in, match: {host: in.test}, stop: true, respond: {status: 404, body: n}}
              - {name: nothing else, match: {}, respond: {status: 403}}
            """
        )
        let script = #"""
            import sys, urllib.request
            for url in ("https://one.test/", "http://two.test/a", "http://two.test/b",
                "http://law.test/", "https://law.test/", "http://mock.test/", "https://mock.test/",
                "https://in.test/"):
                try: print(urllib.request.urlopen(url, timeout=20).read().decode())
                except Exception as error: pass
            try: urllib.request.urlopen("http://two.test/c?d=e", data=b"x", timeout=20)
            except Exception as error: pass
            sys.exit(3)
            """#
        let result = try fixture.run([SmallInternet.python, "-c", script])
        #expect(result.code == 3 && result.output == "y\ny\n")
        #expect(
            result.errors.hasSuffix(
                """
                lupin: refused by the rules:
                  one.test:443: CONNECT (rule "nothing else")
                  two.test:80 (rule "nothing else")
                  law.test:80 (rule "law")
                  law.test:443 (rule "law")
                  in.test:443 (rule "in")
                  two.test:80: POST /c (rule "nothing else")

                """
            ),
            "\(result.errors)"
        )
    }

    @Test func `unix sockets that were refused are told, and the command's own are not`() throws {
        let fixture = try Fixture()
        let work = "\(fixture.home)/work"
        let door = try LocalDoor("\(work)/door.sock")
        let script = #"""
            import socket
            def connect(path): socket.socket(socket.AF_UNIX).connect(path)
            for make in (lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
                lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
                lambda: connect("door.sock"), lambda: connect("/dev/log")):
                try: make()
                except OSError as error: print(error.strerror)
            own = socket.socket(socket.AF_UNIX); own.bind("own"); own.listen(1); connect("own")
            socket.socketpair(); socket.socket(type=socket.SOCK_DGRAM)
            """#
        let result = try fixture.run([SmallInternet.python, "-c", script])
        #expect(
            result.output == """
                Socket type not supported
                Socket type not supported
                Permission denied
                No such file or directory

                """
        )
        #expect(
            result.errors.hasSuffix(
                """
                lupin: these were refused unix sockets of programs outside, which --show PATH gives:
                  python3 to door.sock
                lupin: these were refused unix datagram sockets, such as that of the system's log:
                  python3

                """
            ),
            "\(result.errors)"
        )
        withExtendedLifetime(door) {}
    }

    @Test func `what is refused by a setting, and not by a rule, is told with it`() throws {
        let fixture = try Fixture("access: {connect_ports: [443], deny_targets: [denied.test]}")
        let script = #"""
            import urllib.request
            for url in ("https://one.test:444/", "https://denied.test/", "http://denied.test/"):
                try: urllib.request.urlopen(url, timeout=20)
                except Exception as error: pass
            """#
        let result = try fixture.run([SmallInternet.python, "-c", script])
        #expect(
            result.errors.hasSuffix(
                """
                lupin: refused: access.connect_ports does not list port 444.
                  one.test:444: CONNECT
                lupin: refused: access.deny_targets lists denied.test.
                  denied.test:443: CONNECT
                  denied.test:80

                """
            ),
            "\(result.errors)"
        )
    }

    @Test func `a stand-in that strays is told once for all requests, a missing file not at all`()
        throws
    {
        let fixture = try Fixture(
            """
            tokens: {github: {bearer: "${file:home/token}", hosts: [one.test]}}
            exec: {env: {TOKEN: github}}
            stand_ins: {elsewhere: refuse}
            rules: [{match: {host: mock.test}, respond: {folder: home/served}}]
            """
        )
        try fixture.write("served/there", "x")
        try fixture.write("token", "fixed-token-0123456789")
        let script = #"""
            import os, urllib.request
            def get(url, **fields):
                try: urllib.request.urlopen(urllib.request.Request(url, **fields), timeout=20)
                except Exception as error: pass
            given = {"X-Foo": os.environ["TOKEN"]}
            get("http://mock.test/none")
            get("http://two.test/a", headers=given)
            get("http://three.test/b?c=d", headers=given, data=b"x")
            """#
        let result = try fixture.run([SmallInternet.python, "-c", script])
        #expect(
            result.errors.hasSuffix(
                """
                lupin: refused: The stand-in for the token "github" is in the field X-Foo, and no \
                rule exchanges it in requests to this host; stand_ins.elsewhere is refuse.
                  two.test:80: GET /a
                  three.test:80: POST /b

                """
            ),
            "\(result.errors)"
        )
        #expect(!result.errors.contains("mock.test"))
    }

    @Test func `what is absent is told where the command may have looked for it`() throws {
        let fixture = try Fixture()
        for name in [".ssh/id", ".npmrc", ".aws/credentials"] { try fixture.write(name, "x") }
        for words in [["false"], ["grep", "ssh", "/dev/null"], ["sh", "-c", "exit 3"]] {
            let result = try fixture.run(words)
            #expect(result.code != 0 && !result.errors.contains("absent"), "\(result.errors)")
        }
        let result = try fixture.run(["sh", "-c", "ssh -V; exit 3"])
        let told = "lupin: absent inside: ~/.ssh (ssh and git); --show PATH gives it\n"
        #expect(result.code == 3 && result.errors.hasSuffix(told), "\(result.errors)")
        #expect(try !fixture.run(["sh", "-c", "ssh -V; true"]).errors.contains("absent inside"))
    }

    @Test func `a program in a folder that is absent is told, with what gives it`() throws {
        let fixture = try Fixture()
        try fixture.write(".mine/lib/tool", "#!/bin/sh\necho ran\n", isExecutable: true)
        try FileManager.default.createDirectory(
            atPath: "\(fixture.home)/.mine/bin",
            withIntermediateDirectories: false
        )
        try FileManager.default.createSymbolicLink(
            atPath: "\(fixture.home)/.mine/bin/tool",
            withDestinationPath: "../lib/tool"
        )
        let told = "tool lies in ~/.mine/bin, which is absent inside: --show ~/.mine gives it\n"
        for program in ["tool", "\(fixture.home)/.mine/bin/tool", "../.mine/bin/tool"] {
            let result = try fixture.run([program], search: ".mine/bin")
            #expect(result.code == 127 && result.output == "")
            #expect(
                result.errors.hasSuffix("lupin: error: \(told)"),
                "\(result.errors)"
            )
        }
        let script = try fixture.run(["sh", "-c", "tool"], search: ".mine/bin")
        #expect(script.code == 127)
        #expect(
            script.errors.hasSuffix(
                "lupin: absent inside, of PATH: ~/.mine/bin; --show ~/.mine gives it\n"
            ),
            "\(script.errors)"
        )
        let shown = try fixture.run(
            ["tool"],
            ["--show", "\(fixture.home)/.mine"],
            search: ".mine/bin"
        )
        #expect(shown.code == 0 && shown.output == "ran\n", "\(shown.errors)")
        #expect(try fixture.run(["nowhere-at-all"]).errors.contains("cannot run nowhere-at-all: "))
    }

    @Test func `a script whose interpreter is absent is told, and one that lies in view runs`()
        throws
    {
        let fixture = try Fixture()
        try fixture.write(".mine/bin/run", "#!/bin/sh\necho ran\n", isExecutable: true)
        try fixture.write("bin/one", "#!\(fixture.home)/.mine/bin/run -x\n", isExecutable: true)
        try fixture.write("bin/two", "#!/usr/bin/env -S run -x\n", isExecutable: true)
        try fixture.write("bin/three", "#!/usr/bin/env sh\necho three\n", isExecutable: true)
        let told = "run, which lies in ~/.mine/bin, which is absent inside: --show ~/.mine gives it"
        let one = try fixture.run(["one"])
        #expect(one.code == 127 && one.errors.contains("one is run by \(told)"), "\(one.errors)")
        let two = try fixture.run(["\(fixture.home)/bin/two"], search: ".mine/bin")
        #expect(two.code == 127 && two.errors.contains("two is run by \(told)"), "\(two.errors)")
        #expect(try fixture.run(["three"]).output == "three\n")
    }

    @Test(arguments: [
        ("package.json", #"{"workspaces": ["packages/*"]}"#, "npm", " (workspaces)"),
        ("package.json", "{}", "npm", ""), ("pnpm-workspace.yaml", "packages: []", "pnpm", ""),
        ("Cargo.toml", "[workspace]", "cargo", " (workspaces)"), ("go.work", "go 1.24", "go", ""),
    ])
    func `a project around the working folder is told, if it can't be written`(
        name: String,
        content: String,
        tool: String,
        note: String
    ) throws {
        let fixture = try Fixture()
        try fixture.write("ws/\(name)", content)
        try fixture.write("ws/packages/a/file", "")
        let told = "lupin: \(tool) reads ~/ws/\(name)\(note) and can't write to it: --write ~/ws\n"
        #expect(try fixture.run(["true"], folder: "ws/packages/a").errors.contains(told))
    }

    @Test func `a project that can be written to, or is the home, is not told`() throws {
        let fixture = try Fixture()
        for name in ["package.json", "Cargo.toml"] {
            try fixture.write("ws/\(name)", "[workspace]")
            try fixture.write(name, "[workspace]")
        }
        try fixture.write("ws/packages/a/file", "")
        try fixture.write("other/file", "")
        let given = ["--write", "\(fixture.home)/ws"]
        for (folder, options) in [("ws", []), ("ws/packages/a", given), ("other", [])] {
            let result = try fixture.run(["true"], options, folder: folder)
            #expect(!result.errors.contains("can't write"), "\(folder): \(result.errors)")
        }
    }

    @Test func `one note at most comes before the command, and what it says can be done`() throws {
        func notes(_ options: [String], in folder: String, _ home: String) throws -> [String] {
            let result = try Lupin.run(
                ["exec"] + options + ["--log", "/dev/null", "--", "true"],
                environment: [
                    "HOME": home, "PATH": "/usr/bin:/bin", "A_BUS": "unix:path=/run/bus",
                ],
                in: folder
            )
            #expect(result.code == 0, "\(result.errors)")
            return result.errors.split(separator: "\n").map(String.init)
                .filter { !$0.hasPrefix("lupin: warning: ") }
        }
        let fixture = try Fixture()
        try fixture.write("ws/package.json", #"{"workspaces": ["packages/*"]}"#)
        try fixture.write("ws/packages/a/file", "")
        let (home, inner) = (fixture.home, "\(fixture.home)/ws/packages/a")
        #expect(try notes([], in: inner, home).isEmpty)
        let without = try notes(["--confine"], in: inner, home)
        #expect(without.count == 1)
        #expect(
            without.first?.hasPrefix("lupin: no rules file: ") == true
                && without.first?.hasSuffix("--rules FILE says which (--explain tells 1 more)")
                    == true
        )
        let given = try notes(["--confine", "--write", "\(home)/ws"], in: inner, home)
        #expect(given.count == 1 && given.first?.hasSuffix("--rules FILE says which") == true)
        // What loses work comes before that.
        for (folder, loss) in [
            ("/tmp", "the working folder /tmp is "), (home, "the working folder \(home) is "),
        ] {
            let lost = try notes(["--confine"], in: folder, home)
            #expect(lost.count == 1 && lost.first?.hasPrefix("lupin: \(loss)") == true, "\(lost)")
        }
    }
}
