// Where tests get certificates from: a root, an intermediate and leaves, minted as they run.
import COpenSSL
import Foundation
import LupinCore
package import LupinTLS

/// A certificate of an authority with its key.
package struct MintedAuthority: Sendable {
    package let certificate: Certificate
    package let key: PrivateKey
    /// What a server shows behind its own certificate: this one and those above it but the root.
    package let chain: [Certificate]
    private let now: Int64

    /// A root that nobody trusts yet, valid for a year around `now`, in seconds since 1970.
    ///
    /// `adjust` changes what it says before it is signed.
    package static func root(
        _ name: String = "Root of a test",
        _ algorithm: PrivateKey.Algorithm = .p256,
        now: Int64,
        adjust: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> MintedAuthority {
        let key = try PrivateKey.generate(algorithm)
        var builder = builder(key, name, now)
        adjust(&builder)
        return MintedAuthority(certificate: try builder.build(), key: key, chain: [], now: now)
    }

    /// An authority that this one issued; `key` is another's where two shall have the same.
    package func intermediate(
        _ name: String = "Intermediate of a test",
        _ algorithm: PrivateKey.Algorithm = .p256,
        key sharedKey: PrivateKey? = nil,
        adjust: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> MintedAuthority {
        let key = try sharedKey ?? PrivateKey.generate(algorithm)
        var builder = Self.builder(key, name, now)
        builder.issuer = .authority(certificate, self.key)
        adjust(&builder)
        let made = try builder.build()
        return MintedAuthority(certificate: made, key: key, chain: [made] + chain, now: now)
    }

    /// A certificate for the hosts, names or addresses, valid for a day.
    package func leaf(
        _ hosts: String...,
        algorithm: PrivateKey.Algorithm = .p256,
        adjust: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> MintedLeaf {
        let key = try PrivateKey.generate(algorithm)
        var builder = CertificateBuilder(key: key, commonName: hosts.first, now: now)
        builder.issuer = .authority(certificate, self.key)
        builder.keyUsage = .digitalSignature
        builder.purposes = [CertificateBuilder.Purpose.server]
        builder.alternativeNames = hosts.map { host in
            IPAddress(host).map { .address($0) } ?? .dns(host)
        }
        adjust(&builder)
        return MintedLeaf(certificate: try builder.build(), key: key, chain: chain)
    }

    private static func builder(
        _ key: PrivateKey,
        _ name: String,
        _ now: Int64
    ) -> CertificateBuilder {
        var builder = CertificateBuilder(key: key, commonName: name, now: now)
        builder.notBefore = now - 180 * 86_400
        builder.notAfter = now + 180 * 86_400
        builder.basicConstraints = .init(isAuthority: true)
        builder.keyUsage = [.certificateSigning, .listSigning]
        return builder
    }
}

/// A server's certificate with its key, and what the server shows behind it.
package struct MintedLeaf: Sendable {
    package let certificate: Certificate
    package let key: PrivateKey
    package var chain: [Certificate]

    package init(certificate: Certificate, key: PrivateKey, chain: [Certificate]) {
        self.certificate = certificate
        self.key = key
        self.chain = chain
    }

    /// What the server presents, in DER.
    package var presented: [[UInt8]] { [certificate.der] + chain.map(\.der) }

    /// What the server shows, in PEM.
    package var certificateText: [UInt8] { certificate.pem + chain.flatMap(\.pem) }

    /// The key in PEM.
    package var keyText: [UInt8] {
        get throws { try key.withPEM { [UInt8](copying: $0) } }
    }

    /// What a TLS connection shows.
    package var identity: TLSIdentity {
        get throws { try TLSIdentity(certificates: certificateText, key: keyText) }
    }
}

extension Certificate {
    /// The name of the certificate's file in a directory of anchors, without number.
    package var subjectHash: String {
        get throws {
            let objects = ForeignObjects()
            // Safety: the certificate lives as long as `objects`.
            let hash = unsafe X509_subject_name_hash(try objects.certificate(self))
            let digits = String(hash, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }
    }
}

extension Certificate {
    /// The certificate with other fields than a builder writes, signed anew over SHA-256.
    ///
    /// `change` gets the fields of the TBSCertificate (RFC 5280 §4.1), each encoded: version,
    /// serial number, algorithm, issuer, validity, subject, public key, extensions.
    package func rewritten(
        by issuer: PrivateKey,
        _ change: (inout [[UInt8]]) -> Void
    ) throws -> Certificate {
        var outer = DERReader(der)
        guard let whole = outer.next(tag: 0x30) else { throw MintingFailure() }
        var parts = DERReader(whole)
        guard let signed = parts.next(tag: 0x30), let algorithm = parts.next() else {
            throw MintingFailure()
        }
        var fields: [[UInt8]] = []
        var reader = DERReader(signed)
        while let field = reader.next() {
            fields.append(DEREncoding.value(tag: field.tag, Array(field.contents)))
        }
        change(&fields)
        let content = DEREncoding.sequence(fields)
        let signature = try issuer.signature(of: content)
        return try Certificate.parse(
            der: DEREncoding.sequence([
                content, DEREncoding.value(tag: algorithm.tag, Array(algorithm.contents)),
                DEREncoding.value(tag: 0x03, [0] + signature),
            ])
        )
    }
}

extension PrivateKey {
    /// A signature over SHA-256.
    fileprivate func signature(of content: [UInt8]) throws -> [UInt8] {
        let mint = ForeignObjects()
        // Safety: the objects live as long as `mint`; OpenSSL writes the length that it named.
        let context = unsafe try mint.keep(EVP_MD_CTX_new(), EVP_MD_CTX_free)
        let key = unsafe try mint.key(self)
        var count = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            unsafe EVP_DigestSign(context, nil, &count, content, content.count) == 1
        else { throw MintingFailure() }
        var signature = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_DigestSign(context, &signature, &count, content, content.count) == 1 else {
            throw MintingFailure()
        }
        return Array(signature.prefix(count))
    }
}

/// A directory of PEM files that is gone with the value.
package final class MintedFiles {
    private let directory: URL

    package init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Writes a file and returns its path.
    package func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let file = directory.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path
    }

    /// The path of the directory.
    package var path: String { directory.path }
}
