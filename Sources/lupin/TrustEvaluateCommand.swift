// `lupin trust evaluate`: the proxy's verdict on certificates in files, without any network.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinRules
import LupinTLS

struct TrustEvaluateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evaluate",
        abstract: "Judge a server's certificates as the proxy would.",
        discussion: """
            --chain is the file with the certificates that a server presents, in PEM: its own \
            first, then the others in any order. lupin judges them as it judges servers in the \
            proxy.

              lupin trust evaluate --chain server.pem --roots ca.pem --host api.example.com
              lupin trust evaluate --chain server.pem --roots system --host api.example.com \\
                  --time 2027-01-31T00:00:00Z
              lupin trust evaluate --chain server.pem --roots system --host api.example.com \\
                  --rules lupin.yaml --policy acme --depth 2 --json

            The exit code is 0 if the policy is met, and 1 if not, with the reason on standard \
            output. This command asks no server about revocation, so a policy that requires an \
            answer is not met.
            """
    )

    @Option(help: ArgumentHelp("What the server presents, in PEM.", valueName: "file"))
    var chain: String

    @Option(
        help: ArgumentHelp(
            "Trust anchors in PEM, or `system` for those of this machine; may be repeated.",
            valueName: "file"
        )
    )
    var roots: [String]

    @Option(help: ArgumentHelp("The host that a client asked for.", valueName: "name"))
    var host: String

    @Option(help: ArgumentHelp("When (RFC 3339); without it now.", valueName: "time"))
    var time: TrustTime?

    @Option(help: ArgumentHelp("system, or a trust policy that a rule uses.", valueName: "name"))
    var policy: String?

    @Option(
        help: ArgumentHelp(
            "Certificates between the server's and the CA's: at most so many, 0 to 8.",
            valueName: "count"
        )
    )
    var depth: Int?

    @Option(rulesFile: "The rules file with the policy.")
    var rulesFile: String?

    @Flag(help: "Print the verdict in JSON.")
    var json = false

    func validate() throws {
        let range = 0...TrustPathDemand.intermediatesMax
        guard let depth, !range.contains(depth) else { return }
        throw ValidationError("--depth is \(range.lowerBound) to \(range.upperBound)")
    }

    func run() throws {
        var policy = try namedPolicy()
        if let depth {
            guard policy.policy.demandsPath else {
                throw ValidationError(
                    "--depth is for paths, and the policy \"\(policy.name)\" demands none"
                )
            }
            policy.policy = .limited(policy.policy, intermediatesMax: depth)
        }
        let chainText = try TrustFile.content(chain)
        for file in roots where file != TrustFile.system { _ = try TrustFile.content(file) }
        let report = report(policy, chainText)
        StandardOutput.print(json ? report.json : report.text)
        if !report.isTrusted { throw ExitCode.failure }
    }

    /// Evaluates the files' contents; invalid contents yield a verdict, too.
    private func report(_ policy: NamedTrustPolicy, _ chainText: [UInt8]) -> TrustReport {
        var report = TrustReport(policy: policy.name)
        guard let asked = Host(host) else {
            report.refusal = TrustProblem(.host, "\"\(host)\" is not the name of a host.")
            return report
        }
        let presented: [Certificate]
        do throws(CertificateFailure) {
            presented = try Certificate.parseAll(pem: chainText.span)
        } catch {
            report.refusal = TrustProblem(.malformed, "\(chain): \(error).")
            return report
        }
        guard let certificates = PeerCertificates(encodings: presented.map(\.der)) else {
            report.refusal = TrustProblem(.malformed, "\(chain): a certificate can't be read.")
            return report
        }
        let anchors: TrustAnchors
        do throws(TLSFailure) {
            anchors = try TrustAnchors.load(anchorSettings, environment: LocatedRules.environment)
        } catch {
            report.refusal = TrustProblem(.chain, "No trust anchors: \(error.reason).")
            return report
        }
        let now = time?.seconds ?? SystemCall.wallMicroseconds() / 1_000_000
        func trust(_ evidence: RevocationEvidence) -> PeerTrust {
            PeerTrust(certificates, host: asked, anchors: anchors, now: now, evidence: evidence)
        }
        var evidence = RevocationEvidence()
        let peer = trust(evidence)
        var verdict = policy.policy.evaluate(peer)
        // Each answer may lead to one more query (OCSP, then the CRL), never to an old one.
        while !verdict.pending.isEmpty {
            let count = evidence.answers.count
            for query in verdict.pending {
                evidence.answers[query] = RevocationAnswer(
                    encoding: nil,
                    failure: "\(query.url) was not asked"
                )
            }
            guard evidence.answers.count > count else { break }
            verdict = policy.policy.evaluate(trust(evidence))
        }
        report.verdict = verdict
        let path = policy.policy.paths.first ?? .configured
        report.path = (try? peer.path(to: path).get()) ?? []
        return report
    }

    private var anchorSettings: TrustAnchorSettings {
        var settings = TrustAnchorSettings()
        settings.usesSystem = roots.contains(TrustFile.system)
        settings.files = roots.filter { $0 != TrustFile.system }
        return settings
    }

    private func namedPolicy() throws -> NamedTrustPolicy {
        guard let policy else {
            guard rulesFile == nil else { throw ValidationError("--rules goes with --policy") }
            return .system
        }
        if policy == NamedTrustPolicy.system.name { return .system }
        let rules = try LocatedRules.toLookAt(explicit: rulesFile).configuration.rules.rules
        let policies = rules.compactMap(\.trust?.policy)
        if let found = policies.first(where: { $0.name == policy }) { return found }
        let names = Set(policies.map(\.name)).union([NamedTrustPolicy.system.name]).sorted()
        throw ValidationError(
            "no rule uses a trust policy \"\(policy)\"; there are: "
                + names.joined(separator: ", ")
        )
    }
}

/// `--time`.
struct TrustTime: ExpressibleByArgument {
    let seconds: Int64

    init?(argument: String) {
        guard let seconds = TimeText.seconds(argument) else { return nil }
        self.seconds = seconds
    }
}

/// A file of certificates that the command line names.
enum TrustFile {
    /// The value that selects this machine's anchors instead of a file.
    static let system = "system"
    private static let bytesMax = 16 << 20

    /// - Throws: A validation error when the file can't be read or is too long.
    static func content(_ path: String) throws -> [UInt8] {
        let file: FileContent
        do throws(SystemError) {
            file = try FileContent(path: path, bytesMax: bytesMax)
        } catch {
            throw ValidationError("cannot read \(path): \(error.message)")
        }
        guard file.bytes.count <= bytesMax else {
            throw ValidationError("\(path) is longer than \(bytesMax >> 20) MiB")
        }
        return file.bytes
    }
}
