// What lupin says of a command line or a rules file with a slip in it.
import Testing

@Suite(.waitsForPrograms)
struct MistypedCommandTests {
    @Test(arguments: [
        (["--confin", "--", "true"], "'--confin'. Did you mean '--confine'?"),
        (["--rule", "a.yaml", "--", "true"], "'--rule'. Did you mean '--rules'?"),
        (["--confine", "--shwo=/a", "true"], "'--shwo'. Did you mean '--show'?"),
        (["-x", "true"], "'-x'; a command that begins so goes behind --"),
    ])
    func `an option of exec that is none is no command`(words: [String], told: String) throws {
        let result = try Lupin.run(["exec"] + words)
        #expect(result.code == 64)
        #expect(result.errors.hasPrefix("Error: Unknown option \(told)\n"), "\(result.errors)")
    }

    @Test func `behind two dashes a command may begin with one`() throws {
        let folder = try Folder()
        let rules = try folder.write("none.yaml", "lupin: 1\n")
        let result = try Lupin.run("exec", "--rules", rules, "--log", "/dev/null", "--", "-x")
        #expect(!result.errors.contains("Unknown option"))
    }

    @Test func `a log without its option is one`() throws {
        let folder = try Folder()
        let log = try folder.write("run.jsonl", "")
        for name in [log, "run.jsonl"] {
            let result = try Lupin.run(["suggest", name], in: folder.path)
            #expect(result.code == 64 && result.output == "")
            #expect(result.errors.contains("\"\(name)\" is no filter"), "\(result.errors)")
            #expect(result.errors.contains("; a log is read by --log \(name)\n"))
        }
    }

    @Test func `an unknown name is told without a list that is empty`() throws {
        let folder = try Folder()
        let rules = try folder.write(
            "rules.yaml",
            "lupin: 1\nrules: [{match: a.test, request: [{auth: gh}]}]\n"
        )
        let result = try Lupin.run("check", rules)
        #expect(result.code == 2 && result.errors.contains("unknown token \"gh\""))
        #expect(!result.errors.contains("defined:"), "\(result.errors)")
    }

    @Test func `one place is not places`() throws {
        let folder = try Folder()
        for (count, noun) in [(1, "1 place;"), (2, "2 places;")] {
            let tokens = (1...count).map { "t\($0): {bearer: '${env:T\($0)}', hosts: [a.test]}" }
            let rules = try folder.write(
                "rules.yaml",
                "lupin: 1\ntokens: {\(tokens.joined(separator: ", "))}\n"
            )
            let result = try Lupin.run("check", "--untrusted", rules)
            #expect(result.errors.contains("at \(noun)"), "\(result.errors)")
        }
    }
}
