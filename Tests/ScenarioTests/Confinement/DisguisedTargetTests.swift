// That what a block list refuses stays refused, however a confined program writes it.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: SmallInternet.isPossible, "this machine gives users no namespaces")
)
struct DisguisedTargetTests {
    /// Asks `denied.test` by a connection of its own, as an `ssh` for git would.
    private static let fetch = """
        #!\(SmallInternet.python)
        import socket, sys
        s = socket.create_connection(("denied.test", 80), 3)
        s.sendall(b"GET / HTTP/1.0\\r\\nHost: denied.test\\r\\n\\r\\n")
        while (part := s.recv(9999)): sys.stderr.write(part.decode())
        """

    /// A host that is refused by a rule, and the machine, whose loopback interface is refused by
    /// `deny_targets`; all else is allowed.
    private static let rules = """
        lupin: 1
        access: {deny_targets: [link-local, self, loopback]}
        rules:
          - {name: none, match: {host: denied.test}, respond: {status: 403}}
          - {name: follow, match: {host: allowed.test}, redirect: {follow: true}}
        """

    @Test func `no form of a refused host gets a byte to it`() throws {
        let net = try SmallInternet(
            ["allowed.test", "denied.test"],
            others: ["loop.test": "127.0.0.1"]
        )
        try net.addRepository()
        _ = try net.folder.write("lupin.yaml", Self.rules)
        _ = try net.folder.write("attempts.py", DisguisedTargets.script)
        let fetch = try net.folder.write("fetch", Self.fetch)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fetch)
        let result = try net.run(
            """
            lupin exec --confine --rules lupin.yaml --log log -- \\
              \(SmallInternet.python) attempts.py "$PWD/fetch"
            """,
            environment: ["CURL_CA_BUNDLE": "\(net.path)/authority.pem"]
        )
        #expect(result.code == 0, "\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.count >= 390, "\(lines.count) attempts: \(result.errors)")
        let open = Set(lines.filter { $0.hasPrefix("OPEN") })
        let allowed = ["GET", "redirect", "CONNECT", "TLS", "curl"].map { "OPEN allowed: \($0)" }
        let expected = SmallInternet.has("/usr/bin/curl") ? allowed : allowed.dropLast()
        #expect(open == Set(expected.map { Substring($0) }))
        let elsewhere = try net.seen.filter { $0.host != "allowed.test" || $0.at == "127.0.0.1" }
        #expect(elsewhere.map(\.host) == [])
    }
}
