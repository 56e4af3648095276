// The trust anchors at which every path must end: the system's, those of files, or given ones.
import COpenSSL
package import LupinCore

/// A set of trust anchors, shared by all threads.
@safe
package final class TrustAnchors: Sendable {
    private let store: LibraryReference
    /// Whether a path may end at a certificate that another one signed.
    ///
    /// True only where the user named just these certificates: an intermediate in a file of roots
    /// helps to build paths, but is not trusted.
    let mayBePartial: Bool
    /// Whether the Web's rules for the form of certificates apply below these anchors too.
    ///
    /// They don't for certificates that users make and name one by one; rules that protect always
    /// apply.
    let demandsWebForm: Bool
    /// The certificates, in DER, of files named in the settings, even if the system has them too.
    private let ofFiles: Set<[UInt8]>

    private init(
        owning store: OpaquePointer,
        mayBePartial: Bool,
        demandsWebForm: Bool,
        ofFiles: Set<[UInt8]> = []
    ) {
        // Safety: the reference is released in deinit and nowhere else.
        unsafe PathAttempt.prepare(store)
        unsafe self.store = LibraryReference(store)
        self.mayBePartial = mayBePartial
        self.demandsWebForm = demandsWebForm
        self.ofFiles = ofFiles
    }

    deinit {
        // Safety: this is the reference that `init` took over.
        unsafe X509_STORE_free(store.pointer)
    }

    /// Whether a file named in the settings contains the certificate.
    func isOfFile(_ certificate: Certificate) -> Bool { ofFiles.contains(certificate.der) }

    /// Lends the `X509_STORE` to OpenSSL, which locks it itself.
    func withStore<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        // Safety: `self` holds the store until `body` has returned.
        let result = unsafe body(store.pointer)
        withExtendedLifetime(self) {}
        return result
    }

    /// These certificates only, in DER; nil if one is unreadable or there is none.
    package static func only(_ encodings: [[UInt8]]) -> TrustAnchors? {
        guard !encodings.isEmpty else { return nil }
        // Safety: the store takes references of its own to what is added.
        guard let store = unsafe X509_STORE_new() else { return nil }
        var isPartial = false
        for encoding in encodings {
            guard let certificate = try? Certificate.parse(der: encoding),
                unsafe certificate.withX509({ unsafe X509_STORE_add_cert(store, $0) == 1 })
            else {
                unsafe X509_STORE_free(store)
                ErrorQueue.clear()
                return nil
            }
            if !certificate.isSelfSigned { isPartial = true }
        }
        return unsafe TrustAnchors(owning: store, mayBePartial: isPartial, demandsWebForm: false)
    }
}

// MARK: Loading

extension TrustAnchors {
    /// Reads the anchors of `upstream.tls.roots`.
    ///
    /// The system's are located as OpenSSL does: `SSL_CERT_FILE` and `SSL_CERT_DIR` each override
    /// OpenSSL's built-in path. A file is read now, which takes some 20 ms for 150 certificates; a
    /// directory is searched when a name is looked up.
    ///
    /// - Throws: `badSetting` for a file that is missing or damaged, and if there is no store at
    ///   all.
    package static func load(
        _ settings: TrustAnchorSettings,
        environment: [String: String]
    ) throws(TLSFailure) -> TrustAnchors {
        ErrorQueue.clear()
        var named: [Certificate] = []
        for file in settings.files { named += try certificates(in: file) }
        // Safety: `anchors` owns the store from here on, whatever is thrown below.
        guard let store = unsafe X509_STORE_new() else { throw ErrorQueue.failure(.internal) }
        // A user who names a file trusts all certificates in it, roots or not (RFC 5280 §6.1.1).
        let anchors = unsafe TrustAnchors(
            owning: store,
            mayBePartial: !settings.files.isEmpty,
            demandsWebForm: true,
            ofFiles: Set(named.map(\.der))
        )
        if settings.usesSystem { try anchors.loadSystem(environment) }
        for certificate in named { try anchors.add(certificate) }
        guard settings.usesSystem || !settings.files.isEmpty else {
            throw TLSFailure(.badSetting, reason: "no trust anchors are named")
        }
        return anchors
    }

    /// The certificates of a PEM file, as OpenSSL reads them into a store.
    private static func certificates(in file: String) throws(TLSFailure) -> [Certificate] {
        // Safety: the store lives until the end of the function, and the list holds references of
        // its own to the certificates, which `Certificate` shares.
        guard let store = unsafe X509_STORE_new() else { throw ErrorQueue.failure(.internal) }
        defer { unsafe X509_STORE_free(store) }
        guard unsafe X509_STORE_load_file(store, file) == 1,
            let list = unsafe X509_STORE_get1_all_certs(store)
        else { throw failure("the file \(file)") }
        defer { unsafe openssl_chain_free(list) }
        return (0..<max(0, unsafe openssl_chain_count(list))).compactMap { i in
            unsafe openssl_chain_get(list, i).map { unsafe Certificate(sharing: $0) }
        }
    }

    private func add(_ certificate: Certificate) throws(TLSFailure) {
        // Safety: the store takes a reference of its own.
        let isAdded = unsafe certificate.withX509 {
            unsafe X509_STORE_add_cert(store.pointer, $0) == 1
        }
        guard isAdded else { throw ErrorQueue.failure(.internal) }
    }

    private func loadSystem(_ environment: [String: String]) throws(TLSFailure) {
        // Safety: the names are constants of the library.
        let fileVariable = unsafe String(cString: X509_get_default_cert_file_env())
        let directoryVariable = unsafe String(cString: X509_get_default_cert_dir_env())
        let ownFile = unsafe String(cString: X509_get_default_cert_file())
        let ownDirectory = unsafe String(cString: X509_get_default_cert_dir())
        let namedFile = environment[fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        let namedDirectory = environment[directoryVariable].flatMap { $0.isEmpty ? nil : $0 }
        if let namedFile {
            try load(file: namedFile)
        } else {
            // A system has this file or the directory or both; a missing one is not an error.
            _ = unsafe X509_STORE_load_file(store.pointer, ownFile)
            ErrorQueue.clear()
        }
        let directory = namedDirectory ?? ownDirectory
        guard unsafe X509_STORE_load_path(store.pointer, directory) == 1 else {
            throw Self.failure("the directory \(directory)")
        }
    }

    private func load(file: String) throws(TLSFailure) {
        // Safety: the name lives through the call, which adds to the store under its lock.
        guard unsafe X509_STORE_load_file(store.pointer, file) == 1 else {
            throw Self.failure("the file \(file)")
        }
    }

    private static func failure(_ source: String) -> TLSFailure {
        let failure = ErrorQueue.failure(.badSetting)
        return TLSFailure(
            .badSetting,
            reason: "\(source) holds no usable certificates (\(failure.reason))"
        )
    }
}
