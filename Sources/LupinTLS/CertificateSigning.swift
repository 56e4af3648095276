// Assembles and signs a certificate from its builder.
import COpenSSL

extension CertificateBuilder {
    /// Builds and signs the certificate.
    ///
    /// - Throws: `unusable` for a value that X.509 can't encode, else OpenSSL's error.
    package func build() throws(CertificateFailure) -> Certificate {
        ERR_clear_error()
        // Safety: `certificate` owns the object from here on, even if an error is thrown below.
        guard let x509 = unsafe X509_new() else { throw CertificateFailure.taken() }
        let certificate = unsafe Certificate(owning: x509)
        // Safety: every pointer below lives as long as the object that owns it.
        guard unsafe X509_set_version(x509, version - 1) == 1 else { throw .unusable("version") }
        try unsafe setSerial(of: x509)
        try unsafe setTimes(of: x509)
        try unsafe setNames(of: x509)
        guard unsafe key.withKey({ unsafe X509_set_pubkey(x509, $0) == 1 }) else {
            throw CertificateFailure.taken()
        }
        for part in try encodedExtensions() { try unsafe Self.add(part, to: x509) }
        try unsafe addKeyIdentifiers(to: x509)
        let signer =
            switch issuer {
            case .itself: key
            case .authority(_, let key): key
            }
        let signed = unsafe signer.withKey { key in
            unsafe X509_sign(x509, key, digestMethod(for: key)) > 0
        }
        guard signed else { throw CertificateFailure.taken() }
        return certificate
    }

    private func setSerial(of x509: OpaquePointer) throws(CertificateFailure) {
        let contents = serial ?? Self.randomSerial()
        let encoding = DEREncoding.value(tag: 0x02, contents)
        // Safety: the reader stays within the array; what it makes is copied and freed.
        let isSet = unsafe encoding.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let number = unsafe d2i_ASN1_INTEGER(nil, &next, bytes.count) else {
                return false
            }
            defer { unsafe ASN1_INTEGER_free(number) }
            return unsafe X509_set_serialNumber(x509, number) == 1
        }
        guard isSet else { throw .unusable("serial") }
    }

    /// 127 random bits: 16 content bytes, positive, the first nonzero so that all are encoded.
    static func randomSerial() -> [UInt8] {
        var bytes = RandomSource.bytes(count: 16)
        bytes[0] = bytes[0] & 0x7F | 0x40
        return bytes
    }

    private func setTimes(of x509: OpaquePointer) throws(CertificateFailure) {
        let make = unsafe usesGeneralizedTime ? ASN1_GENERALIZEDTIME_set : ASN1_TIME_set
        // Safety: X509_set1_… copies the time, which is freed here.
        for (seconds, isFirst) in [(notBefore, true), (notAfter, false)] {
            guard let time = unsafe make(nil, Int(seconds)) else { throw .unusable("a time") }
            defer { unsafe ASN1_STRING_free(time) }
            let result =
                isFirst
                ? unsafe X509_set1_notBefore(x509, time) : unsafe X509_set1_notAfter(x509, time)
            guard result == 1 else { throw CertificateFailure.taken() }
        }
    }

    private func setNames(of x509: OpaquePointer) throws(CertificateFailure) {
        // Safety: the subject's name belongs to the certificate, the issuer's is copied.
        let subject = unsafe X509_get_subject_name(x509)
        for (field, text) in [(NID_organizationName, organization), (NID_commonName, commonName)] {
            guard let text else { continue }
            let bytes = Array(text.utf8)
            let result = unsafe X509_NAME_add_entry_by_NID(
                subject,
                field,
                MBSTRING_FLAG | 0,
                bytes,
                Int32(clamping: bytes.count),
                -1,
                0
            )
            guard result == 1 else { throw .unusable("the subject") }
        }
        let isSet =
            switch issuer {
            case .itself: unsafe X509_set_issuer_name(x509, subject) == 1
            case .authority(let authority, _):
                unsafe authority.withX509 {
                    unsafe X509_set_issuer_name(x509, X509_get_subject_name($0)) == 1
                }
            }
        guard isSet else { throw CertificateFailure.taken() }
    }

    private static func add(
        _ part: Extension,
        to x509: OpaquePointer
    ) throws(CertificateFailure) {
        // Safety: everything made here is copied into the certificate and freed.
        guard let identifier = unsafe OBJ_txt2obj(part.identifier, 1) else {
            throw .unusable("the extension \(part.identifier)")
        }
        defer { unsafe ASN1_OBJECT_free(identifier) }
        guard let data = unsafe ASN1_OCTET_STRING_new() else { throw CertificateFailure.taken() }
        defer { unsafe ASN1_OCTET_STRING_free(data) }
        let length = Int32(clamping: part.der.count)
        guard unsafe ASN1_OCTET_STRING_set(data, part.der, length) == 1,
            let made = unsafe X509_EXTENSION_create_by_OBJ(
                nil,
                identifier,
                part.isCritical ? 1 : 0,
                data
            )
        else { throw CertificateFailure.taken() }
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe X509_add_ext(x509, made, -1) == 1 else { throw CertificateFailure.taken() }
    }

    private func addKeyIdentifiers(to x509: OpaquePointer) throws(CertificateFailure) {
        // Safety: the certificate is held by `build`.
        if hasSubjectKeyIdentifier {
            let own = unsafe Self.keyIdentifier(x509)
            try unsafe Self.add(Self.subjectKeyIdentifier(own), to: x509)
        }
        guard hasAuthorityKeyIdentifier, case .authority(let authority, _) = issuer else { return }
        try unsafe Self.add(Self.authorityKeyIdentifier(authority.keyIdentifier), to: x509)
    }

    /// The first 160 bits of SHA-256 over the public key's bits (RFC 7093 §2 method 1).
    static func keyIdentifier(_ x509: OpaquePointer) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        // Safety: the array has room for any digest.
        guard unsafe X509_pubkey_digest(x509, EVP_sha256(), &digest, nil) == 1 else { return [] }
        return Array(digest.prefix(20))
    }

    private func digestMethod(for key: OpaquePointer) -> OpaquePointer? {
        // Safety: the methods are constants of the library.
        switch digest {
        case .md5: return unsafe EVP_md5()
        case .sha1: return unsafe EVP_sha1()
        case .sha256: return unsafe EVP_sha256()
        case .sha384: return unsafe EVP_sha384()
        case .sha512: return unsafe EVP_sha512()
        case .automatic:
            if unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 { return nil }
            let isP384 =
                unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC
                && EVP_PKEY_get_bits(key) == 384
            return unsafe isP384 ? EVP_sha384() : EVP_sha256()
        }
    }
}

extension Certificate {
    /// Its subjectKeyIdentifier, or else the digest of its key.
    var keyIdentifier: [UInt8] {
        unsafe withX509 { x509 in
            // Safety: the identifier belongs to the certificate and is copied at once.
            guard let identifier = unsafe X509_get0_subject_key_id(x509) else {
                return unsafe CertificateBuilder.keyIdentifier(x509)
            }
            let bytes = unsafe UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(identifier),
                count: Int(max(0, ASN1_STRING_length(identifier)))
            )
            return unsafe Array(bytes)
        }
    }
}
