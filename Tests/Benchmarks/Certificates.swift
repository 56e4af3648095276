// What certificates a benchmark works with: minted when it starts, gone with its folder.
import Foundation
import LupinCore
import LupinTLS

/// Paths of PEM files for everybody who speaks TLS in a benchmark.
struct Certificates {
    /// What the origin is called: the one name that every machine knows to be its own.
    static let originName = "localhost"

    /// The root above the origin's certificate, which the proxy must trust.
    let originRoot: String
    /// The origin's certificate followed by its key.
    let origin: String
    /// The authority that the proxy signs with, which the load must trust.
    let authority: String
    let authorityKey: String
    /// What the proxy's own listener shows where it speaks TLS, followed by its key; below the
    /// authority, too.
    let listener: String

    /// Mints everything, on P-256, into a new folder inside `directory`.
    static func mint(in directory: URL) throws -> Certificates {
        let folder = directory.appendingPathComponent("certificates")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: false
        )
        let now = Int64(Date().timeIntervalSince1970)
        let root = try CertificateAuthority.make(
            key: try PrivateKey.generate(.p256),
            owner: "bench origin",
            now: now
        )
        let authority = try CertificateAuthority.make(
            key: try PrivateKey.generate(.p256),
            owner: "bench proxy",
            now: now
        )
        return Certificates(
            originRoot: try write(root.certificate.pem, "origin-root.pem", in: folder),
            origin: try write(try server(below: root, now: now), "origin.pem", in: folder),
            authority: try write(authority.certificate.pem, "authority.pem", in: folder),
            authorityKey: try write(try text(of: authority.key), "authority.key", in: folder),
            listener: try write(
                try server(below: authority, now: now),
                "listener.pem",
                in: folder
            )
        )
    }

    /// A certificate and its key, as a server has them.
    private static func server(
        below root: CertificateAuthority,
        now: Int64
    ) throws -> [UInt8] {
        let key = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(key: key, commonName: originName, now: now)
        builder.issuer = .authority(root.certificate, root.key)
        builder.keyUsage = .digitalSignature
        builder.purposes = [CertificateBuilder.Purpose.server]
        builder.alternativeNames = [.dns(originName)]
        return try builder.build().pem + (try text(of: key))
    }

    private static func text(of key: PrivateKey) throws -> [UInt8] {
        try key.withPEM { [UInt8](copying: $0) }
    }

    /// Writes a file that its owner alone can read, as lupin demands of keys.
    private static func write(
        _ bytes: [UInt8],
        _ name: String,
        in folder: URL
    ) throws -> String {
        let path = folder.appendingPathComponent(name).path
        let isWritten = FileManager.default.createFile(
            atPath: path,
            contents: Data(bytes),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw BenchError("cannot write \(path)") }
        return path
    }
}
