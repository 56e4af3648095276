// Translates OpenSSL's verification errors into problems for users.
import COpenSSL
import LupinCore

/// One of OpenSSL's `X509_V_ERR_…`.
struct VerificationError {
    private let code: Int32

    /// Whether a name violates the name constraints of a CA above it.
    var isNameConstraint: Bool {
        code == X509_V_ERR_PERMITTED_VIOLATION || code == X509_V_ERR_EXCLUDED_VIOLATION
    }

    init(_ code: Int32) { self.code = code }

    /// The error as a problem of the certificate at `depth` of a path that a policy may limit.
    func problem(at depth: Int, of path: [Certificate], limit: Int?) -> TrustProblem {
        let certificate = depth >= 0 && depth < path.count ? path[depth] : path.last
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
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return TrustProblem(.chain, Self.missingIssuer(certificate, name))
        case X509_V_ERR_CERT_SIGNATURE_FAILURE:
            return TrustProblem(.chain, "\(name) was not signed by the authority that it names.")
        case X509_V_ERR_CERT_CHAIN_TOO_LONG:
            return TrustProblem(.chain, Self.tooLong(limit))
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL:
            return TrustProblem(.weak, "The key of \(Self.lowercased(name)) is too weak.")
        case X509_V_ERR_CA_MD_TOO_WEAK:
            return TrustProblem(.weak, "\(name) is signed with a weak algorithm.")
        default: return TrustProblem(kind, "\(name) is unusable: \(reason).")
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
            X509_V_ERR_KU_KEY_CERT_SIGN_INVALID_FOR_NON_CA, X509_V_ERR_ISSUER_NAME_EMPTY,
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

    private static func missingIssuer(_ certificate: Certificate?, _ name: String) -> String {
        guard let certificate else { return "\(name) is not signed by a trusted authority." }
        return "\(name) is not signed by a trusted authority: “\(certificate.issuerText)” is"
            + " unknown, or the server left out a certificate between."
    }

    /// “The certificate of …”, to begin a sentence.
    static func name(_ certificate: Certificate?, isServers: Bool) -> String {
        if isServers { return "The server's certificate" }
        guard let certificate else { return "A certificate of the path" }
        return "The certificate “\(certificate.subjectText)”"
    }

    private static func lowercased(_ name: String) -> String { "t" + name.dropFirst() }
}
