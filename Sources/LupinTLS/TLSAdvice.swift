// What may help where a server ends the handshake: a table from its alert to advice.
import LupinCore

/// The certificate that lupin shows to a server that asks for one, as users know it.
package struct ClientIdentity: Sendable {
    package let file: String
    /// The day on which it expired; nil while it is valid.
    let expiry: String?

    package init(file: String, expiry: String?) {
        self.file = file
        self.expiry = expiry
    }
}

extension TLSFailure {
    /// What a user may change, as a sentence; nil where nothing is known to help.
    ///
    /// `hasShownCertificate` is whether the server's certificate had come: then the two sides had a
    /// version and a cipher in common, and the same alert means something else. `identity` is the
    /// certificate that lupin has for the server, `ciphers` whether other ciphers may help, and
    /// `hasSentName` whether the server was asked for a name.
    package func advice(
        hasShownCertificate: Bool,
        identity: ClientIdentity? = nil,
        ciphers: CipherChoice = .standard,
        hasSentName: Bool = true
    ) -> String? {
        switch kind {
        case .alertReceived(.unrecognizedName) where !hasSentName:
            "The server wants to be asked for a name, and none was sent, since the URL has an "
                + "address."
        case .alertReceived(let alert): Self.advice(alert, hasShownCertificate, identity, ciphers)
        case .peerRejectedOurCertificate:
            identity.map { "The server refused \($0.sentence)" } ?? Self.certificate
        case .unsupportedVersion where ciphers == .ofTLS13:
            "Only TLS 1.3 is offered, and the server may not know it: tls: {min: 1.2} in a rule, "
                + "or upstream.tls.min, allows TLS 1.2."
        case .unsupportedVersion:
            "The server may know only versions before TLS 1.2, which lupin speaks by no setting: "
                + "the server needs an update, or a tunnel past lupin (intercept.except)."
        case .insecureRenegotiation:
            "The server has no secure renegotiation (RFC 5746), and lupin's TLS demands it: the "
                + "server needs an update, or a tunnel past lupin (intercept.except)."
        case .renegotiation:
            "Servers do so in TLS 1.2 to ask for a client certificate; in TLS 1.3 lupin shows it "
                + "whenever it is asked (client_cert in a rule). Else use a tunnel past lupin "
                + "(intercept.except)."
        case .notTLS, .protocolError, .truncated:
            hasShownCertificate ? nil : Self.portQuestion
        case .certificateRefused, .noSharedProtocol, .oversized, .badIdentity, .badSetting,
            .internal:
            nil
        }
    }

    /// What is asked where nothing of TLS has come.
    package static let portQuestion = "Does the port speak TLS, and TLS 1.2 or newer?"

    private static func advice(
        _ alert: TLSAlert,
        _ hasShownCertificate: Bool,
        _ identity: ClientIdentity?,
        _ ciphers: CipherChoice
    ) -> String? {
        switch alert {
        case .handshakeFailure where hasShownCertificate:
            identity.map { "The server may have refused \($0.sentence)" } ?? certificate
        case .certificateRequired: certificate
        case .handshakeFailure, .insufficientSecurity:
            Self.nothingInCommon(ciphers)
        case .unrecognizedName: "The server does not know the name that it is asked for."
        default: nil
        }
    }

    /// The alert does not say which (RFC 8446 §6.2), nor which version the server speaks.
    private static func nothingInCommon(_ ciphers: CipherChoice) -> String {
        "The two sides may have no cipher, no signature algorithm or no group in common; the "
            + "server does not say which. \(ciphers.sentence)lupin's groups are "
            + TLSContext.groups.replacing(":", with: ", ")
            + ": for a server that takes none of them, use a tunnel past lupin (intercept.except)."
    }

    private static let certificate =
        "It may want a client certificate: client_cert in a rule, or upstream.tls.client_cert."
}

/// Which ciphers lupin offers to a server, as far as it matters to advice.
package enum CipherChoice: Sendable {
    /// Those of every connection.
    case standard
    /// Those of a rule.
    case ofRule
    /// Those of TLS 1.3, since no older version is offered.
    case ofTLS13

    /// What to change, as a sentence and a blank; empty where nothing helps.
    fileprivate var sentence: String {
        switch self {
        case .standard:
            "If it speaks TLS 1.2, a rule with tls: {ciphers: \"ALL:@SECLEVEL=0\"} allows its "
                + "ciphers and its signatures, weak ones too; in TLS 1.3 that changes nothing. "
        case .ofRule: "The rule's `ciphers` may lack one that it knows. "
        case .ofTLS13: ""
        }
    }
}

extension ClientIdentity {
    /// The object of a sentence, and what may be wrong with it; never the file, since every client
    /// is told.
    fileprivate var sentence: String {
        expiry.map { "the client certificate, which expired on \($0)." }
            ?? "the client certificate. Does it know the CA that signed that?"
    }
}
