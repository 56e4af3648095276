// An X.509 certificate: parses, encodes and reports its fields. It does not judge validity.
import COpenSSL
package import LupinCore

/// A parsed certificate, valid or not.
@safe
package final class Certificate: Sendable {
    /// A subject alternative name (RFC 5280 §4.2.1.6).
    package enum AlternativeName: Sendable, Hashable {
        /// The bytes as encoded, which need not form a valid name.
        case dns(String)
        case address(IPAddress)
        /// Any other kind by its tag number: 1 is an e-mail address, 6 a URI.
        case other(tag: UInt8, contents: [UInt8])
    }

    /// An extension, as encoded.
    package struct Extension: Sendable, Hashable {
        package var identifier: String
        package var isCritical: Bool
        package var der: [UInt8]

        package init(identifier: String, isCritical: Bool = false, der: [UInt8]) {
            self.identifier = identifier
            self.isCritical = isCritical
            self.der = der
        }
    }

    private let x509: LibraryReference

    /// Takes ownership of a reference to an `X509`.
    init(owning x509: OpaquePointer) {
        // Safety: the reference is released in deinit and nowhere else.
        unsafe self.x509 = LibraryReference(x509)
    }

    /// Shares an `X509` and takes a reference of its own.
    convenience init(sharing x509: OpaquePointer) {
        // Safety: the new reference is the one that `init` takes over.
        unsafe X509_up_ref(x509)
        unsafe self.init(owning: x509)
    }

    deinit {
        // Safety: this is the reference that `init` took over.
        unsafe X509_free(x509.pointer)
    }

    /// Lends the `X509` to calls of OpenSSL, which may take references of their own.
    func withX509<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        // Safety: `self` holds the certificate until `body` has returned.
        let result = unsafe body(x509.pointer)
        withExtendedLifetime(self) {}
        return result
    }
}

// MARK: Encodings

extension Certificate {
    /// Parses a certificate in DER; trailing bytes are an error.
    package static func parse(der: [UInt8]) throws(CertificateFailure) -> Certificate {
        let parsed = unsafe decode(der)
        ERR_clear_error()
        guard let parsed = unsafe parsed else { throw .unreadableCertificate }
        return unsafe Certificate(owning: parsed)
    }

    /// Parses a certificate in DER, without trailing bytes; the caller owns the reference.
    static func decode(_ der: [UInt8]) -> OpaquePointer? {
        // Safety: d2i_X509 moves `next` past the bytes it read, which are inside the array.
        unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let parsed = unsafe d2i_X509(nil, &next, bytes.count) else { return nil }
            if let base = bytes.baseAddress, unsafe next == base + bytes.count {
                return unsafe parsed
            }
            unsafe X509_free(parsed)
            return nil
        }
    }

    /// The first certificate of a PEM text.
    package static func parse(pem: Span<UInt8>) throws(CertificateFailure) -> Certificate {
        guard let first = try parseAll(pem: pem).first else { throw .noCertificate }
        return first
    }

    /// All certificates of a PEM text, in order; other blocks and text between are skipped.
    ///
    /// - Throws: `unreadableCertificate` if one is damaged, `noCertificate` if there is none.
    package static func parseAll(pem: Span<UInt8>) throws(CertificateFailure) -> [Certificate] {
        ERR_clear_error()
        // Safety: each certificate that is read comes with a reference, which is taken over.
        let certificates: [Certificate] =
            unsafe MemoryText.read(pem) { text in
                var certificates: [Certificate] = []
                while let x509 = unsafe PEM_read_bio_X509_AUX(text, nil, { _, _, _, _ in -1 }, nil)
                {
                    unsafe certificates.append(Certificate(owning: x509))
                }
                return certificates
            } ?? []
        // At the end of the text the reader finds no further start line; any other reason is
        // damage.
        let reason = ERR_GET_REASON(ERR_peek_last_error())
        ERR_clear_error()
        if reason != 0, reason != PEM_R_NO_START_LINE { throw .unreadableCertificate }
        guard !certificates.isEmpty else { throw .noCertificate }
        return certificates
    }

    /// The certificate in DER.
    package var der: [UInt8] { unsafe Certificate.encode(x509.pointer) }

    static func encode(_ certificate: OpaquePointer?) -> [UInt8] {
        // Safety: i2d_X509 writes the length it named before.
        let length = unsafe i2d_X509(certificate, nil)
        guard length > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { bytes, written in
            var next = bytes.baseAddress
            written = Int(max(0, unsafe i2d_X509(certificate, &next)))
        }
    }

    /// The certificate in PEM, with a line feed at its end.
    package var pem: [UInt8] {
        // Safety: the writer changes the BIO only.
        unsafe MemoryText.written { text in
            unsafe PEM_write_bio_X509(text, x509.pointer) == 1
        } reading: { bytes in
            [UInt8](copying: bytes)
        } ?? []
    }
}

// MARK: Facts

extension Certificate {
    /// The subject in one line of printable ASCII, at most 512 bytes: safe for logs.
    package var subjectText: String {
        // Safety: the name belongs to the certificate.
        unsafe Certificate.text(X509_get_subject_name(x509.pointer))
    }

    /// The issuer, written like the subject.
    package var issuerText: String {
        // Safety: the name belongs to the certificate.
        unsafe Certificate.text(X509_get_issuer_name(x509.pointer))
    }

    /// The serial number's content bytes in two's complement, the highest first.
    package var serial: [UInt8] {
        // Safety: i2d_ASN1_INTEGER allocates the encoding, which is freed here.
        var encoding: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_ASN1_INTEGER(X509_get0_serialNumber(x509.pointer), &encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, length > 0 else { return [] }
        let bytes = unsafe UnsafeBufferPointer(start: encoding, count: Int(length))
        var reader = unsafe DERReader(bytes)
        return reader.next(tag: 0x02).map(Array.init) ?? []
    }

    /// The start of validity, in seconds since 1970; nil if the time is malformed.
    package var notBefore: Int64? {
        // Safety: the time belongs to the certificate.
        unsafe CertificateTime.seconds(X509_get0_notBefore(x509.pointer))
    }

    /// The last second of validity, since 1970; nil if the time is malformed.
    package var notAfter: Int64? {
        // Safety: the time belongs to the certificate.
        unsafe CertificateTime.seconds(X509_get0_notAfter(x509.pointer))
    }

    /// The day on which it expired, as `2026-03-31`; nil if it has not by `seconds` since 1970.
    package func expiry(at seconds: Int64) -> String? {
        guard let notAfter, notAfter < seconds else { return nil }
        return CertificateTime.text(notAfter)
    }

    /// SHA-256 of the public key in DER (SubjectPublicKeyInfo), which pins contain: 32 bytes.
    package var publicKeyDigest: [UInt8] {
        // Safety: the key belongs to the certificate; the encoding is freed here.
        var encoding: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509.pointer), &encoding)
        defer { unsafe CRYPTO_free(encoding, nil, 0) }
        guard let encoding = unsafe encoding, length > 0 else { return [] }
        return unsafe LibraryDigest.sha256(
            UnsafeBufferPointer(start: encoding, count: Int(length))
        )
    }

    /// SHA-256 of the whole certificate in DER: 32 bytes.
    package var fingerprint: [UInt8] {
        // Safety: the bytes live through the call.
        unsafe der.withUnsafeBufferPointer { unsafe LibraryDigest.sha256($0) }
    }

    /// Whether it may sign others: version 3, basicConstraints CA:TRUE, and keyUsage permits it.
    package var isAuthority: Bool {
        ERR_clear_error()
        defer { ERR_clear_error() }
        return unsafe X509_check_ca(x509.pointer) == 1
    }

    /// Whether subject and issuer are the same, as a root's are.
    package var isSelfIssued: Bool {
        // Safety: both names belong to the certificate.
        unsafe X509_NAME_cmp(
            X509_get_subject_name(x509.pointer),
            X509_get_issuer_name(x509.pointer)
        ) == 0
    }

    /// The names and addresses it is valid for; empty if the extension is absent or malformed.
    package var subjectAlternativeNames: [AlternativeName] {
        guard let found = firstExtension("2.5.29.17") else { return [] }
        var outer = DERReader(found.der)
        guard let contents = outer.next(tag: 0x30) else { return [] }
        var names: [AlternativeName] = []
        var reader = DERReader(contents)
        while let value = reader.next() { names.append(Certificate.alternativeName(value)) }
        return names
    }

    /// The first extension with an object identifier such as `2.5.29.17`; nil if there is none.
    package func firstExtension(_ identifier: String) -> Extension? {
        ERR_clear_error()
        defer { ERR_clear_error() }
        // Safety: what is found belongs to the certificate; its bytes are copied at once.
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(x509.pointer, object, -1)
        guard index >= 0, let found = unsafe X509_get_ext(x509.pointer, index),
            let data = unsafe X509_EXTENSION_get_data(found)
        else { return nil }
        let bytes = unsafe UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(data),
            count: Int(max(0, ASN1_STRING_length(data)))
        )
        return Extension(
            identifier: identifier,
            isCritical: unsafe X509_EXTENSION_get_critical(found) > 0,
            der: unsafe Array(bytes)
        )
    }

    private static func alternativeName(_ value: DERReader.Value) -> AlternativeName {
        switch (value.tag, value.contents.count) {
        case (0x82, _): .dns(String(decoding: value.contents, as: UTF8.self))
        case (0x87, 4): .address(.v4(value.contents.reduce(0) { $0 << 8 | UInt32($1) }))
        case (0x87, 16):
            .address(
                .v6(
                    high: value.contents.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                    low: value.contents.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
                )
            )
        default: .other(tag: value.tag & 0x1F, contents: Array(value.contents))
        }
    }

    private static let textBytesMax: Int = 512

    private static func text(_ name: OpaquePointer?) -> String {
        // Safety: the flags make OpenSSL escape control bytes and all that isn't ASCII.
        let text: String? = unsafe MemoryText.written { bio in
            unsafe X509_NAME_print_ex(bio, name, 0, openssl_name_flags) >= 0
        } reading: { bytes in
            guard bytes.count > textBytesMax else { return String(copying: bytes) }
            return String(copying: bytes.extracting(0..<textBytesMax - 3)) + "..."
        }
        return text ?? ""
    }
}
