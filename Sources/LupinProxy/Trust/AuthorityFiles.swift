// The files of the local CA: found, loaded or, the first time, created.
package import LupinCore
import LupinIO
import LupinRules
package import LupinTLS

/// Why there is no local CA, as a clause for people.
package enum AuthorityFailure: Error, Equatable, Sendable, CustomStringConvertible {
    case noDirectory
    case unreadable(path: String, reason: String)
    case unwritable(path: String, reason: String)
    /// The certificate exists and its key doesn't.
    case noKey(certificate: String, key: String)
    case openToOthers(key: String)
    case foreignKey(key: String)
    case unusable(certificate: String, key: String, reason: String)

    package var description: String {
        switch self {
        case .noDirectory:
            "neither XDG_CONFIG_HOME nor a home directory says where to keep it; set intercept.ca"
        case .unreadable(let path, let reason): "cannot read \(path): \(reason)"
        case .unwritable(let path, let reason): "cannot write \(path): \(reason)"
        case .noKey(let certificate, let key):
            "\(certificate) is there, but its key \(key) is not; restore the key, or remove the "
                + "certificate to have a new authority made"
        case .openToOthers(let key): "other users can read \(key); chmod 600 \(key)"
        case .foreignKey(let key): "\(key) belongs to another user; it must be yours or root's"
        case .unusable(let certificate, let key, let reason):
            "\(certificate) with \(key): \(reason)"
        }
    }
}

/// The two files of the local CA.
package struct AuthorityFiles: Sendable {
    /// The certificate, followed by those up to a root unless it is a root itself.
    package let certificate: String
    package let key: String
    private let keyType: CertificateAuthoritySettings.KeyType
    /// The rules file names the files.
    private let isNamed: Bool

    /// The files that the settings name, else `lupin/ca.pem` and `ca.key` in the user's
    /// configuration directory.
    ///
    /// - Parameters:
    ///   - settings: `intercept.ca`.
    ///   - environment: The environment variables of the process; a relative `XDG_CONFIG_HOME` is
    ///     ignored, as its specification demands.
    /// - Throws: `noDirectory`.
    package init(
        _ settings: CertificateAuthoritySettings,
        environment: [String: String]
    ) throws(AuthorityFailure) {
        try self.init(
            settings,
            environment: environment,
            home: ProcessOwner.home(environment)
        )
    }

    /// The same files for a user with another home directory.
    package init(
        _ settings: CertificateAuthoritySettings,
        environment: [String: String],
        home: String?
    ) throws(AuthorityFailure) {
        keyType = settings.keyType
        isNamed = settings.files != nil
        if let files = settings.files {
            certificate = files.certificate
            key = files.key
            return
        }
        let base: String
        if let directory = environment["XDG_CONFIG_HOME"], directory.hasPrefix("/") {
            base = directory
        } else if let home {
            base = home + "/.config"
        } else {
            throw .noDirectory
        }
        certificate = base + "/lupin/ca.pem"
        key = base + "/lupin/ca.key"
    }

    /// Loads the CA from the files.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Returns: The CA, or nil when there is no certificate yet.
    /// - Throws: Why the files can't be used.
    package func load(now: Int64) throws(AuthorityFailure) -> CertificateAuthority? {
        guard let certificates = try contents(of: certificate) else { return nil }
        guard let text = try keyText() else {
            throw .noKey(certificate: certificate, key: key)
        }
        do throws(CertificateFailure) {
            return try CertificateAuthority.parse(
                certificates: certificates.bytes,
                key: text.bytes,
                now: now
            )
        } catch {
            throw unusable(error)
        }
    }

    /// Loads the CA from the files; creates and writes it first when there is none.
    ///
    /// When several processes create one at once, one writes it and the others load it. The key is
    /// written before the certificate, so a certificate always has its key; a key without a
    /// certificate, which a killed process may leave, gets one.
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - owner: The owner that a new CA is named after.
    /// - Returns: The CA; `isNew` is true when it was created.
    /// - Throws: Why there is none.
    package func loadOrCreate(
        now: Int64,
        owner: String = "\(ProcessOwner.userName)@\(ProcessOwner.hostName)"
    ) throws(AuthorityFailure) -> CertificateAuthority {
        if let authority = try load(now: now) { return authority }
        let lock = try lock()
        return try create(now: now, owner: owner, holding: lock)
    }

    // MARK: Steps

    /// Creates the CA unless another process has done so before we got the lock.
    private func create(
        now: Int64,
        owner: String,
        holding lock: borrowing Descriptor
    ) throws(AuthorityFailure) -> CertificateAuthority {
        if let authority = try load(now: now) { return authority }
        let signer = if let key = try storedKey() { key } else { try newKey() }
        let authority: CertificateAuthority
        do throws(CertificateFailure) {
            authority = try CertificateAuthority.make(key: signer, owner: owner, now: now)
        } catch {
            throw unusable(error)
        }
        try write(authority.certificate.pem.span, to: certificate)
        return authority
    }

    /// Takes the lock of all processes that use the same key file.
    private func lock() throws(AuthorityFailure) -> Descriptor {
        do throws(ProtectedFileProblem) {
            return try ProtectedFile.lock(key + ".lock")
        } catch {
            throw .unwritable(path: key + ".lock", reason: error.description)
        }
    }

    private func newKey() throws(AuthorityFailure) -> PrivateKey {
        let written: Result<Void, AuthorityFailure>
        let made: PrivateKey
        do throws(CertificateFailure) {
            made = try PrivateKey.generate(PrivateKey.Algorithm(keyType))
            written = try made.withPEM { text in
                Result { () throws(AuthorityFailure) in try write(text, to: key) }
            }
        } catch {
            throw unusable(error)
        }
        try written.get()
        return made
    }

    private func storedKey() throws(AuthorityFailure) -> PrivateKey? {
        guard let text = try keyText() else { return nil }
        do throws(CertificateFailure) {
            return try PrivateKey.parse(pem: text.bytes)
        } catch {
            throw unusable(error)
        }
    }

    /// The text of the key; nil when there is none; throws when its owner or mode is unsafe.
    private func keyText() throws(AuthorityFailure) -> ProtectedContents? {
        guard let text = try contents(of: key) else { return nil }
        if text.owner == .somebodyElse { throw .foreignKey(key: key) }
        // The mode of a named file is the user's choice; reading the rules gave a warning.
        if text.isOpenToOthers, !isNamed, !isMountedByRoot(text) { throw .openToOthers(key: key) }
        return text
    }

    /// Containers mount secrets read-only or on a tmpfs, with a mode that can't be changed inside.
    private func isMountedByRoot(_ text: borrowing ProtectedContents) -> Bool {
        guard text.owner == .root, let table = try? FileAccess.read("/proc/self/mountinfo") else {
            return false
        }
        return MountTable.isSecretMount(
            device: text.device,
            in: String(decoding: table.bytes, as: UTF8.self)
        )
    }

    /// The certificate alone, regardless of its age and its key; nil when there is none or it can't
    /// be read.
    package var storedCertificate: Certificate? {
        guard let file = try? FileContent(path: certificate, bytesMax: 1 << 20) else { return nil }
        return try? Certificate.parse(pem: file.bytes.span)
    }

    private func contents(of path: String) throws(AuthorityFailure) -> ProtectedContents? {
        do throws(ProtectedFileProblem) {
            return try ProtectedFile.read(path)
        } catch {
            if error.isAbsence { return nil }
            throw .unreadable(path: path, reason: error.description)
        }
    }

    private func write(_ bytes: Span<UInt8>, to path: String) throws(AuthorityFailure) {
        do throws(ProtectedFileProblem) {
            try ProtectedFile.write(bytes, to: path, replacing: false)
        } catch {
            throw .unwritable(path: path, reason: error.description)
        }
    }

    private func unusable(_ failure: CertificateFailure) -> AuthorityFailure {
        .unusable(certificate: certificate, key: key, reason: failure.description)
    }
}
