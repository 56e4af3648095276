// `lupin pin`: prints the keys of a server's certificates, and a trust policy for them.
import ArgumentParser
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream

struct PinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Print the pins of a server's certificates, for a rules file.",
        discussion: """
            Connects directly, not through upstream.proxy, and sends nothing but the handshake.

              lupin pin api.example.com
              lupin pin '[2001:db8::1]:8443' --rules ./try.yaml

            A pin is the SHA-256 of a public key. The exit code is 1 if the certificates do not \
            lead to a CA in upstream.tls.roots, or are those of another host. Find out why \
            before you use such pins.
            """
    )

    @Argument(help: ArgumentHelp("The server; without a port 443.", valueName: "host[:port]"))
    var target: PinTarget

    @Option(rulesFile: "The rules file, for upstream.tls.")
    var rulesFile: String?

    func run() throws {
        let settings = try LocatedRules.toLookAt(explicit: rulesFile).configuration.settings
            .upstream.tls
        SystemCall.ignoreBrokenPipes()
        let (host, port) = (target.host, target.port)
        let code: ExitCode
        do throws(SystemError) {
            code = try ControlLoop.run { executor in
                do throws(OriginProbeFailure) {
                    let shown = try await OriginProbe.certificates(
                        of: host,
                        port: port,
                        settings,
                        on: executor
                    )
                    return PinCommand.report(shown, host, settings)
                } catch {
                    StandardError.print("Error: \(error.sentence)")
                    return .failure
                }
            }
        } catch {
            StandardError.print("Error: no event loop: \(error.message)")
            throw ExitCode.failure
        }
        if code != .success { throw code }
    }

    private static func report(
        _ shown: PeerCertificates,
        _ host: Host,
        _ settings: UpstreamTLSSettings
    ) -> ExitCode {
        let anchors: TrustAnchors
        do throws(TLSFailure) {
            anchors = try TrustAnchors.load(
                settings.roots,
                environment: LocatedRules.environment
            )
        } catch {
            StandardError.print("Error: upstream.tls.roots: \(error.reason)")
            return .failure
        }
        let trust = PeerTrust(
            shown,
            host: host,
            anchors: anchors,
            now: SystemCall.wallMicroseconds() / 1_000_000,
            evidence: RevocationEvidence()
        )
        let report = PinReport(trust, host: host)
        StandardOutput.print(report.text)
        guard let problem = report.problem else { return .success }
        StandardError.print("Error: these certificates are not trusted: \(problem.sentence)")
        return .failure
    }
}

/// `HOST`, `HOST:PORT`, `[::1]:PORT`.
struct PinTarget: ExpressibleByArgument {
    let host: Host
    let port: UInt16

    init?(argument: String) {
        // With two colons and no brackets it is an IPv6 address.
        if let host = Host(argument) {
            self.host = host
            port = 443
            return
        }
        guard let (host, port) = AuthorityText.parse(Array(argument.utf8).span), let port else {
            return nil
        }
        self.host = host
        self.port = port
    }
}
