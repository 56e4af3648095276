// What is advised where a server ends the handshake.
import LupinTLS
import Testing

struct TLSAdviceTests {
    private static let certificate = "client certificate"
    private static let ciphers = "tls: {ciphers:"

    @Test(
        arguments: [
            (.alertReceived(.handshakeFailure), false, ciphers),
            (.alertReceived(.handshakeFailure), true, certificate),
            (.alertReceived(.insufficientSecurity), false, ciphers),
            (.alertReceived(.certificateRequired), true, certificate),
            (.peerRejectedOurCertificate(.unknownAuthority), true, certificate),
            (.alertReceived(.unrecognizedName), false, "does not know the name"),
            (.unsupportedVersion, false, "by no setting"),
            (.insecureRenegotiation, false, "RFC 5746"),
            (.renegotiation, true, "client_cert"),
            (.notTLS, false, "Does the port speak TLS"), (.truncated, false, "speak TLS"),
            (.truncated, true, nil),
            (.alertReceived(TLSAlert(rawValue: 80)), true, nil),
        ] as [(TLSFailure.Kind, Bool, String?)]
    )
    func `the alert and how far it came decide`(
        kind: TLSFailure.Kind,
        hasShownCertificate: Bool,
        words: String?
    ) {
        let failure = TLSFailure(kind, reason: "")
        let advice = failure.advice(hasShownCertificate: hasShownCertificate)
        if let words {
            #expect(advice?.contains(words) == true)
        } else {
            #expect(advice == nil)
        }
    }

    @Test func `a name that was not sent is not one that the server does not know`() {
        let failure = TLSFailure(.alertReceived(.unrecognizedName), reason: "")
        let advice = failure.advice(hasShownCertificate: false, hasSentName: false)
        #expect(advice?.contains("none was sent") == true)
        #expect(advice?.contains("does not know") == false)
        let other = TLSFailure(.alertReceived(.handshakeFailure), reason: "")
        let usual = other.advice(hasShownCertificate: false)
        #expect(other.advice(hasShownCertificate: false, hasSentName: false) == usual)
    }

    @Test(arguments: [
        (CipherChoice.standard, "If it speaks TLS 1.2, a rule with tls: {ciphers:"),
        (.ofRule, "The rule's `ciphers` may lack one"), (.ofTLS13, "which. lupin's groups are"),
    ])
    func `other ciphers are advised only where they may help`(
        ciphers: CipherChoice,
        words: String
    ) throws {
        let failure = TLSFailure(.alertReceived(.handshakeFailure), reason: "")
        let advice = failure.advice(hasShownCertificate: false, ciphers: ciphers)
        let text = try #require(advice)
        #expect(text.contains(words))
        #expect(text.contains("ALL:@SECLEVEL=0") == (ciphers == .standard))
        #expect(text.contains("intercept.except"))
    }

    @Test(arguments: [CipherChoice.standard, .ofRule, .ofTLS13])
    func `a server without a version in common leads to the setting that offers one`(
        ciphers: CipherChoice
    ) throws {
        let failure = TLSFailure(.unsupportedVersion, reason: "")
        let advice = failure.advice(hasShownCertificate: false, ciphers: ciphers)
        let text = try #require(advice)
        #expect(text.contains("upstream.tls.min") == (ciphers == .ofTLS13))
        #expect(text.contains("intercept.except") == (ciphers != .ofTLS13))
    }

    @Test(
        arguments: [
            (
                .peerRejectedOurCertificate(.certificateExpired), "2026-03-31",
                "which expired on 2026"
            ),
            (.peerRejectedOurCertificate(.unknownAuthority), nil, "the CA that signed"),
            (.alertReceived(.handshakeFailure), nil, "may have refused"),
        ] as [(TLSFailure.Kind, String?, String)]
    )
    func `a certificate that was set and refused is told, and never its file`(
        kind: TLSFailure.Kind,
        expiry: String?,
        words: String
    ) {
        let identity = ClientIdentity(file: "/etc/my.pem", expiry: expiry)
        let failure = TLSFailure(kind, reason: "")
        let advice = failure.advice(hasShownCertificate: true, identity: identity)
        #expect(advice?.contains("refused the client certificate") == true)
        #expect(advice?.contains("/etc") == false)
        #expect(advice?.contains(words) == true)
    }
}
