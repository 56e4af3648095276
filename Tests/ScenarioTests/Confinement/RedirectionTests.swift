// That a confined command which ignores the proxy variables is led to lupin, and judged there.
import Foundation
import LupinConfinement
import LupinCore
import LupinIO
import LupinTestKit
import Testing

/// Whether this machine leads connections of confined commands to lupin.
private enum RedirectingFixture {
    static let isPossible: Bool = {
        guard FileManager.default.isExecutableFile(atPath: RedirectionTests.python),
            let folder = try? Folder()
        else { return false }
        let rules = "\(folder.path)/none.yaml"
        let isWritten = FileManager.default.createFile(
            atPath: rules,
            contents: Data("lupin: 1\n".utf8)
        )
        let arguments = [
            "exec", "--confine", "--rules", rules, "--log", "\(folder.path)/log", "--",
        ]
        let port = String(Confinement.redirectedPort, radix: 16, uppercase: true)
        let words = ["grep", "-q", ":\(port) ", "/proc/net/tcp"]
        return isWritten && (try? Lupin.run(arguments + words))?.code == 0
    }()
}

@Suite(
    .waitsForPrograms,
    .enabled(if: RedirectingFixture.isPossible, "this machine gives users no nf_tables")
)
struct RedirectionTests {
    static let python = "/usr/bin/python3"

    private func run(
        _ script: String,
        rules: String = ""
    ) throws -> (result: Lupin.Result, log: String) {
        try Self.run(script, rules: rules)
    }

    /// What a script in Python says in a confined command that knows of no proxy, and its record.
    static func run(
        _ script: String,
        rules: String = "",
        options: [String] = []
    ) throws -> (result: Lupin.Result, log: String) {
        let folder = try Folder()
        let file = """
            lupin: 1
            intercept: {ca: {cert: \(folder.path)/ca.pem, key: \(folder.path)/ca.key}}
            rules:
            \(rules)
              - name: allowed
                match: {host: allowed.test}
                stop: true
                respond: {status: 200, body: "yes"}
              - {name: deny, match: {}, respond: {status: 403}}

            """
        try file.write(toFile: "\(folder.path)/lupin.yaml", atomically: true, encoding: .utf8)
        let log = "\(folder.path)/log"
        let all = ["--confine", "--rules", "\(folder.path)/lupin.yaml", "--log", log] + options
        let head = """
            import os, socket, ssl, threading, urllib.request
            proxies = urllib.request.getproxies()
            for name in list(os.environ):
                if name.lower().endswith("_proxy"): del os.environ[name]
            def get(url):
                try: print(urllib.request.urlopen(url, timeout=20).read().decode())
                except Exception as error: print(error)

            """
        let result = try Lupin.run(["exec"] + all + ["--", Self.python, "-c", head + script])
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n")
        // A lupin of another test may have been killed meanwhile.
        let own = lines.filter { !$0.contains(#""event":"crash""#) }
        return (result, own.joined(separator: "\n"))
    }

    @Test func `HTTP by name is served as through the proxy, and the program is named`() throws {
        let (result, log) = try run(#"get("http://allowed.test/a")"#)
        #expect(result.output == "yes\n", "\(result.errors)")
        #expect(result.errors.contains("python3 to allowed.test:80\n"))
        let line = try #require(log.split(separator: "\n").first)
        #expect(line.contains(#""redirected":true"#) && line.contains(#""program":"python3"#))
        #expect(line.contains(#""domain":"allowed.test""#))
    }

    @Test func `HTTPS by name is decrypted where a rule says so`() throws {
        let (result, log) = try run(#"get("https://allowed.test/a")"#)
        #expect(result.output == "yes\n", "\(result.errors)")
        #expect(log.contains(#""full":"https://allowed.test/a""#))
    }

    @Test func `what is refused is refused in the words of its protocol`() throws {
        let (result, log) = try run(
            #"""
            get("http://denied.test/")
            get("https://denied.test/")
            s = socket.create_connection(("denied.test", 4000), 20)
            print(s.recv(100))
            """#
        )
        let lines = result.output.split(separator: "\n")
        try #require(lines.count == 3, "\(result.output) \(result.errors)")
        #expect(lines[0].hasPrefix("HTTP Error 403"))
        #expect(lines[1].lowercased().contains("alert access denied"), "\(lines[1])")
        #expect(lines[2] == "b''")
        #expect(log.split(separator: "\n").filter { $0.contains("denied.test") }.count == 3)
        let told = [80, 443, 4000].map { "  python3 to denied.test:\($0) (rule \"deny\")\n" }
        #expect(result.errors.contains("refused by the rules:\n\(told.joined())"))
    }

    @Test func `an address is judged as one, by IPv4 and by IPv6`() throws {
        let (result, log) = try run(
            #"""
            get("http://192.0.2.7/")
            get("http://[2001:db8::7]/")
            get("http://192.0.2.8:81/")
            """#,
            rules: """
                  - {match: {host: "192.0.2.7"}, stop: true, respond: {status: 200, body: four}}
                  - {match: {host: "2001:db8::7"}, stop: true, respond: {status: 200, body: six}}
                """
        )
        let lines = result.output.split(separator: "\n").map(String.init)
        let expected = Self.hasIPv6 ? ["four", "six"] : ["four"]
        #expect(Array(lines.prefix(expected.count)) == expected, "\(result.output)")
        #expect(lines.last?.contains("four") == false && log.contains(#""domain":"192.0.2.8""#))
    }

    @Test func `names have addresses that nobody has, and localhost is itself`() throws {
        let (result, _) = try run(
            #"""
            def find(name, family=0):
                try: print(sorted({f[4][0] for f in socket.getaddrinfo(name, 80, family)}))
                except socket.gaierror as error: print("none")
            find("a.test"); find("b.test"); find("A.TEST"); find("a.test", socket.AF_INET6)
            find("localhost", socket.AF_INET); find("x.localhost", socket.AF_INET)
            print(open("/etc/resolv.conf").read().strip() if os.path.exists("/etc/resolv.conf") else
                "nameserver 127.0.0.1")
            """#
        )
        #expect(
            result.output == """
                ['198.18.0.1']
                ['198.18.0.2']
                ['198.18.0.1']
                none
                ['127.0.0.1']
                ['127.0.0.1']
                nameserver 127.0.0.1

                """
        )
    }

    @Test func `many connections at once are served`() throws {
        let (result, _) = try run(
            #"""
            import concurrent.futures
            def one(i):
                return urllib.request.urlopen(f"http://allowed.test/{i}", timeout=60).read()
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                print({*pool.map(one, range(64))})
            """#
        )
        #expect(result.output == "{b'yes'}\n", "\(result.errors)")
    }

    private static let hasIPv6 =
        (try? ListeningSocket(SocketAddress(address: .v6(high: 0, low: 1), port: 0))) != nil
}
