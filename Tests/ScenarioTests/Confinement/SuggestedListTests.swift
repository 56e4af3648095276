// That tools do their work in a confinement by the list that `lupin suggest` made of a first run.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: SmallInternet.isPossible, "this machine gives users no namespaces"),
    .enabled(if: SmallInternet.has("/usr/bin/curl"), "curl is not installed")
)
struct SuggestedListTests {
    /// Runs a tool's script freely, makes a list of that, and runs it again under the list.
    ///
    /// The script must print the same both times. One host is decrypted in the first run, the
    /// others are tunnelled.
    private func story(
        _ hosts: [String],
        decrypted: String = "look.test",
        files: [String: String] = [:],
        prints expected: String,
        _ script: String
    ) throws {
        let net = try SmallInternet(hosts + ["other.test"], wheels: "wheels.test")
        try net.addRepository()
        for (name, text) in files { _ = try net.folder.write(name, text) }
        _ = try net.folder.write(
            "free.yaml",
            "lupin: 1\nrules: [{name: look, match: {host: \"\(decrypted)\"}, intercept: true}]\n"
        )
        _ = try net.folder.write("tool.sh", script)
        let result = try net.run(
            """
            lupin exec --rules free.yaml --log first.jsonl -- sh tool.sh; echo "== $?"
            lupin suggest --log first.jsonl > allow.yaml || echo "suggest $?"
            lupin check allow.yaml > /dev/null || echo "check $?"
            lupin check allow.yaml --against first.jsonl > /dev/null || echo "against $?"
            confined() { lupin exec --confine --rules allow.yaml --log second.jsonl -- "$@"; }
            confined sh tool.sh; echo "== $?"
            confined curl -sS -o /dev/null -w '%{http_connect}' https://other.test/; echo "== $?"
            """,
            environment: ["NODE_EXTRA_CA_CERTS": "\(net.path)/authority.pem"]
        )
        let output = "\(expected)\n== 0\n"
        #expect(result.output == "\(output)\(output)403== 56\n", "\(result.errors)")
        #expect(try net.seen.allSatisfy { $0.host != "other.test" })
        let log = try net.text("second.jsonl")
        for host in hosts { #expect(log.contains(host), "\(host) was reached without lupin") }
    }

    @Test func `curl, by http and by https`() throws {
        let title = "<title>home of files.test</title>"
        try story(
            ["files.test", "look.test"],
            prints: "\(title)\(title)<title>home of look.test</title>",
            "curl -sS http://files.test/ https://files.test/ https://look.test/; echo"
        )
    }

    @Test(.enabled(if: SmallInternet.has("/usr/bin/git"), "git is not installed"))
    func `git by https, there and back`() throws {
        try story(
            ["git.test"],
            prints: "hello from the tool",
            """
            rm -rf clone
            git clone -q https://git.test/acme/tool.git clone && cat clone/README && cd clone
            git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m more
            git push -q origin HEAD
            """
        )
    }

    @Test(
        .enabled(
            if: (try? Lupin.run(program: SmallInternet.python, ["-m", "pip", "-V"]))?.code == 0,
            "pip is not installed"
        ),
        arguments: ["look.test", "*.test"]
    )
    func `pip, from an index`(decrypted: String) throws {
        try story(
            ["pypi.test", "wheels.test"],
            decrypted: decrypted,
            prints: "tiny works",
            """
            rm -rf lib
            \(SmallInternet.python) -m pip install -q --no-cache-dir --disable-pip-version-check \\
              --index-url https://pypi.test/simple --target lib tiny
            PYTHONPATH=lib \(SmallInternet.python) -c 'import tiny; print(tiny.word)'
            """
        )
    }

    @Test(
        .enabled(if: SmallInternet.has("/usr/lib/apt/apt-helper"), "apt is not installed"),
        arguments: ["http", "https"]
    )
    func `apt's methods`(scheme: String) throws {
        try story(
            ["deb.test"],
            prints: "<title>home of deb.test</title>",
            """
            /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root \\
              -o Acquire::https::CAInfo="$PWD/authority.pem" \\
              download-file \(scheme)://deb.test/ "$PWD/file" >&2
            cat file; rm file; echo
            """
        )
    }

    @Test(
        .enabled(
            if: (try? Lupin.run(program: "/usr/bin/node", ["-e", "fetch"]))?.code == 0,
            "no node with fetch is installed"
        )
    )
    func `node`() throws {
        try story(
            ["node.test"],
            prints: "<title>home of node.test</title>",
            """
            node -e 'fetch("https://node.test/").then(r => r.text()).then(t => console.log(t))'
            """
        )
    }

    @Test(.enabled(if: SmallInternet.has("/usr/bin/javac"), "no JDK is installed"))
    func `Java's HttpClient`() throws {
        // Its store of CAs has the test's only where lupin writes one, for a host in clear.
        let program = """
            import java.net.URI;
            import java.net.http.*;
            public class Fetch {
                public static void main(String[] words) throws Exception {
                    var request = HttpRequest.newBuilder(URI.create(words[0])).build();
                    var handler = HttpResponse.BodyHandlers.ofString();
                    var response = HttpClient.newHttpClient().send(request, handler);
                    System.out.println(response.statusCode() + " " + response.body());
                }
            }
            """
        try story(
            ["java.test", "look.test"],
            files: ["Fetch.java": program],
            prints: "200 <title>home of java.test</title>",
            "curl -sS -o /dev/null https://look.test/; java Fetch.java https://java.test/"
        )
    }

    @Test(.enabled(if: SmallInternet.has("/usr/bin/chromium"), "chromium is not installed"))
    func `headless Chromium`() throws {
        try story(
            ["page.test"],
            decrypted: "page.test",
            prints: "<html><head><title>home of page.test</title></head><body></body></html>",
            """
            timeout 60 chromium --headless=new --no-sandbox --disable-gpu \\
              --disable-dev-shm-usage --dump-dom https://page.test/
            """
        )
    }
}
