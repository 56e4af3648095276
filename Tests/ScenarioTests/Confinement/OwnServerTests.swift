// That a confined command reaches the servers that it starts, by every name of its own network.
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
struct OwnServerTests {
    private func run(
        _ words: [String],
        rules: String = "{match: {}, respond: {status: 403}}"
    ) throws -> Lupin.Result {
        let folder = try Folder()
        let file = try folder.write(
            "rules.yaml",
            "lupin: 1\nintercept: {mode: none}\nrules: [\(rules)]\n"
        )
        return try Lupin.run(
            ["exec", "--confine", "--rules", file, "--log", "/dev/null", "--"] + words,
            in: folder.path
        )
    }

    /// Starts a server for all addresses, and asks it by the URLs that `{}` in each client gets.
    private static let script = #"""
        import http.server, socket, subprocess, sys, threading, urllib.request
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200); self.end_headers(); self.wfile.write(b"mine")
            def log_message(self, *all): pass
        class Server(http.server.ThreadingHTTPServer):
            address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
            def server_bind(self):
                if self.address_family == socket.AF_INET6:
                    self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                super().server_bind()
        both = socket.has_dualstack_ipv6()
        server = Server(("::" if both else "0.0.0.0", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hosts = ["0.0.0.0", "127.0.1.1", "127.0.0.1", "localhost", "x.localhost"]
        if both: hosts += ["[::ffff:127.0.0.1]", "[::1]", "[::]"]
        for line in open("/etc/hosts"): hosts += line.split("#")[0].split()[1:]
        for host in hosts:
            url = f"http://{host}:{server.server_address[1]}/"
            try:
                # Where the name leads to no server, such as by IPv6 alone, no client reaches it.
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                opener.open(url, timeout=20)
            except OSError: continue
            words = [word.replace("{}", url) for word in sys.argv[1:]]
            if words: said = subprocess.run(words, capture_output=True, text=True).stdout
            else: said = urllib.request.urlopen(url, timeout=20).read().decode()
            print("reached" if said.strip() == "mine" else "missed", host)
        """#

    @Test(arguments: [
        [], ["/usr/bin/curl", "-s", "{}"],
        ["/usr/bin/node", "-e", "require('http').get('{}', (a) => a.pipe(process.stdout))"],
        ["/usr/bin/wget", "-q", "-O", "-", "{}"],
    ])
    func `a server of its own is reached by each of its names`(client: [String]) throws {
        guard client.first.map(SmallInternet.has) ?? true else { return }
        let result = try run([SmallInternet.python, "-c", Self.script] + client)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count >= 4 && lines.contains("reached 0.0.0.0"), "\(result.errors)")
        #expect(lines.allSatisfy { $0.hasPrefix("reached ") }, "\(result.output)")
    }

    @Test func `a name that a rule names goes to lupin, in all its forms`() throws {
        func exceptions(_ rules: String) throws -> [Substring] {
            try run(["sh", "-c", #"echo "$no_proxy""#], rules: rules).output.split {
                $0 == "," || $0 == "\n"
            }
        }
        let all = try exceptions("")
        for name in ["localhost", "0.0.0.0", "[::]", "127.0.1.1", "[::ffff:127.0.0.1]", "[::1]"] {
            #expect(all.contains(name[...]), "\(all)")
        }
        let some = try exceptions(#"{match: "127.0.0.1", respond: {status: 200}}"#)
        #expect(!some.contains { $0.contains("127.0.0.") || $0.contains("7f00") }, "\(some)")
        #expect(some.contains("0.0.0.0") && some.contains("localhost"))
        let others = try exceptions(#"{match: "[::1]:80", respond: {status: 200}}"#)
        #expect(!others.contains { $0.contains("::1") && !$0.contains("f") }, "\(others)")
    }

    @Test func `Java has them in its own form`() throws {
        let result = try run(["sh", "-c", #"echo "$JAVA_TOOL_OPTIONS""#])
        let list = try #require(result.output.split(separator: "nonProxyHosts=").last)
        let hosts = Set(list.split { "| \n".contains($0) })
        #expect(
            hosts.isSuperset(of: ["localhost", "127.*", "[::1]", "0.0.0.0", "[::]"]),
            "\(hosts)"
        )
        #expect(!hosts.contains { $0.contains("/") || $0 == "::" || $0 == "*.0.0.0.0" })
    }
}
