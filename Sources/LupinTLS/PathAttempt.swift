// One attempt of OpenSSL to build a path and to verify it.
import COpenSSL

/// Path validation by RFC 5280 §6, as strict as OpenSSL allows.
///
/// OpenSSL tries one path only, the first that it finds. ``ChainVerification`` makes more attempts.
struct PathAttempt {
    /// The path, as far as OpenSSL built it: at least the server's certificate.
    private(set) var path: [Certificate]
    /// Why the path is not good; nil if it is.
    private(set) var error: VerificationError?

    /// A certificate that an attempt must not use as an issuer.
    struct Exclusion {
        let issuer: Certificate
        /// The one that it must not be the issuer of; nil for all.
        let issued: Certificate?
    }

    /// 112 bits: RSA of 2048 bits and more, and neither SHA-1 nor MD5 except on the anchor.
    private static let securityLevel: Int32 = 2

    /// - Parameters:
    ///   - leaf: The server's certificate.
    ///   - helpers: Untrusted certificates for the path.
    ///   - exclusions: What the path must not have above the server's certificate.
    ///   - anchors: Where the path may end.
    ///   - intermediatesMax: How many certificates may be between the server's and the anchor.
    ///   - now: Seconds since 1970.
    init(
        of leaf: Certificate,
        _ helpers: [Certificate],
        without exclusions: [Exclusion],
        to anchors: TrustAnchors,
        intermediatesMax: Int,
        now: Int64
    ) {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        path = [leaf]
        error = VerificationError(X509_V_ERR_OUT_OF_MEM, at: 0, of: [leaf])
        // Safety: the list borrows certificates that `helpers` holds until the end of the function.
        guard let list = unsafe openssl_chain_new() else { return }
        defer { unsafe openssl_chain_free_list(list) }
        for helper in helpers { _ = unsafe helper.withX509 { unsafe openssl_chain_push(list, $0) } }
        guard let verification = unsafe X509_STORE_CTX_new() else { return }
        defer { unsafe X509_STORE_CTX_free(verification) }
        let isReady = unsafe anchors.withStore { store in
            unsafe leaf.withX509 { unsafe X509_STORE_CTX_init(verification, store, $0, list) == 1 }
        }
        let leftOut = LeftOut(exclusions, anchors)
        guard isReady, unsafe leftOut.attach(to: verification),
            unsafe Self.configure(verification, anchors, intermediatesMax, now)
        else { return }
        let result = unsafe X509_verify_cert(verification)
        let built = unsafe Self.certificates(X509_STORE_CTX_get0_chain(verification))
        if !built.isEmpty { path = built }
        if result == 1 {
            error = nil
        } else {
            let depth = Int(unsafe X509_STORE_CTX_get_error_depth(verification))
            let code = unsafe X509_STORE_CTX_get_error(verification)
            error = VerificationError(code, at: depth, of: path)
            if let orphan = error?.orphan {
                error?.namesakes =
                    helpers.filter { orphan.isIssuerNamed(by: $0) }
                    + (unsafe Self.anchors(namedBy: orphan, verification))
            }
        }
        withExtendedLifetime((helpers, leaf, anchors, leftOut)) {}
    }

    private static func configure(
        _ verification: OpaquePointer,
        _ anchors: TrustAnchors,
        _ intermediatesMax: Int,
        _ now: Int64
    ) -> Bool {
        // Safety: the parameters belong to the verification, which the caller holds.
        guard unsafe X509_STORE_CTX_set_default(verification, "ssl_server") == 1,
            let parameters = unsafe X509_STORE_CTX_get0_param(verification)
        else { return false }
        var flags = UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_POLICY_CHECK)
        if anchors.demandsWebForm { flags |= UInt(X509_V_FLAG_X509_STRICT) }
        if anchors.mayBePartial { flags |= UInt(X509_V_FLAG_PARTIAL_CHAIN) }
        guard unsafe X509_VERIFY_PARAM_set_flags(parameters, flags) == 1,
            // `CertificatePurpose` decides.
            unsafe X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY) == 1,
            // Any policy will do (RFC 5280 §6.1.1 (c)); OpenSSL takes an empty set for none.
            unsafe X509_VERIFY_PARAM_add0_policy(parameters, OBJ_nid2obj(NID_any_policy)) == 1
        else { return false }
        unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(clamping: max(0, intermediatesMax)))
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, securityLevel)
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
        if error == X509_V_ERR_EMPTY_SUBJECT_SAN_NOT_CRITICAL, depth == 0 {
            // Small CAs write so, and a user who names one in a file knows it.
            let leftOut = unsafe X509_STORE_CTX_get_ex_data(verification, 0)
            let anchor = unsafe certificates(X509_STORE_CTX_get0_chain(verification)).last
            guard let leftOut = unsafe leftOut, let anchor else { return 0 }
            let anchors = unsafe Unmanaged<LeftOut>.fromOpaque(leftOut).takeUnretainedValue()
                .anchors
            return anchors.isOfFile(anchor) ? 1 : 0
        }
        guard depth > 0, depth == count - 1 else { return 0 }
        switch error {
        case X509_V_ERR_CA_BCONS_NOT_CRITICAL, X509_V_ERR_CA_CERT_MISSING_KEY_USAGE,
            X509_V_ERR_MISSING_SUBJECT_KEY_IDENTIFIER:
            return 1
        default: return 0
        }
    }

    // MARK: Lists of certificates

    private static func certificates(_ list: OpaquePointer?) -> [Certificate] {
        guard let list = unsafe list else { return [] }
        return (0..<max(0, unsafe openssl_chain_count(list))).compactMap { i in
            // Safety: the new object takes a reference of its own.
            unsafe openssl_chain_get(list, i).map { unsafe Certificate(sharing: $0) }
        }
    }

    /// The anchors that have the name of a certificate's issuer.
    private static func anchors(
        namedBy certificate: Certificate,
        _ verification: OpaquePointer
    ) -> [Certificate] {
        // Safety: the list holds references of its own, and is freed here.
        let list = unsafe certificate.withX509 {
            unsafe X509_STORE_CTX_get1_certs(verification, X509_get_issuer_name($0))
        }
        defer { if let list = unsafe list { unsafe openssl_chain_free(list) } }
        return unsafe certificates(list)
    }
}

// MARK: What is left out

extension PathAttempt {
    /// Makes OpenSSL ask here whether one certificate may have issued another.
    static func prepare(_ store: OpaquePointer) {
        // Safety: no other thread has the store yet.
        unsafe X509_STORE_set_check_issued(store) { unsafe Self.mayIssue($0, $1, $2) }
    }

    /// The exclusions of one attempt, and its anchors.
    private final class LeftOut {
        let exclusions: [Exclusion]
        let anchors: TrustAnchors

        init(_ exclusions: [Exclusion], _ anchors: TrustAnchors) {
            self.exclusions = exclusions
            self.anchors = anchors
        }

        /// The caller holds this object for as long as the verification.
        func attach(to verification: OpaquePointer) -> Bool {
            // Safety: the verification has no reference, and is freed first.
            let me = unsafe Unmanaged.passUnretained(self).toOpaque()
            return unsafe X509_STORE_CTX_set_ex_data(verification, 0, me) == 1
        }
    }

    /// OpenSSL's own check of names, key identifiers and algorithms, and whether the issuer is left
    /// out.
    ///
    /// Whether the issuer may sign is checked later, and has an error of its own.
    private static func mayIssue(
        _ verification: OpaquePointer?,
        _ certificate: OpaquePointer?,
        _ issuer: OpaquePointer?
    ) -> Int32 {
        // Safety: OpenSSL lends all three for the call, in the attempt that holds the exclusions.
        switch unsafe X509_check_issued(issuer, certificate) {
        case X509_V_OK, X509_V_ERR_KEYUSAGE_NO_CERTSIGN,
            X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE:
            break
        default: return 0
        }
        guard let data = unsafe X509_STORE_CTX_get_ex_data(verification, 0) else { return 1 }
        let leftOut = unsafe Unmanaged<LeftOut>.fromOpaque(data).takeUnretainedValue()
        let isLeftOut = leftOut.exclusions.contains { exclusion in
            unsafe exclusion.issuer.isSame(as: issuer)
                && exclusion.issued.map { unsafe $0.isSame(as: certificate) } ?? true
        }
        return isLeftOut ? 0 : 1
    }
}

extension Certificate {
    fileprivate func isSame(as other: OpaquePointer?) -> Bool {
        // Safety: both certificates are held through the call.
        unsafe withX509 { unsafe X509_cmp($0, other) == 0 }
    }
}
