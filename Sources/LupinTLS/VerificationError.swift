// Translates OpenSSL's verification errors into problems for users.
import COpenSSL
import LupinCore

/// One of OpenSSL's `X509_V_ERR_…` about a certificate of a path.
struct VerificationError {
    private let code: Int32
    private let depth: Int
    /// As far as it was built, with the server's certificate at least.
    private let path: [Certificate]
    /// Certificates with the name of the issuer that ``orphan`` lacks.
    var namesakes: [Certificate] = []

    init(_ code: Int32, at depth: Int, of path: [Certificate]) {
        self.code = code
        self.depth = depth
        self.path = path
    }

    /// The certificate whose issuer was not found; nil for any other error.
    var orphan: Certificate? {
        switch code {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            certificate
        default: nil
        }
    }

    /// Whether a certificate is not signed by the issuer above it.
    var isBadSignature: Bool { code == X509_V_ERR_CERT_SIGNATURE_FAILURE }

    /// The problem, and the index of the certificate without which there may be another path.
    func problem(limit: Int?) -> (TrustProblem, Int) {
        switch code {
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION,
            X509_V_ERR_SUBTREE_MINMAX, X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX, X509_V_ERR_UNSUPPORTED_NAME_SYNTAX,
            X509_V_ERR_UNSPECIFIED:
            // OpenSSL reports the certificate that breaks a constraint, not the one that has it.
            return NameConstraints.violation(of: path, at: depth) ?? (plainProblem(limit), depth)
        case X509_V_ERR_NO_EXPLICIT_POLICY:
            // OpenSSL reports no certificate at all.
            let index = path.firstIndex { certificate in
                CertificateContents(certificate.der)?
                    .value(CertificateContents.Identifier.policyConstraints) != nil
            }
            let name = Self.name(path[index ?? 0], isServers: index ?? 0 == 0)
            let sentence = "\(name) demands certificate policies that the path does not have."
            return (TrustProblem(.constraint, sentence), index ?? 0)
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            // Another issuer of the name may have the key.
            return (plainProblem(limit), min(depth + 1, path.count - 1))
        default: return (plainProblem(limit), depth)
        }
    }

    private var certificate: Certificate? {
        path.indices.contains(depth) ? path[depth] : path.last
    }

    /// The error as a problem of the certificate that OpenSSL reports.
    private func plainProblem(_ limit: Int?) -> TrustProblem {
        let name = Self.name(certificate, isServers: depth == 0)
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let day = certificate?.notAfter.map { " on \(CertificateTime.text($0))" } ?? ""
            return TrustProblem(.expired, "\(name) expired\(day).")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            let day = certificate?.notBefore.map { " from \(CertificateTime.text($0)) on" } ?? ""
            return TrustProblem(.notYetValid, "\(name) is valid only\(day), or the clock is wrong.")
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return TrustProblem(.selfSigned, "\(name) is self-signed, and not one that is trusted.")
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            let subject = certificate.map { " “\($0.subjectText)”" } ?? ""
            return TrustProblem(.chain, "The authority\(subject) is not trusted.")
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return TrustProblem(.chain, "\(name) was not signed by the authority that it names.")
        case X509_V_ERR_CERT_CHAIN_TOO_LONG:
            return TrustProblem(.chain, Self.tooLong(limit))
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL:
            return TrustProblem(.weak, "The key of \(Self.lowercased(name)) is too weak.")
        case X509_V_ERR_CA_MD_TOO_WEAK:
            return TrustProblem(.weak, "\(name) is signed with a weak algorithm.")
        case X509_V_ERR_ISSUER_NAME_EMPTY:
            let sentence = "The CA of \(Self.lowercased(name)) has no name: its subject is empty."
            return TrustProblem(.malformed, sentence)
        case X509_V_ERR_INVALID_POLICY_EXTENSION:
            return TrustProblem(.malformed, "\(name) has malformed certificate policies.")
        default:
            if orphan != nil { return missingIssuer(name) }
            return TrustProblem(kind, "\(name) \(ownReason ?? "is unusable: \(reason)").")
        }
    }

    private var kind: TrustProblem.Kind {
        switch code {
        case X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_INVALID_CA,
            X509_V_ERR_CERT_REJECTED, X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION,
            X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_PERMITTED_VIOLATION,
            X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
            X509_V_ERR_UNSUPPORTED_NAME_SYNTAX, X509_V_ERR_INVALID_NON_CA:
            return .constraint
        case X509_V_ERR_INVALID_EXTENSION, X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD,
            X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD, X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH,
            X509_V_ERR_SIGNATURE_ALGORITHM_INCONSISTENCY, X509_V_ERR_PATHLEN_INVALID_FOR_NON_CA,
            X509_V_ERR_PATHLEN_WITHOUT_KU_KEY_CERT_SIGN,
            X509_V_ERR_KU_KEY_CERT_SIGN_INVALID_FOR_NON_CA,
            X509_V_ERR_SUBJECT_NAME_EMPTY, X509_V_ERR_MISSING_AUTHORITY_KEY_IDENTIFIER,
            X509_V_ERR_MISSING_SUBJECT_KEY_IDENTIFIER, X509_V_ERR_EMPTY_SUBJECT_ALT_NAME,
            X509_V_ERR_EMPTY_SUBJECT_SAN_NOT_CRITICAL, X509_V_ERR_CA_BCONS_NOT_CRITICAL,
            X509_V_ERR_AUTHORITY_KEY_IDENTIFIER_CRITICAL,
            X509_V_ERR_SUBJECT_KEY_IDENTIFIER_CRITICAL, X509_V_ERR_CA_CERT_MISSING_KEY_USAGE,
            X509_V_ERR_EXTENSIONS_REQUIRE_VERSION_3, X509_V_ERR_EC_KEY_EXPLICIT_PARAMS:
            return .malformed
        default: return .chain
        }
    }

    /// The reason where OpenSSL's text has less to say; nil elsewhere.
    private var ownReason: String? {
        guard let certificate, let contents = CertificateContents(certificate.der) else {
            return nil
        }
        switch code {
        case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
            return CertificatePurpose.authorityFlaw(contents)
        case X509_V_ERR_INVALID_EXTENSION: return ExtensionForm.flaw(contents)?.1
        default: return nil
        }
    }

    /// OpenSSL's text for it.
    private var reason: String {
        // Safety: the text is a constant of the library.
        unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) }
            ?? "error \(code)"
    }

    private static func tooLong(_ limit: Int?) -> String {
        guard let limit else { return "The path to a trusted authority is too long." }
        return "The path to a trusted authority is longer than max_depth (\(limit)) of the trust"
            + " policy allows."
    }

    /// “The certificate of …”, to begin a sentence.
    static func name(_ certificate: Certificate?, isServers: Bool) -> String {
        if isServers { return "The server's certificate" }
        guard let certificate else { return "A certificate of the path" }
        return "The certificate “\(certificate.subjectText)”"
    }

    private static func lowercased(_ name: String) -> String { "t" + name.dropFirst() }
}

// MARK: Without issuer

extension VerificationError {
    /// Why no issuer was found, though there may be certificates with its name.
    ///
    /// OpenSSL does not take a certificate for an issuer if it can't read an extension of either,
    /// or if their key identifiers differ.
    private func missingIssuer(_ name: String) -> TrustProblem {
        guard let orphan else {
            return TrustProblem(.chain, "\(name) is not signed by a trusted authority.")
        }
        if let (kind, flaw) = orphan.encodingFlaw { return TrustProblem(kind, "\(name) \(flaw).") }
        for issuer in namesakes {
            guard let (kind, flaw) = issuer.encodingFlaw else { continue }
            return TrustProblem(kind, "\(Self.name(issuer, isServers: false)) \(flaw).")
        }
        if let flaw = namesakes.lazy.compactMap({ orphan.mismatch(with: $0) }).first {
            return TrustProblem(.chain, "\(name) \(flaw).")
        }
        guard !orphan.issuerText.isEmpty else {
            return TrustProblem(.malformed, "\(name) names no authority: its issuer is empty.")
        }
        return TrustProblem(
            .chain,
            "\(name) is not signed by a trusted authority: “\(orphan.issuerText)” is unknown, or"
                + " the server left out a certificate between."
        )
    }
}

extension Certificate {
    /// Whether another certificate has the name of this one's issuer.
    func isIssuerNamed(by other: Certificate) -> Bool {
        // Safety: both certificates are held through the call.
        unsafe withX509 { certificate in
            unsafe other.withX509 { issuer in
                unsafe X509_NAME_cmp(
                    X509_get_issuer_name(certificate),
                    X509_get_subject_name(issuer)
                ) == 0
            }
        }
    }

    /// What is wrong with the encoding of its extensions; nil for nothing.
    fileprivate var encodingFlaw: (TrustProblem.Kind, String)? {
        guard let contents = CertificateContents(der) else {
            return (.malformed, "is not readable")
        }
        if let flaw = ExtensionForm.flaw(contents) { return flaw }
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: the certificate is held through the call.
        let flags = unsafe withX509 { unsafe X509_get_extension_flags($0) }
        return flags & UInt32(EXFLAG_INVALID) == 0
            ? nil : (.malformed, "has extensions that are malformed or contradict each other")
    }

    /// Why a certificate with the name of the issuer is not that of the issuer; nil if it may be.
    fileprivate func mismatch(with issuer: Certificate) -> String? {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: both certificates are held through the call.
        let error = unsafe withX509 { certificate in
            unsafe issuer.withX509 { unsafe X509_check_issued($0, certificate) }
        }
        switch error {
        case X509_V_ERR_AKID_SKID_MISMATCH, X509_V_ERR_AKID_ISSUER_SERIAL_MISMATCH:
            if issuer.der == der {
                return isSigned(by: self)
                    ? "has an authorityKeyIdentifier that is not its own" : nil
            }
            return "names another key of “\(issuerText)” than the certificate at hand"
                + " (authorityKeyIdentifier)"
        case X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH:
            return "is signed with another kind of key than “\(issuerText)” has"
        default: return nil
        }
    }
}
