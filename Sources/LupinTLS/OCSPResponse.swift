// Makes OCSP requests and evaluates OCSP responses (RFC 6960).
import COpenSSL

enum OCSPResponse {
    /// Single responses that are checked in one response; responders send one or few.
    private static let singlesMax: Int32 = 64

    /// A request in DER about one certificate, without a nonce, so that responses can be cached.
    static func request(_ check: RevocationCheck) -> [UInt8]? {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: the request takes over the identifier that is added to it.
        guard let request = unsafe OCSP_REQUEST_new() else { return nil }
        defer { unsafe OCSP_REQUEST_free(request) }
        // Responders expect SHA-1 (RFC 5019 §2.1.1); it protects nothing here.
        guard let identifier = unsafe identifier(check, EVP_sha1()) else { return nil }
        guard unsafe OCSP_request_add0_id(request, identifier) != nil else {
            unsafe OCSP_CERTID_free(identifier)
            return nil
        }
        var encoding: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_OCSP_REQUEST(request, &encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, length > 0 else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: encoding, count: Int(length)))
    }

    /// The certificate's status in a response in DER.
    static func status(_ encoding: [UInt8], _ check: RevocationCheck) -> RevocationStatus {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: each object that is made is freed here.
        guard let response = unsafe parse(encoding) else {
            return .unusable("is no OCSP response")
        }
        defer { unsafe OCSP_RESPONSE_free(response) }
        let outcome = unsafe OCSP_response_status(response)
        guard outcome == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            return .unusable("is an error: \(name(outcome))")
        }
        guard let basic = unsafe OCSP_response_get1_basic(response) else {
            return .unusable("is of an unknown kind")
        }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        guard unsafe RevocationSignature.isStrong(OCSP_resp_get0_tbs_sigalg(basic)) else {
            return .unusable("is signed with a weak algorithm")
        }
        guard unsafe isSigned(basic, check) else {
            return .unusable("is not signed by the issuer or a delegate of it")
        }
        return unsafe status(basic, check)
    }

    /// The earliest end of a response's answers, in seconds since 1970; nil if none has one.
    ///
    /// Nothing is verified.
    static func end(_ encoding: [UInt8]) -> Int64? {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: each object made here is freed here; the singles belong to `basic`.
        guard let response = unsafe parse(encoding) else { return nil }
        defer { unsafe OCSP_RESPONSE_free(response) }
        guard unsafe OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = unsafe OCSP_response_get1_basic(response)
        else { return nil }
        defer { unsafe OCSP_BASICRESP_free(basic) }
        var end: Int64?
        for i in 0..<min(max(0, unsafe OCSP_resp_count(basic)), singlesMax) {
            var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            guard let single = unsafe OCSP_resp_get0(basic, i) else { continue }
            unsafe OCSP_single_get0_status(single, nil, nil, nil, &nextUpdate)
            guard let next = unsafe CertificateTime.seconds(nextUpdate) else { continue }
            end = min(end ?? next, next)
        }
        return end
    }

    private static func parse(_ encoding: [UInt8]) -> OpaquePointer? {
        // Safety: the reader moves `next` past the bytes it read, which are inside the array.
        unsafe encoding.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let parsed = unsafe d2i_OCSP_RESPONSE(nil, &next, bytes.count) else { return nil }
            if let base = bytes.baseAddress, unsafe next == base + bytes.count {
                return unsafe parsed
            }
            unsafe OCSP_RESPONSE_free(parsed)
            return nil
        }
    }

    /// Whether the issuer signed it, or a responder with an OCSP signing certificate of the issuer.
    private static func isSigned(_ basic: OpaquePointer, _ check: RevocationCheck) -> Bool {
        // Safety: the store and the list take references or lend for the calls below.
        guard let store = unsafe X509_STORE_new() else { return false }
        defer { unsafe X509_STORE_free(store) }
        guard let known = unsafe openssl_chain_new() else { return false }
        defer { unsafe openssl_chain_free_list(known) }
        let parameters = unsafe X509_STORE_get0_param(store)
        unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(check.now))
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        return unsafe check.issuer.withX509 { issuer in
            guard unsafe X509_STORE_add_cert(store, issuer) == 1,
                unsafe openssl_chain_push(known, issuer) > 0
            else { return false }
            // The issuer itself needs no further check: it is part of a verified path.
            let flags = UInt(OCSP_TRUSTOTHER | OCSP_NOEXPLICIT)
            return unsafe OCSP_basic_verify(basic, known, store, flags) == 1
        }
    }

    private static func status(_ basic: OpaquePointer, _ check: RevocationCheck) -> RevocationStatus
    {
        var result = RevocationStatus.unusable("is about other certificates")
        for i in 0..<min(max(0, unsafe OCSP_resp_count(basic)), singlesMax) {
            // Safety: singles and their times belong to the response, which the caller holds.
            guard let single = unsafe OCSP_resp_get0(basic, i),
                unsafe isAbout(OCSP_SINGLERESP_get0_id(single), check)
            else { continue }
            var revokedAt: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            let status = unsafe OCSP_single_get0_status(
                single,
                nil,
                &revokedAt,
                &thisUpdate,
                &nextUpdate
            )
            let next = unsafe CertificateTime.seconds(nextUpdate)
            if unsafe nextUpdate != nil, next == nil { return .unusable("has a time that is none") }
            let staleness = check.staleness(
                thisUpdate: unsafe CertificateTime.seconds(thisUpdate),
                nextUpdate: next
            )
            if let staleness {
                result = .unusable(staleness)
                continue
            }
            switch status {
            case V_OCSP_CERTSTATUS_GOOD: result = .good
            case V_OCSP_CERTSTATUS_REVOKED:
                return .revoked(unsafe CertificateTime.seconds(revokedAt))
            default: return .unusable("does not know the certificate")
            }
        }
        return result
    }

    /// Whether an `OCSP_CERTID` identifies the certificate, with any digest.
    private static func isAbout(_ found: OpaquePointer?, _ check: RevocationCheck) -> Bool {
        var algorithm: OpaquePointer?
        // Safety: the algorithm belongs to the identifier, which the caller holds.
        guard unsafe OCSP_id_get0_info(nil, &algorithm, nil, nil, found) == 1 else { return false }
        let digest: OpaquePointer?
        switch unsafe OBJ_obj2nid(algorithm) {
        case NID_sha1: unsafe digest = EVP_sha1()
        case NID_sha256: unsafe digest = EVP_sha256()
        case NID_sha384: unsafe digest = EVP_sha384()
        case NID_sha512: unsafe digest = EVP_sha512()
        default: return false
        }
        guard let own = unsafe identifier(check, digest) else { return false }
        defer { unsafe OCSP_CERTID_free(own) }
        return unsafe OCSP_id_cmp(own, found) == 0
    }

    private static func identifier(
        _ check: RevocationCheck,
        _ digest: OpaquePointer?
    ) -> OpaquePointer? {
        // Safety: both certificates are held through the call, which copies what it needs.
        unsafe check.certificate.withX509 { certificate in
            unsafe check.issuer.withX509 { issuer in
                unsafe OCSP_cert_to_id(digest, certificate, issuer)
            }
        }
    }

    private static func name(_ outcome: Int32) -> String {
        // Safety: the text is a constant of the library.
        unsafe OCSP_response_status_str(Int(outcome)).map { unsafe String(cString: $0) }
            ?? "\(outcome)"
    }
}
