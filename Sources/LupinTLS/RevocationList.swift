// Evaluates revocation lists (RFC 5280 §5).
import COpenSSL

enum RevocationList {
    /// The certificate's status in a list in DER that came from `location`.
    static func status(
        _ encoding: [UInt8],
        location: String,
        _ check: RevocationCheck
    ) -> RevocationStatus {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Safety: the list is freed here; values read from it belong to it.
        guard let list = unsafe parse(encoding) else { return .unusable("is no list in DER") }
        defer { unsafe X509_CRL_free(list) }
        if let flaw = unsafe signatureFlaw(list, check) { return .unusable(flaw) }
        guard let next = unsafe CertificateTime.seconds(X509_CRL_get0_nextUpdate(list)) else {
            return .unusable("does not say when the next list comes")
        }
        let staleness = check.staleness(
            thisUpdate: unsafe CertificateTime.seconds(X509_CRL_get0_lastUpdate(list)),
            nextUpdate: next
        )
        if let staleness { return .unusable(staleness) }
        if let flaw = scopeFlaw(encoding, location: location, check) { return .unusable(flaw) }
        var entry: OpaquePointer?
        let found = unsafe check.certificate.withX509 {
            unsafe X509_CRL_get0_by_cert(list, &entry, $0)
        }
        // 2 is an entry that removes an earlier one; it has no effect in complete lists.
        guard found == 1 else { return .good }
        return .revoked(
            unsafe CertificateTime.seconds(X509_REVOKED_get0_revocationDate(entry))
        )
    }

    /// When the next list is due, in seconds since 1970; nothing is verified.
    static func end(_ encoding: [UInt8]) -> Int64? {
        defer { ErrorQueue.clear() }
        // Safety: the list is freed here; the time belongs to it.
        guard let list = unsafe parse(encoding) else { return nil }
        defer { unsafe X509_CRL_free(list) }
        return unsafe CertificateTime.seconds(X509_CRL_get0_nextUpdate(list))
    }

    private static func parse(_ encoding: [UInt8]) -> OpaquePointer? {
        // Safety: the reader moves `next` past the bytes it read, which are inside the array.
        unsafe encoding.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let parsed = unsafe d2i_X509_CRL(nil, &next, bytes.count) else { return nil }
            if let base = bytes.baseAddress, unsafe next == base + bytes.count {
                return unsafe parsed
            }
            unsafe X509_CRL_free(parsed)
            return nil
        }
    }

    /// Why the certificate's issuer did not validly sign the list; nil if it did.
    private static func signatureFlaw(
        _ list: OpaquePointer,
        _ check: RevocationCheck
    ) -> String? {
        // Safety: names, keys and algorithms belong to objects that are held through the calls.
        unsafe check.issuer.withX509 { issuer in
            guard
                unsafe X509_NAME_cmp(
                    X509_CRL_get_issuer(list),
                    X509_get_subject_name(issuer)
                ) == 0
            else { return "is one of another issuer" }
            // Without a keyUsage extension all bits are set.
            guard unsafe X509_get_key_usage(issuer) & UInt32(KU_CRL_SIGN) != 0 else {
                return "is signed by an issuer that may sign no lists"
            }
            var algorithm: UnsafePointer<X509_ALGOR>?
            unsafe X509_CRL_get0_signature(list, nil, &algorithm)
            guard unsafe RevocationSignature.isStrong(algorithm) else {
                return "is signed with a weak algorithm"
            }
            guard let key = unsafe X509_get0_pubkey(issuer),
                unsafe X509_CRL_verify(list, key) == 1
            else { return "is not signed by the issuer" }
            return nil
        }
    }

    /// Why the list may omit the certificate though it was revoked; nil if it can't.
    private static func scopeFlaw(
        _ encoding: [UInt8],
        location: String,
        _ check: RevocationCheck
    ) -> String? {
        guard let (entries, extensions) = parts(encoding) else { return "has malformed extensions" }
        if let flaw = entryFlaw(entries) { return flaw }
        for part in extensions {
            switch part.identifier {
            case CertificateContents.Identifier.authorityKey: continue
            case CertificateContents.Identifier.listScope:
                if let flaw = scopeFlaw(part.value, location, check) { return flaw }
            case _ where part.isCritical:
                // A delta list, for example, is incomplete without its base list.
                return "has a critical extension that is not understood"
            default: continue
            }
        }
        return nil
    }

    /// Reads the issuingDistributionPoint extension (§5.2.5).
    private static func scopeFlaw(
        _ value: [UInt8],
        _ location: String,
        _ check: RevocationCheck
    ) -> String? {
        var outer = DERReader(value)
        guard let fields = outer.next(tag: 0x30) else { return "has a malformed scope" }
        var reader = DERReader(fields)
        let isAuthority = check.certificate.isAuthority
        while let field = reader.next() {
            let isTrue = field.contents.contains { $0 != 0 }
            switch field.tag {
            case 0xA0:
                guard CertificateContents.fullNames(field.contents).contains(location) else {
                    return "is a part of the list that another place has"
                }
            case 0x81 where isTrue && isAuthority: return "is about servers only"
            case 0x82 where isTrue && !isAuthority: return "is about authorities only"
            case 0x83,
                0x84 where isTrue,
                0x85 where isTrue:
                return "is about some reasons only, or about certificates of others"
            default: continue
            }
        }
        return reader.isAtEnd ? nil : "has a malformed scope"
    }

    /// Why an entry makes the whole list useless; nil if none does.
    ///
    /// "If a CRL contains a critical CRL entry extension that the application cannot process, then
    /// the application MUST NOT use that CRL to determine the status of any certificates" (§5.3).
    /// certificateIssuer is for lists about certificates of others.
    private static func entryFlaw(_ entries: ArraySlice<UInt8>) -> String? {
        var reader = DERReader(entries)
        while let entry = reader.next(tag: 0x30) {
            var fields = DERReader(entry)
            // Serial number and time.
            guard fields.next() != nil, fields.next() != nil else { return malformedEntry }
            if fields.isAtEnd { continue }
            guard let list = fields.next(tag: 0x30),
                let extensions = CertificateContents.extensions(in: list)
            else { return malformedEntry }
            for part in extensions
            where part.isCritical && !knownOfEntries.contains(part.identifier) {
                return "has an entry with a critical extension that is not understood"
            }
        }
        return reader.isAtEnd ? nil : malformedEntry
    }

    private static let malformedEntry = "has a malformed entry"
    /// reasonCode and invalidityDate: whatever they say, the certificate is revoked.
    private static let knownOfEntries: [[UInt8]] = [[0x55, 0x1D, 0x15], [0x55, 0x1D, 0x18]]

    /// The entries and the extensions of a list, empty for none; nil for malformed DER.
    private static func parts(
        _ encoding: [UInt8]
    ) -> (entries: ArraySlice<UInt8>, extensions: [CertificateContents.Extension])? {
        var outer = DERReader(encoding)
        guard let list = outer.next(tag: 0x30) else { return nil }
        var parts = DERReader(list)
        guard let signed = parts.next(tag: 0x30) else { return nil }
        var fields = DERReader(signed)
        // Algorithm, issuer, and the entries, if there are any (§5.1).
        var sequences: [ArraySlice<UInt8>] = []
        while let field = fields.next() {
            if field.tag == 0x30 { sequences.append(field.contents) }
            guard field.tag == 0xA0 else { continue }
            return CertificateContents.extensions(field.contents).map { extensions in
                (sequences.dropFirst(2).first ?? [], extensions)
            }
        }
        return fields.isAtEnd ? (sequences.dropFirst(2).first ?? [], []) : nil
    }
}
