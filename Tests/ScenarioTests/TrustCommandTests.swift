// `lupin trust evaluate` and `lupin pin`: verdicts and pins as a person or a script gets them.
import Foundation
import LupinTLS
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct TrustCommandTests {
    private let files: MintedFiles
    private let root: MintedAuthority
    private let now = Int64(Date.now.timeIntervalSince1970)
    private let roots: String

    init() throws {
        files = try MintedFiles()
        root = try MintedAuthority.root(now: now)
        roots = try files.write(root.certificate.pem, "root.pem")
    }

    private func evaluate(_ chain: [UInt8], _ more: String...) throws -> Lupin.Result {
        let file = try files.write(chain, "chain.pem")
        return try Lupin.run(
            ["trust", "evaluate", "--chain", file, "--roots", roots, "--host", "a.example"] + more
        )
    }

    private func pin(_ certificate: Certificate) -> String {
        "sha256/" + Data(certificate.publicKeyDigest).base64EncodedString()
    }

    @Test func `a good chain ends with 0 and the path`() throws {
        let leaf = try root.intermediate().leaf("a.example")
        let result = try evaluate(leaf.certificateText)
        #expect(result.code == 0)
        #expect(result.output.hasPrefix("trusted by policy system\n  system: passed\n"))
        #expect(result.output.contains(pin(leaf.certificate)))
        #expect(result.output.contains(pin(root.certificate)))
        #expect(result.errors == "")
    }

    @Test func `a chain to nobody's root ends with 1 and the reason`() throws {
        let stranger = try MintedAuthority.root("Stranger", now: now)
        let result = try evaluate(try stranger.leaf("a.example").certificateText)
        #expect(result.code == 1)
        #expect(result.output.hasPrefix("not trusted: "))
    }

    @Test(arguments: [(-86_400 * 3, "not-yet-valid"), (0, ""), (86_400 * 400, "expired")])
    func `the time that is asked about decides`(offset: Int, problem: String) throws {
        let leaf = try root.leaf("a.example") { $0.notBefore = now - 86_400 }
        let date = Date(timeIntervalSince1970: Double(Int(now) + offset))
        let result = try evaluate(
            leaf.certificateText,
            "--time",
            date.formatted(.iso8601),
            "--json"
        )
        #expect(result.code == (problem.isEmpty ? 0 : 1))
        let verdict = try JSONDecoder().decode(Verdict.self, from: Data(result.output.utf8))
        #expect(verdict.trusted == problem.isEmpty)
        #expect(verdict.problem ?? "" == problem)
        #expect(verdict.checks.map(\.is) == ["system"])
    }

    private struct Verdict: Decodable {
        struct Check: Decodable {
            var `is`: String
            var ok: Bool
            var match: String?
        }

        var trusted: Bool
        var policy: String
        var problem: String?
        var reason: String?
        var checks: [Check]
    }

    @Test(arguments: [
        "", "not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n", "\u{0}\u{1}",
    ])
    func `what is no certificate ends with 1 and a sentence`(text: String) throws {
        let chain = try evaluate(Array(text.utf8))
        #expect(chain.code == 1)
        #expect(chain.output.hasPrefix("not trusted: "))
        _ = try files.write(Array(text.utf8), "root.pem")
        let anchors = try evaluate(try root.leaf("a.example").certificateText)
        #expect(anchors.code == 1)
        #expect(anchors.output.hasPrefix("not trusted: "))
    }

    @Test(arguments: ["a b", "a..example", "999.1.1.1"])
    func `what is no host is not trusted`(host: String) throws {
        let leaf = try root.leaf("a.example")
        let chain = try files.write(leaf.certificateText, "chain.pem")
        let result = try Lupin.run(
            "trust",
            "evaluate",
            "--chain",
            chain,
            "--roots",
            roots,
            "--host=\(host)"
        )
        #expect(result.code == 1)
        #expect(result.output.contains("is not the name of a host"))
    }

    @Test func `the policies of a rules file are evaluated by name`() throws {
        let leaf = try root.leaf("a.example")
        let rules = try files.write(
            Array(
                """
                lupin: 1
                trust:
                  right: {pins: ["\(pin(leaf.certificate))"]}
                  wrong: {pins: ["\(pin(try root.leaf("b.example").certificate))"]}
                  strict: {all: [system, {revocation: {require: true}}]}
                rules:
                  - {match: a.example, trust: right}
                  - {match: b.example, trust: wrong}
                  - {match: c.example, trust: strict}

                """.utf8
            ),
            "lupin.yaml"
        )
        func verdict(_ name: String) throws -> Lupin.Result {
            try evaluate(leaf.certificateText, "--rules", rules, "--policy", name)
        }
        let right = try verdict("right")
        #expect(right.code == 0)
        #expect(right.output.contains("pins: passed, \(pin(leaf.certificate))"))
        let wrong = try verdict("wrong")
        #expect(wrong.code == 1)
        #expect(wrong.output.contains("No pinned public key"))
        #expect(try verdict("strict").code == 1)
        let unknown = try verdict("rihgt")
        #expect(unknown.code == 64)
        #expect(unknown.errors.contains("there are: right, strict, system, wrong"))
    }

    @Test func `a depth is no demand on a policy without paths`() throws {
        let leaf = try root.leaf("a.example")
        let text = """
            lupin: 1
            trust: {bare: {pins: ["\(pin(leaf.certificate))"], chain: false}}
            rules: [{match: a.example, trust: bare}]

            """
        let rules = try files.write(Array(text.utf8), "lupin.yaml")
        func verdict(_ more: String...) throws -> Lupin.Result {
            let chain = try files.write(leaf.certificateText, "chain.pem")
            return try Lupin.run(
                ["trust", "evaluate", "--chain", chain, "--roots", roots, "--host", "a.example"]
                    + ["--rules", rules, "--policy", "bare"] + more
            )
        }
        #expect(try verdict().code == 0)
        let result = try verdict("--depth", "1")
        #expect(result.code == 64)
        #expect(result.errors.contains("the policy \"bare\" demands none"))
    }

    @Test func `the depth that is asked for limits the path`() throws {
        let leaf = try root.intermediate("One").intermediate("Two").leaf("a.example")
        #expect(try evaluate(leaf.certificateText, "--depth", "2").code == 0)
        let result = try evaluate(leaf.certificateText, "--depth", "1")
        #expect(result.code == 1)
        #expect(result.output.contains("longer than max_depth (1)"))
    }

    @Test(arguments: [
        ["--depth", "9"], ["--depth=-1"], ["--depth", "99999999999999999999"], ["--depth", "two"],
        ["--time", "yesterday"], ["--time", "2026-02-30T00:00:00Z"], ["--rules", "a.yaml"],
        ["--roots", "/nonexistent"], ["--chain", "/nonexistent"],
    ])
    func `a wrong command line ends with 64`(more: [String]) throws {
        let chain = try files.write(try root.leaf("a.example").certificateText, "chain.pem")
        let result = try Lupin.run(
            ["trust", "evaluate", "--chain", chain, "--roots", roots, "--host", "a.example"] + more
        )
        #expect(result.code == 64)
    }

    // MARK: Pins

    /// A server with these certificates: lupin itself, as any TLS server will do.
    private func server(_ leaf: MintedLeaf) throws -> RunningLupin {
        let certificate = try files.write(leaf.certificateText, "server.pem")
        let key = try files.write(try leaf.keyText, "server.key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let rules = """
            lupin: 1
            listen:
              - address: 127.0.0.1:0
                tls: {cert: "\(certificate)", key: "\(key)"}

            """
        let file = try files.write(Array(rules.utf8), "server.yaml")
        return try RunningLupin("serve", "--rules", file)
    }

    @Test func `pin shows each key and a policy that fits`() throws {
        let intermediate = try root.intermediate()
        let leaf = try intermediate.leaf("127.0.0.1")
        let server = try server(leaf)
        let rules = "lupin: 1\nupstream: {tls: {roots: [\"\(roots)\"]}}\n"
        let file = try files.write(Array(rules.utf8), "client.yaml")
        let result = try Lupin.run("pin", "127.0.0.1:\(server.port)", "--rules", file)
        #expect(result.code == 0, "\(result.errors)")
        for certificate in [leaf.certificate, intermediate.certificate, root.certificate] {
            let block = "\n\(pin(certificate))\n  subject    "
            #expect("\n\(result.output)".contains(block))
        }
        let yaml = try #require(result.output.split(separator: "# for the rules file:\n").last)
        let pasted = try files.write(Array("lupin: 1\n\(yaml)".utf8), "pasted.yaml")
        #expect(try Lupin.run("check", pasted).output == "\(pasted): ok, 1 rule\n")
        let issuer = try #require(yaml.range(of: pin(intermediate.certificate)))
        let own = try #require(yaml.range(of: pin(leaf.certificate)))
        #expect(issuer.lowerBound < own.lowerBound)
        #expect(yaml.contains("backup pin"))
    }

    @Test func `pin shows what is not trusted too and ends with 1`() throws {
        let leaf = try root.leaf("127.0.0.1")
        let server = try server(leaf)
        let result = try Lupin.run("pin", "127.0.0.1:\(server.port)")
        #expect(result.code == 1)
        #expect(result.output.hasPrefix(pin(leaf.certificate)))
        #expect(result.output.contains("there is no verified path"))
        #expect(result.output.contains("\n    chain: false\nrules:\n"))
        #expect(result.errors.contains("not trusted: "))
    }

    @Test func `pin says why nothing was shown`() throws {
        let listener = try PlainListener()
        let address = "\(listener.address)"
        listener.close()
        let result = try Lupin.run("pin", address)
        #expect(result.code == 1)
        #expect(result.errors == "Error: cannot connect to \(address): Connection refused\n")
    }

    @Test(arguments: ["", "a.example:0", "a.example:70000", "a b", "https://a.example"])
    func `pin of what is no host ends with 64`(place: String) throws {
        #expect(try Lupin.run("pin", place).code == 64)
    }
}
