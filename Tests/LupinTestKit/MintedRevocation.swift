// Where tests get OCSP responses and lists of withdrawn certificates from.
import COpenSSL
package import LupinTLS

/// An OCSP response about one certificate.
package struct MintedOCSPResponse {
    package enum Status: Sendable { case good, revoked, unknown }

    package var certificate: Certificate
    package var issuer: Certificate
    package var signer: Certificate
    package var signerKey: PrivateKey
    package var status = Status.good
    /// Seconds since 1970.
    package var thisUpdate: Int64
    /// Seconds since 1970; nil for none.
    package var nextUpdate: Int64?
    /// The response holds the signer's certificate.
    package var holdsSigner = true
    /// The certificate is named by SHA-256 instead of SHA-1.
    package var usesSHA256 = false
    /// The response is signed over SHA-1.
    package var isWeak = false

    /// A response that the certificate's issuer signs, an hour old and good for a day.
    package init(_ certificate: Certificate, issuer: MintedAuthority, now: Int64) {
        self.certificate = certificate
        self.issuer = issuer.certificate
        signer = issuer.certificate
        signerKey = issuer.key
        thisUpdate = now - 3600
        nextUpdate = now + 86_400
    }

    /// The response in DER.
    package func encoding() throws -> [UInt8] {
        let mint = ForeignObjects()
        // Safety: all objects live as long as `mint`, and what takes them over is noted there.
        let basic = unsafe try mint.keep(OCSP_BASICRESP_new(), OCSP_BASICRESP_free)
        let identifier = unsafe try mint.keep(
            OCSP_cert_to_id(
                usesSHA256 ? EVP_sha256() : EVP_sha1(),
                mint.certificate(certificate),
                mint.certificate(issuer)
            ),
            OCSP_CERTID_free
        )
        let first = unsafe try mint.time(thisUpdate)
        let next = unsafe try nextUpdate.map { unsafe try mint.time($0) }
        let codes: [Status: Int32] = [
            .good: V_OCSP_CERTSTATUS_GOOD, .revoked: V_OCSP_CERTSTATUS_REVOKED,
            .unknown: V_OCSP_CERTSTATUS_UNKNOWN,
        ]
        let single = unsafe OCSP_basic_add1_status(
            basic,
            identifier,
            codes[status] ?? 0,
            0,
            first,
            first,
            next
        )
        guard unsafe single != nil else { throw MintingFailure() }
        let signed = unsafe OCSP_basic_sign(
            basic,
            try mint.certificate(signer),
            try mint.key(signerKey),
            isWeak ? EVP_sha1() : EVP_sha256(),
            nil,
            holdsSigner ? 0 : UInt(OCSP_NOCERTS)
        )
        guard signed == 1 else { throw MintingFailure() }
        let response = unsafe try mint.keep(
            OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic),
            OCSP_RESPONSE_free
        )
        return unsafe try ForeignObjects.encoding { unsafe i2d_OCSP_RESPONSE(response, $0) }
    }

    /// A response that says nothing but "try later".
    package static func tryLater() throws -> [UInt8] {
        let mint = ForeignObjects()
        // Safety: the response lives as long as `mint`.
        let response = unsafe try mint.keep(
            OCSP_response_create(OCSP_RESPONSE_STATUS_TRYLATER, nil),
            OCSP_RESPONSE_free
        )
        return unsafe try ForeignObjects.encoding { unsafe i2d_OCSP_RESPONSE(response, $0) }
    }
}

/// A list of withdrawn certificates.
package struct MintedRevocationList {
    package var issuer: MintedAuthority
    package var revoked: [Certificate] = []
    /// Further serial numbers, to make the list long.
    package var fillers = 0
    package var thisUpdate: Int64
    /// Seconds since 1970; nil for none.
    package var nextUpdate: Int64?
    package var extensions: [CertificateBuilder.Extension] = []
    /// Of the entry of each certificate in `revoked`.
    package var entryExtensions: [CertificateBuilder.Extension] = []

    /// A list an hour old and good for a day.
    package init(_ issuer: MintedAuthority, now: Int64) {
        self.issuer = issuer
        thisUpdate = now - 3600
        nextUpdate = now + 86_400
    }

    /// The list in DER.
    package func encoding() throws -> [UInt8] {
        let mint = ForeignObjects()
        // Safety: all objects live as long as `mint`; the list copies what is set, and takes over
        // the entries.
        let list = unsafe try mint.keep(X509_CRL_new(), X509_CRL_free)
        let name = unsafe X509_get_subject_name(try mint.certificate(issuer.certificate))
        let first = unsafe try mint.time(thisUpdate)
        unsafe X509_CRL_set_version(list, 1)
        unsafe X509_CRL_set_issuer_name(list, name)
        unsafe X509_CRL_set1_lastUpdate(list, first)
        if let nextUpdate { unsafe X509_CRL_set1_nextUpdate(list, try mint.time(nextUpdate)) }
        for certificate in revoked {
            let serial = unsafe X509_get0_serialNumber(try mint.certificate(certificate))
            let entry = unsafe try Self.add(serial, first, to: list)
            for part in entryExtensions {
                unsafe X509_REVOKED_add_ext(entry, try mint.part(part), -1)
            }
        }
        for i in 0..<fillers {
            let serial = unsafe try mint.keep(ASN1_INTEGER_new(), ASN1_INTEGER_free)
            unsafe ASN1_INTEGER_set(serial, 1_000_000 + i)
            _ = unsafe try Self.add(serial, first, to: list)
        }
        for part in extensions { unsafe X509_CRL_add_ext(list, try mint.part(part), -1) }
        unsafe X509_CRL_sort(list)
        guard unsafe X509_CRL_sign(list, try mint.key(issuer.key), EVP_sha256()) > 0 else {
            throw MintingFailure()
        }
        return unsafe try ForeignObjects.encoding { unsafe i2d_X509_CRL(list, $0) }
    }

    private static func add(
        _ serial: UnsafePointer<ASN1_INTEGER>?,
        _ time: UnsafeMutablePointer<ASN1_TIME>,
        to list: OpaquePointer
    ) throws -> OpaquePointer {
        // Safety: the entry copies both; the list takes it over.
        guard let entry = unsafe X509_REVOKED_new() else { throw MintingFailure() }
        unsafe X509_REVOKED_set_serialNumber(
            entry,
            UnsafeMutablePointer(mutating: serial)
        )
        unsafe X509_REVOKED_set_revocationDate(entry, time)
        guard unsafe X509_CRL_add0_revoked(list, entry) == 1 else {
            unsafe X509_REVOKED_free(entry)
            throw MintingFailure()
        }
        return unsafe entry
    }
}
