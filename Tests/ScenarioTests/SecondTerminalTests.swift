// Commands in a terminal that has none of the variables of the service: they ask it, or look at the
// file without secrets.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct SecondTerminalTests {
    private static let rules = """
        lupin: 1
        listen: [{address: 127.0.0.1:0}]
        log: {to: FOLDER/log.jsonl}
        tokens: {t: {bearer: "${env:LUPIN_TEST_TOKEN}"}}
        rules:
          - {name: mine, match: {host: localhost, port: 19010}, request: [{auth: t}]}
        """

    /// A lupin with a secret in its environment, and what other terminals have.
    private struct Story {
        let folder: Folder
        let file: String
        let running: RunningLupin
        let surroundings: [String: String]

        init() throws {
            folder = try Folder()
            let text = SecondTerminalTests.rules.replacing("FOLDER", with: folder.path)
            file = try folder.write("lupin.yaml", text)
            running = try RunningLupin(
                "--rules",
                file,
                environment: [
                    "LUPIN_TEST_TOKEN": "hush-hush-token", "XDG_CONFIG_HOME": folder.path,
                ]
            )
            surroundings = [
                "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": folder.path,
                "XDG_RUNTIME_DIR": running.runtime.path, "SHELL": "/bin/bash",
            ]
        }

        func run(_ arguments: String...) throws -> Lupin.Result {
            try Lupin.run(arguments, environment: surroundings)
        }
    }

    @Test func `env gives the address of the one that runs, and no exception that a rule names`()
        throws
    {
        let story = try Story()
        let result = try story.run("env", "--shell", "zsh")
        #expect(result.code == 0, "\(result.errors)")
        #expect(
            result.output.contains("export http_proxy='http://127.0.0.1:\(story.running.port)'\n")
        )
        #expect(result.output.contains("export no_proxy='127.0.0.1,::1'\n"))
    }

    @Test func `explain goes by the parent proxies of the one that runs, and tells what differs`()
        throws
    {
        let folder = try Folder()
        let rules = """
            lupin: 1
            listen: [{address: 127.0.0.1:0}]
            log: off
            upstream: {proxy: environment}
            rules:
              - {name: mine, match: "${env:API}", request: [{set: {X-A: "${env:OTHER:-none}"}}]}
            """
        let file = try folder.write("lupin.yaml", rules)
        let running = try RunningLupin(
            "--rules",
            file,
            environment: [
                "API": "api.test", "XDG_CONFIG_HOME": folder.path,
                "http_proxy": "http://ann:hush-hush@127.0.0.9:9",
            ]
        )
        var surroundings = [
            "PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": folder.path, "API": "other.test",
            "XDG_RUNTIME_DIR": running.runtime.path, "http_proxy": "http://127.0.0.8:8",
            "LUPIN_RULES": file,
        ]
        for words in [["explain"], ["explain", "--rules", file]] {
            for api in ["other.test", "api.test"] {
                surroundings["API"] = api
                let result = try Lupin.run(words + ["http://api.test/"], environment: surroundings)
                #expect(result.code == 0, "\(result.errors)")
                #expect(result.output.contains("127.0.0.9:9"), "\(result.output)")
                let told = result.output + result.errors
                #expect(!told.contains("127.0.0.8:8") && !told.contains("hush"))
                #expect(result.errors.contains("${env:API}: the running") == (api != "api.test"))
                #expect(!result.errors.contains("OTHER"))
            }
        }
        surroundings["API"] = "other.test"
        let check = try Lupin.run(["check", file], environment: surroundings)
        #expect(check.code == 0 && check.errors.contains("${env:API}: the running"))
    }

    @Test func `explain, rules and log take the rules of the one that runs, without its secrets`()
        throws
    {
        let story = try Story()
        for arguments in [
            ["explain", "http://localhost:19010/"], ["rules"], ["rules", "--effective"], ["log"],
        ] {
            let result = try Lupin.run(arguments, environment: story.surroundings)
            #expect(result.code == 0, "\(arguments): \(result.errors)")
            #expect(!result.output.contains("hush-hush") && !result.errors.contains("hush-hush"))
            if arguments[0] != "log" { #expect(result.output.contains("mine"), "\(arguments)") }
        }
    }

    @Test func `exec uses the one that runs, and leaves out no place with --all`() throws {
        let story = try Story()
        let print = ["/bin/sh", "-c", "echo $http_proxy $no_proxy"]
        let address = "http://127.0.0.1:\(story.running.port)"
        let usual = try Lupin.run(["exec", "--"] + print, environment: story.surroundings)
        #expect(usual.output == "\(address) 127.0.0.1,::1\n", "\(usual.errors)")
        let all = try Lupin.run(["exec", "--all", "--"] + print, environment: story.surroundings)
        #expect(all.output == "\(address)\n")
    }

    @Test func `a file whose variables are not set is shown with their names`() throws {
        let folder = try Folder()
        let text = Self.rules.replacing("FOLDER", with: folder.path)
        let file = try folder.write("lupin.yaml", text)
        let explained = try Lupin.run("explain", "--rules", file, "http://localhost:19010/")
        #expect(explained.code == 0, "\(explained.errors)")
        #expect(explained.output.contains("mine"))
        let checked = try Lupin.run("check", "--trusted", file)
        #expect(checked.code == 2)
        #expect(checked.errors.contains("the environment has no variable \"LUPIN_TEST_TOKEN\""))
    }

    @Test func `explain says where no_proxy keeps tools from lupin`() throws {
        let story = try Story()
        var surroundings = story.surroundings
        surroundings["NO_PROXY"] = "localhost"
        let result = try Lupin.run(
            ["explain", "http://localhost:19010/"],
            environment: surroundings
        )
        #expect(
            result.output.contains("\n  your no_proxy has tools reach localhost without lupin\n")
        )
    }

    @Test func `a wildcard listener has the address by which this machine reaches it`() throws {
        let folder = try Folder()
        let file = try folder.write(
            "lupin.yaml",
            "lupin: 1\nlisten: [{address: 0.0.0.0:0, auth: none}]\nlog: off\n"
        )
        let running = try RunningLupin("--rules", file)
        let result = try Lupin.run(
            ["env", "--shell", "bash"],
            environment: ["PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": running.runtime.path]
        )
        #expect(
            result.output.contains("export http_proxy='http://127.0.0.1:\(running.port)'\n"),
            "\(result.errors)"
        )
    }

    @Test func `a second one at the same address is told who has it`() throws {
        let story = try Story()
        var surroundings = story.surroundings
        surroundings["LUPIN_TEST_TOKEN"] = "hush-hush-token"
        let address = "127.0.0.1:\(story.running.port)"
        let result = try Lupin.run(
            ["serve", "--rules", story.file, "--listen", address],
            environment: surroundings
        )
        #expect(result.code == 69)
        #expect(result.errors.contains("cannot listen on \(address): Address already in use"))
        // The kernel tells root alone whose the socket of a lupin is.
        if geteuid() == 0 { #expect(result.errors.contains(": lupin, process ")) }
        #expect(result.errors.contains("a lupin listens on \(address) by \(story.file), up "))
        #expect(result.errors.contains("listen in the rules file names another address"))
        #expect(result.errors.contains(" ends it"))
    }
}
