// The example of the page "Keeping a program in", as it is written there.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: SmallInternet.isPossible, "this machine gives users no namespaces"),
    .enabled(if: SmallInternet.has("/usr/bin/git"), "git is not installed"),
    .enabled(if: SmallInternet.has("/usr/bin/curl"), "curl is not installed")
)
struct ManualAgentTests {
    private static let secret = "r3al-token-of-github-0123456789"
    private static let heading = "A complete example"

    /// The network of the example, with `agent.yaml` and an agent that does what `script` says.
    private func fixture(_ script: String) throws -> SmallInternet {
        let net = try SmallInternet(
            ["github.com", "api.github.com", "pypi.org", "files.pythonhosted.org", "other.test"],
            secrets: ["github.com": Self.secret, "api.github.com": Self.secret],
            wheels: "files.pythonhosted.org"
        )
        let rules = try #require(
            ManualPage.block("yaml", under: Self.heading, of: "confinement")
        )
        _ = try net.folder.write("agent.yaml", rules.text)
        let agent = try net.folder.write("run-agent", "#!/bin/sh\n\(script)\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: agent)
        try net.addRepository()
        return net
    }

    private func run(_ net: SmallInternet) throws -> Lupin.Result {
        let commands = try #require(
            ManualPage.block("sh", under: Self.heading, of: "confinement")
        )
        let result = try net.run(commands.text, environment: ["GITHUB_TOKEN": Self.secret])
        for text in [result.output, result.errors, try net.text("agent.jsonl")] {
            #expect(!text.contains(Self.secret))
        }
        return result
    }

    @Test func `it reads GitHub with a token that it never sees`() throws {
        let net = try fixture(
            """
            echo "token $GITHUB_TOKEN"
            curl -sS -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user; echo
            curl -sS https://api.github.com/user; echo
            git clone -q https://github.com/acme/tool.git mine && cat mine/README
            helper='!f() { echo username=x; echo "password=$GITHUB_TOKEN"; }; f'
            git -c credential.helper="$helper" ls-remote https://github.com/acme/tool.git HEAD
            """
        )
        let result = try run(net)
        let stars = String(repeating: "*", count: Self.secret.utf8.count)
        #expect(result.output.contains(/token ghp_[A-Za-z0-9]{36}\n/), "\(result.errors)")
        let users = result.output.matches(of: /"you said": "Bearer ([*]+)"/)
        #expect(users.map { String($0.output.1) } == [stars, stars])
        #expect(result.output.contains("\nhello from the tool\n"))
        #expect(result.output.contains(/[0-9a-f]{40}\tHEAD\n/))
        let seen = try net.seen
        #expect(seen.count >= 6)
        #expect(seen.allSatisfy { $0.given.hasSuffix(Self.secret) })
        // The second line of the example.
        #expect(result.output.contains(/200 .* GET .* https:\/\/api.github.com\/user/))
    }

    @Test func `it writes nothing to GitHub, and reaches nothing else`() throws {
        let net = try fixture(
            """
            git clone -q https://github.com/acme/tool.git mine
            git -C mine push -q origin HEAD:other && echo OPEN push
            try() { curl -sS -o /dev/null -f "$@" 2>/dev/null && echo "OPEN $*"; }
            try -d a=b https://api.github.com/user
            try -X DELETE https://github.com/acme/tool
            try -d a=b https://github.com/acme/tool.git/git-receive-pack
            try -d a=b https://pypi.org/legacy/
            try -X PUT https://files.pythonhosted.org/a
            try https://other.test/
            try http://other.test/
            try --connect-to other.test:443:github.com:443 https://other.test/
            try --noproxy '*' https://other.test/
            try https://github.com:22/
            try http://github.com/
            # A tunnel that hides the method is not to be had by refusing lupin's certificate.
            try --cacert authority.pem https://pypi.org/
            try --cacert authority.pem -d a=b https://pypi.org/legacy/
            try --cacert authority.pem -d a=b https://github.com/
            echo end
            """
        )
        let result = try run(net)
        #expect(!result.output.contains("OPEN"), "\(result.errors)")
        #expect(result.output.contains("end\n"))
        let seen = try net.seen
        #expect(seen.allSatisfy { $0.host == "github.com" })
        #expect(seen.allSatisfy { $0.method == "GET" || $0.path.hasSuffix("/git-upload-pack") })
        let log = try net.text("agent.jsonl")
        #expect(log.contains("other.test"))
    }

    @Test(
        .enabled(
            if: (try? Lupin.run(program: SmallInternet.python, ["-m", "pip", "-V"]))?.code == 0,
            "pip is not installed"
        )
    )
    func `it installs packages from PyPI, and from memory the second time`() throws {
        let net = try fixture(
            """
            for i in 1 2; do
              \(SmallInternet.python) -m pip install -q --no-cache-dir \\
                --disable-pip-version-check --target "lib$i" tiny
            done
            PYTHONPATH=lib2 \(SmallInternet.python) -c 'import tiny; print(tiny.word)'
            """
        )
        let result = try run(net)
        #expect(result.output.hasPrefix("tiny works\n"), "\(result.errors)")
        // pip asks for the latest index each time.
        let hosts = ["pypi.org", "files.pythonhosted.org", "pypi.org"]
        #expect(try net.seen.map(\.host) == hosts)
        let log = try net.text("agent.jsonl")
        #expect(log.matches(of: /"status":"lupin; hit/).count == 1)
    }
}
