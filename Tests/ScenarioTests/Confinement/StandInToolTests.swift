// Tools with stand-ins for a credential, as they are: git, and a client like GitHub's own.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: SmallInternet.isPossible, "this machine gives users no namespaces")
)
struct StandInToolTests {
    private static let secret = "r3al-token-of-github-0123456789"
    private static let variables = ["GITHUB_TOKEN": secret]

    private func fixture() throws -> SmallInternet {
        let net = try SmallInternet(
            ["git.test", "api.test", "files.test"],
            secrets: ["git.test": Self.secret, "api.test": Self.secret],
            files: "files.test"
        )
        _ = try net.folder.write(
            "lupin.yaml",
            """
            lupin: 1
            tokens: {github: {bearer: "${env:GITHUB_TOKEN}", stand_in: "ghp_{36}"}}
            exec: {env: {GITHUB_TOKEN: github}}
            capture: {path: \(net.path)/capture}
            rules:
              - {name: keep, match: {}, capture: true}
              - name: github
                match: {host: [git.test, api.test]}
                stand_ins: [github]
                scrub: true
            """
        )
        return net
    }

    /// Runs a script under `lupin exec` with the given options, such as `--record tape.har`.
    ///
    /// - Returns: The stand-in, and what else the script printed.
    private func run(
        _ script: String,
        _ options: String,
        in net: SmallInternet
    ) throws -> (standIn: String, output: String) {
        _ = try net.folder.write("tool.sh", "echo $GITHUB_TOKEN\n\(script)")
        let result = try net.run(
            "lupin exec \(options) --rules lupin.yaml --log log -- sh tool.sh",
            environment: Self.variables
        )
        #expect(result.code == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n", maxSplits: 1)
        let standIn = String(try #require(lines.first))
        #expect(standIn.wholeMatch(of: /ghp_[A-Za-z0-9]{36}/) != nil)
        #expect(!result.output.contains(Self.secret))
        // What lupin writes is there, and has neither of the two.
        let captures = options.contains("tape.har") ? ["tape.har"] : try captures(net)
        let written = try (captures + ["log", "errors"]).map { ($0, try net.text($0)) }
        for names in [["log"], captures] {
            let files = written.filter { names.contains($0.0) }
            let isWritten = files.contains { name, text in
                text.contains("git.test") || text.contains("api.test")
            }
            #expect(isWritten)
        }
        for (name, text) in written {
            #expect(!text.contains(Self.secret), "the credential is in \(name)")
            #expect(!text.contains(standIn), "the stand-in is in \(name)")
        }
        return (standIn, lines.count > 1 ? String(lines[1]) : "")
    }

    /// The database of captured exchanges, and what belongs to it.
    private func captures(_ net: SmallInternet) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(net.path)/capture")
        let files = names.map { "capture/\($0)" }.filter { (try? net.text($0))?.isEmpty == false }
        #expect(!files.isEmpty)
        return files
    }

    private static let options = ["", "--confine", "--record tape.har"]

    /// As GitHub's command line does: REST and GraphQL, pages, an archive elsewhere, a 404.
    private static let client = """
        import os, urllib.request as r
        token = os.environ["GITHUB_TOKEN"]
        def ask(url, data=None, value="token " + token):
            request = r.Request(url, data, {"Authorization": value})
            try: answer = r.urlopen(request)
            except r.HTTPError as error: answer = error
            text = answer.read().decode()
            print(answer.status, text)
            return answer.headers
        next = ask("https://api.test/user")["Link"]
        print(next)
        ask(next.split(">")[0][1:])
        ask("https://api.test/user", b'{"query": "{viewer{login}}"}', "Bearer " + token)
        ask("https://api.test/missing")
        ask("https://api.test/user", None, "token wrong")
        ask("https://api.test/archive")
        """

    @Test(arguments: options)
    func `a client of an API has the stand-in, and the API the credential`(options: String) throws {
        let net = try fixture()
        _ = try net.folder.write("client.py", Self.client)
        let script = "\(SmallInternet.python) client.py"
        let (standIn, output) = try run(script, options, in: net)
        let stars = String(repeating: "*", count: Self.secret.utf8.count)
        let lines = output.split(separator: "\n")
        try #require(lines.count == 7, "\(output)")
        #expect(lines[0].hasPrefix("200 ") && lines[0].contains(#""you said": "token \#(stars)""#))
        #expect(lines[1] == #"<https://api.test/user?page=2&token=\#(stars)>; rel="next""#)
        #expect(lines[2].hasPrefix("200 "))
        #expect(lines[3].hasPrefix("200 ") && lines[3].contains(#""you said": "Bearer \#(stars)""#))
        #expect(lines[4] == "404 not here")
        #expect(lines[5] == "401 not token wrong")
        #expect(lines[6] == "200 <title>home of files.test</title>")
        let seen = try net.seen
        let api = seen.filter { $0.host == "api.test" }.map(\.given)
        let secret = "token \(Self.secret)"
        #expect(
            api == [secret, secret, "Bearer \(Self.secret)", secret, "token wrong", secret]
        )
        // The redirect repeats the credential; who follows it takes the stand-in along.
        let elsewhere = seen.filter { $0.host == "files.test" }
        #expect(elsewhere.map(\.path) == ["/?t=\(standIn)"])
        #expect(elsewhere.map(\.given) == ["token \(standIn)"])
        #expect(try net.text("log").contains(#""stand_ins":{"elsewhere":["github"]}"#))
    }

    @Test(
        .enabled(if: SmallInternet.has("/usr/bin/git"), "git is not installed"),
        // Its own settings, which the script changes, are read-only otherwise.
        arguments: options.map { $0.replacing("--confine", with: "--confine --home private") }
    )
    func `git has the stand-in, and the server the credential`(options: String) throws {
        let net = try fixture()
        try net.addRepository()
        let script = """
            set -e
            url=https://git.test/acme/tool.git
            git -c http.extraHeader="Authorization: Bearer $GITHUB_TOKEN" clone -q $url bearer
            cat bearer/README
            pair=$(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 -w 0)
            git -c http.extraHeader="Authorization: Basic $pair" ls-remote $url HEAD | cut -f 2
            cat > helper <<'END'
            #!/bin/sh
            echo username=x
            echo "password=$GITHUB_TOKEN"
            END
            chmod +x helper
            git config --global credential.helper "$PWD/helper"
            git clone -q $url basic
            git -C basic push -q origin HEAD:other
            git -C basic ls-remote $url other | cut -f 2
            git config --global --unset credential.helper
            git ls-remote "https://x:$GITHUB_TOKEN@git.test/acme/tool.git" other | cut -f 2
            git ls-remote $url >&2 || echo refused
            """
        let (standIn, output) = try run(script, options, in: net)
        #expect(
            output == """
                hello from the tool
                HEAD
                refs/heads/other
                refs/heads/other
                refused

                """
        )
        let given = try net.seen.map(\.given)
        #expect(given.count > 12)
        #expect(given.allSatisfy { $0.isEmpty || $0.hasSuffix(Self.secret) })
        let kinds = ["Bearer ", "Basic x-access-token:", "Basic x:"]
        for kind in kinds { #expect(given.contains(kind + Self.secret)) }
        #expect(!given.contains { $0.contains(standIn) })
    }
}
