// Whom a test's clients and proxies trust: an authority made for the test, and what it signs.
import Glibc
import LupinCore
package import LupinTLS

/// An authority with the identities of the hosts that a test plays.
package final class TestAuthority: Sendable {
    package let authority: CertificateAuthority
    private let leaves: LeafCertificates

    package init() throws {
        authority = try CertificateAuthority.make(
            key: try PrivateKey.generate(.p256),
            owner: "test",
            now: Self.now
        )
        leaves = try LeafCertificates(authority, lifetime: .seconds(86_400))
    }

    /// Its certificate, as trust stores read it.
    package var pem: [UInt8] { authority.certificate.pem }

    /// The certificate that `host` shows.
    package func leaf(_ host: String) throws -> Certificate {
        try leaves.certificate(for: try Self.host(host), now: Self.now)
    }

    /// What `host` shows: a name, or an address for an IP SAN.
    package func identity(_ host: String) throws -> TLSIdentity {
        try leaves.identity(for: try Self.host(host), now: Self.now)
    }

    /// What `host` shows after `adjust` has spoilt its certificate.
    package func identity(
        _ host: String,
        key: PrivateKey? = nil,
        adjust: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> TLSIdentity {
        let key = try key ?? PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: key, commonName: host, now: Self.now)
        builder.issuer = .authority(authority.certificate, authority.key)
        builder.basicConstraints = .init(isAuthority: false)
        builder.keyUsage = .digitalSignature
        builder.purposes = [CertificateBuilder.Purpose.server]
        builder.alternativeNames = [.dns(host)]
        adjust(&builder)
        return try TLSIdentity(try builder.build(), key: key)
    }

    /// What `host` shows, in PEM, and its key, for servers that read files.
    package func identityFiles(of host: String) throws -> (pem: [UInt8], key: [UInt8]) {
        let key = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: key, commonName: host, now: Self.now)
        builder.issuer = .authority(authority.certificate, authority.key)
        builder.basicConstraints = .init(isAuthority: false)
        builder.keyUsage = .digitalSignature
        builder.purposes = [CertificateBuilder.Purpose.server]
        builder.alternativeNames = [.dns(host)]
        return (try builder.build().pem, try key.withPEM { [UInt8](copying: $0) })
    }

    private static func host(_ text: String) throws -> Host {
        guard let host = Host(text) else { throw SocketFailure("\(text) is no host") }
        return host
    }

    /// How `host` is played.
    package func server(_ host: String, _ protocols: [String] = []) throws -> SecureSocket.Server {
        var server = SecureSocket.Server(try identity(host))
        server.protocols = protocols
        return server
    }

    /// A certificate in PEM and its key, for the files of a rules file.
    package static func identityFiles(
        _ host: String,
        notAfter: Int64? = nil
    ) throws -> (pem: [UInt8], key: [UInt8]) {
        let key = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: key, commonName: host, now: now)
        if let notAfter {
            builder.notBefore = notAfter - 86_400
            builder.notAfter = notAfter
        }
        builder.alternativeNames = [.dns(host)]
        builder.basicConstraints = .init(isAuthority: false)
        return (try builder.build().pem, try key.withPEM { [UInt8](copying: $0) })
    }

    /// Seconds since 1970.
    package static var now: Int64 { Int64(time(nil)) }
}
