// TLS with an origin: the handshake, and the verdict on the certificates in its midst.
package import LupinCore
import LupinIO
import LupinPolicy
package import LupinTLS

/// Judges one server's certificates; keeps the verdict for the record.
final class TrustJudge {
    private let security: OriginSecurity
    private let host: Host
    private let wallSeconds: Int64
    /// The revocation answers fetched so far.
    var evidence = RevocationEvidence()
    private(set) var verdict: TrustVerdict?
    /// What the server presented, its own certificate first.
    private(set) var presented: [CertificateFacts] = []

    init(_ security: OriginSecurity, host: Host, wallSeconds: Int64) {
        self.security = security
        self.host = host
        self.wallSeconds = wallSeconds
    }

    func check(_ certificates: PeerCertificates) -> CertificateVerdict {
        let trust = PeerTrust(
            certificates,
            host: host,
            anchors: security.anchors,
            now: wallSeconds,
            evidence: evidence
        )
        let verdict = security.trust.policy.evaluate(trust)
        self.verdict = verdict
        presented = trust.presented
        if !verdict.pending.isEmpty { return .undecided }
        if verdict.awaitsStaple { return .awaitsStaple }
        return verdict.passed ? .accepted : .refused(verdict.problem?.refusal ?? .badCertificate)
    }

    /// The certificate that lupin has for the server.
    var clientIdentity: ClientIdentity? { security.clientIdentity(at: wallSeconds) }

    /// The ciphers that the server was offered.
    var ciphers: CipherChoice { security.ciphers }

    /// Whether the server was asked for a name.
    var hasSentName: Bool { host.address == nil }

    /// The verdict for the record.
    var record: TrustRecord {
        TrustRecord(policy: security.trust.name, verdict: verdict, leaf: presented.first)
    }
}

extension OriginConnector {
    /// Performs the TLS handshake with `host` on a connected channel.
    ///
    /// `hop` is the connection's key: its session ticket is kept under it. `protocols` are offered
    /// by ALPN, nil for those of the settings.
    func shakeHands(
        _ channel: Channel,
        _ security: OriginSecurity,
        with host: Host,
        _ hop: NextHop,
        protocols: [String]?,
        _ notes: ConnectionNotes
    ) async throws(LupinError) -> SecuredConnection {
        let begun = slot.loop.now
        let wallSeconds = worker.wallSecond
        let ticket = worker.servers.tickets.take(for: hop, now: wallSeconds)
        let judge = TrustJudge(
            security,
            host: host,
            wallSeconds: wallSeconds
        )
        let filter: TLSFilter
        do throws(TLSFailure) {
            let session = try TLSSession.client(
                security.context,
                serverName: host,
                protocols: protocols,
                resuming: ticket?.ticket
            ) { judge.check($0) }
            filter = TLSFilter(
                session,
                isClient: true,
                mayEndUnannounced: security.closeNotify == .optional
            )
        } catch {
            throw LupinError(.proxyInternalError, host: host.text, detail: "\(error)")
        }
        channel.insert(filter)
        let handshake = Handshake(
            channel: channel,
            filter: filter,
            slot: slot,
            readiness: .upstreamReadable | .upstreamWritable,
            interruptions: interruptions(),
            deadline: min(slot.loop.deadline(in: timeouts.tls), deadline)
        )
        try await run(handshake, judge, with: host, notes)
        while filter.wantsVerdict {
            // Merged with the answers of earlier rounds: the store may have dropped one, and
            // fetching it again would not end.
            let pending = judge.verdict?.pending ?? []
            let answers = try await revocationAnswers(to: pending, until: handshake.deadline)
            judge.evidence.answers.merge(answers) { $1 }
            filter.resume()
            try await run(handshake, judge, with: host, notes)
        }
        notes.timing.tls = Int64(slot.loop.now &- begun)
        notes.tls = filter.session.version
        if filter.session.isResumed, let ticket {
            return SecuredConnection(filter, trust: ticket.trust, judgedAt: ticket.judgedAt)
        }
        worker.servers.chains.note(judge.presented)
        return SecuredConnection(filter, trust: judge.record, judgedAt: wallSeconds)
    }

    private func run(
        _ handshake: Handshake,
        _ judge: TrustJudge,
        with host: Host,
        _ notes: ConnectionNotes
    ) async throws(LupinError) {
        do throws(HandshakeFailure) {
            try await handshake.run()
        } catch {
            notes.trust = judge.record
            worker.servers.chains.note(judge.presented)
            throw lupinError(error, judge, host: host)
        }
    }

    private func lupinError(
        _ failure: HandshakeFailure,
        _ judge: TrustJudge,
        host: Host
    ) -> LupinError {
        switch failure {
        case .timedOut:
            return LupinError(
                .connectionTimeout,
                host: host.text,
                detail: "No TLS connection within timeouts.tls."
            )
        case .interrupted(let reasons): return reasons.meets(.cut) ? .stopping : .clientGone
        case .broken(let reason):
            let question = judge.presented.isEmpty ? " \(TLSFailure.portQuestion)" : ""
            return LupinError(
                .tlsProtocolError,
                host: host.text,
                detail: "The connection broke in the TLS handshake: \(reason).\(question)"
            )
        case .tls(let failure):
            switch failure.kind {
            case .certificateRefused:
                return LupinError(
                    .tlsCertificateError,
                    host: host.text,
                    detail: judge.verdict?.problem?.sentence ?? "\(failure)."
                )
            default:
                let hasShown = !judge.presented.isEmpty
                return LupinError(
                    failure,
                    host: host.text,
                    hasShownCertificate: hasShown,
                    identity: judge.clientIdentity,
                    ciphers: judge.ciphers,
                    hasSentName: judge.hasSentName
                )
            }
        }
    }
}

extension LupinError {
    /// The error for a TLS failure with an upstream.
    ///
    /// `hasShownCertificate` is whether the upstream's certificate had come, `identity` what lupin
    /// has for it, `ciphers` what was offered, and `hasSentName` whether a name was asked for.
    package init(
        _ failure: TLSFailure,
        host: String,
        hasShownCertificate: Bool,
        identity: ClientIdentity?,
        ciphers: CipherChoice,
        hasSentName: Bool = true
    ) {
        let advice = failure.advice(
            hasShownCertificate: hasShownCertificate,
            identity: identity,
            ciphers: ciphers,
            hasSentName: hasSentName
        )
        let detail = "\(failure)." + (advice.map { " \($0)" } ?? "")
        switch failure.kind {
        case .alertReceived, .peerRejectedOurCertificate:
            self.init(.tlsAlertReceived, host: host, detail: detail)
        default: self.init(.tlsProtocolError, host: host, detail: detail)
        }
        let usual = failure.advice(
            hasShownCertificate: hasShownCertificate,
            hasSentName: hasSentName
        )
        guard let identity, advice != usual else { return }
        ownersDetail = "Its file is \(identity.file)."
    }
}
