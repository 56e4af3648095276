// Finds a path from a server's certificate to a trust anchor, and verifies it with OpenSSL.
import COpenSSL
import LupinCore

/// Path validation by RFC 5280 §6 for a TLS server, as strict as OpenSSL allows.
///
/// ``CertificateForm`` and ``NameConstraints`` add the checks that OpenSSL lacks.
struct ChainVerification {
    let anchors: TrustAnchors
    /// The host that the CAs of the path must be allowed to name; nil for any.
    let host: Host?
    /// The policy's maximum of certificates between the server's and the anchor; nil for none.
    let limit: Int?
    /// Seconds since 1970.
    let now: Int64

    /// 112 bits: RSA of 2048 bits and more, and neither SHA-1 nor MD5 except on the anchor.
    private static let securityLevel: Int32 = 2
    /// How often a failing intermediate is left out to search for another path.
    private static let detoursMax = 4

    /// The path from the first of `presented` to an anchor, both included.
    ///
    /// OpenSSL tries one path only. If an intermediate makes it fail (expired, constrained, or with
    /// an unknown issuer), this leaves out that intermediate and tries again, since there may be
    /// another certificate for its key.
    func path(_ presented: [Certificate]) -> Result<[Certificate], TrustProblem> {
        guard let leaf = presented.first else {
            return .failure(TrustProblem(.chain, "The server showed no certificate."))
        }
        var helpers = Array(presented.dropFirst())
        var first: TrustProblem?
        for _ in 0...Self.detoursMax {
            let attempt = verify(leaf, helpers)
            let problem: TrustProblem
            var culprit = attempt.culprit
            if let found = attempt.problem {
                problem = found
            } else if let (found, index) = CertificateForm.problem(of: attempt.path, anchors) {
                problem = found
                culprit = index
            } else if let (found, index) = NameConstraints.problem(of: attempt.path, host: host) {
                problem = found
                culprit = index
            } else {
                return .success(attempt.path)
            }
            if first == nil { first = problem }
            guard culprit > 0, culprit < attempt.path.count else { break }
            let spoiler = attempt.path[culprit].der
            let count = helpers.count
            helpers.removeAll { $0.der == spoiler }
            // Certificates from the anchors can't be left out.
            if helpers.count == count { break }
        }
        return .failure(first ?? TrustProblem(.chain, "No path to a trusted authority was found."))
    }

    private struct Attempt {
        /// The path as far as OpenSSL built it.
        var path: [Certificate] = []
        var problem: TrustProblem?
        /// The index of the failing certificate in the path.
        var culprit = 0
    }

    private func verify(_ leaf: Certificate, _ helpers: [Certificate]) -> Attempt {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let failed = Attempt(problem: TrustProblem(.chain, "OpenSSL could not verify the path."))
        // Safety: the list borrows certificates that `helpers` holds until the end of the function.
        guard let list = unsafe openssl_chain_new() else { return failed }
        defer { unsafe openssl_chain_free_list(list) }
        for helper in helpers { _ = unsafe helper.withX509 { unsafe openssl_chain_push(list, $0) } }
        guard let verification = unsafe X509_STORE_CTX_new() else { return failed }
        defer { unsafe X509_STORE_CTX_free(verification) }
        let isReady = unsafe anchors.withStore { store in
            unsafe leaf.withX509 { unsafe X509_STORE_CTX_init(verification, store, $0, list) == 1 }
        }
        guard isReady, unsafe configure(verification) else { return failed }
        let result = unsafe X509_verify_cert(verification)
        var attempt = Attempt()
        if let chain = unsafe X509_STORE_CTX_get0_chain(verification) {
            for i in 0..<max(0, unsafe openssl_chain_count(chain)) {
                guard let certificate = unsafe openssl_chain_get(chain, i) else { continue }
                unsafe attempt.path.append(Certificate(sharing: certificate))
            }
        }
        if result != 1 {
            let error = VerificationError(unsafe X509_STORE_CTX_get_error(verification))
            let depth = Int(unsafe X509_STORE_CTX_get_error_depth(verification))
            let path = attempt.path.isEmpty ? [leaf] : attempt.path
            attempt.problem = error.problem(at: depth, of: path, limit: limit)
            // OpenSSL reports the certificate that breaks a constraint, not the one that has it.
            let isLeafConstrained = depth == 0 && error.isNameConstraint
            attempt.culprit = isLeafConstrained ? CertificateForm.firstConstrained(path) : depth
        }
        withExtendedLifetime((helpers, leaf, anchors)) {}
        return attempt
    }

    private func configure(_ verification: OpaquePointer) -> Bool {
        // Safety: the parameters belong to the verification, which the caller holds.
        guard unsafe X509_STORE_CTX_set_default(verification, "ssl_server") == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(verification)
        else { return false }
        var flags = UInt(X509_V_FLAG_TRUSTED_FIRST)
        if anchors.demandsWebForm { flags |= UInt(X509_V_FLAG_X509_STRICT) }
        if anchors.mayBePartial { flags |= UInt(X509_V_FLAG_PARTIAL_CHAIN) }
        guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1,
            unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER) == 1
        else { return false }
        let intermediatesMax = min(limit ?? .max, TrustPathDemand.intermediatesMax)
        unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(clamping: max(0, intermediatesMax)))
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(now))
        unsafe X509_STORE_CTX_set_verify_cb(verification) { unsafe Self.decide($0, $1) }
        return true
    }

    /// Accepts an anchor of any form, and a certificate in its last second.
    ///
    /// RFC 5280 §6.1.1 takes the anchor as given. Validity is "through notAfter, inclusive"
    /// (§4.1.2.5), and OpenSSL ends it a second early. Some roots in use would fail: Go Daddy and
    /// Starfield Class 2 and ePKI have no keyUsage and uncritical basicConstraints, TWCA Global has
    /// no subjectKeyIdentifier, and most roots made by `openssl req -x509` have no keyUsage.
    private static func decide(_ passed: Int32, _ verification: OpaquePointer?) -> Int32 {
        // Safety: OpenSSL lends the verification for the call.
        guard passed == 0 else { return passed }
        let depth = unsafe X509_STORE_CTX_get_error_depth(verification)
        let count = unsafe openssl_chain_count(X509_STORE_CTX_get0_chain(verification))
        let error = unsafe X509_STORE_CTX_get_error(verification)
        if error == X509_V_ERR_CERT_HAS_EXPIRED,
            let parameters = unsafe X509_STORE_CTX_get0_param(verification),
            let certificate = unsafe X509_STORE_CTX_get_current_cert(verification)
        {
            let end = unsafe CertificateTime.seconds(X509_get0_notAfter(certificate))
            return unsafe end == Int64(X509_VERIFY_PARAM_get_time(parameters)) ? 1 : 0
        }
        guard depth > 0, depth == count - 1 else { return 0 }
        switch error {
        case X509_V_ERR_CA_BCONS_NOT_CRITICAL, X509_V_ERR_CA_CERT_MISSING_KEY_USAGE,
            X509_V_ERR_MISSING_SUBJECT_KEY_IDENTIFIER:
            return 1
        default: return 0
        }
    }
}
