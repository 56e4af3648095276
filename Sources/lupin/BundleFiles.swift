// The files that make programs trust lupin's CA in addition to what they trusted before.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS

/// The files in one folder that the variables of `ChildEnvironment` name.
///
/// A user's own file of CAs is copied and added to, never dropped: the user's servers need it.
/// Shells share the folder, and each may have own files, so a file is named by what it extends.
struct BundleFiles {
    /// The trust bundles of distributions, in the order of Go's and curl's lists.
    static let systemStores = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// The file for each variable that names one; empty without a CA.
    private(set) var bundles: [String: String] = [:]
    /// nil without a CA, like `wgetSettings`.
    private(set) var javaTrust: String?
    private(set) var wgetSettings: String?
    let nodeProxy: String
    /// A folder for the front of PATH; nil when no program needs one.
    private(set) var programs: String?
    /// What the user should know: files that could not be read, so that the bundles lack them.
    private(set) var warnings: [String] = []

    private let folder: String
    private let authority: [UInt8]
    /// The files written so far, by the path of the file that they extend.
    private var written: [String: String] = [:]

    /// Writes the files.
    ///
    /// - Parameters:
    ///   - folder: An existing directory of the user's own.
    ///   - authority: The certificate of lupin's CA, in PEM; nil when there is none.
    ///   - anchors: What else lupin trusts, in PEM.
    ///   - environment: The user's variables; the files that they name are copied.
    ///   - wrapsBrowsers: Whether programs that read no variable get a wrapper in `programs`.
    /// - Throws: The error of a file operation.
    init(
        in folder: String,
        authority: [UInt8]?,
        anchors: [UInt8],
        environment: [String: String],
        wrapsBrowsers: Bool
    ) throws(SystemError) {
        self.folder = folder
        self.authority = (authority ?? []) + anchors
        nodeProxy = "\(folder)/node-proxy.cjs"
        try WholeFile.write(Array(NodeProxy.source.utf8), to: nodeProxy)
        guard let authority else { return }
        if wrapsBrowsers {
            programs = try BrowserWrappers.write(
                in: folder,
                authority: authority,
                environment: environment
            )
        }
        try writeBundles(environment)
        if ChildEnvironment.hasJavaStore(environment) {
            warnings.append(
                "Java trusts the store that JAVA_TOOL_OPTIONS names, and nothing else: "
                    + "add lupin's CA to it (`lupin ca show` says where that is)"
            )
        }
        let bundle = bundles["SSL_CERT_FILE"] ?? ""
        let store = JavaTrustStore.bytes(
            of: CertificateText.certificates(in: WholeFile.content(of: bundle) ?? authority)
        )
        let trust = filePath("trust", extending: bundle, ".jks")
        try WholeFile.write(store, to: trust)
        javaTrust = trust
        let line = "ca_certificate = \(bundle)"
        let own = environment["WGETRC"] ?? "\(environment["HOME"] ?? "")/.wgetrc"
        var settings = WholeFile.content(of: own) ?? []
        // Its last line may be ours, from an earlier call of lupin.
        if settings.ends(with: Array("\(line)\n".utf8)) { settings.removeLast(line.utf8.count + 1) }
        if let last = settings.last, last != 0x0A { settings.append(0x0A) }
        settings.append(contentsOf: "\(line)\n".utf8)
        let extended = filePath("wgetrc", extending: own)
        try WholeFile.write(settings, to: extended)
        wgetSettings = extended
    }

    /// The path of the file that extends `base`: itself, if that is one of ours.
    private func filePath(_ name: String, extending base: String, _ end: String = "") -> String {
        if base.hasPrefix("\(folder)/\(name)-") { return base }
        let digest = MessageDigest.sha256(base.utf8Span.span).prefix(6)
        var digits: [UInt8] = []
        for byte in digest { digits.append(hex: UInt64(byte), digits: 2) }
        return "\(folder)/\(name)-\(String(decoding: digits, as: UTF8.self))\(end)"
    }

    /// Each variable's own file comes first, then that of SSL_CERT_FILE, then the system's.
    private mutating func writeBundles(_ environment: [String: String]) throws(SystemError) {
        // Read all before writing any: variables of an earlier call name our own files.
        var contents: [String: [UInt8]] = [:]
        let system = Self.systemStores.first { FileStatus(path: $0)?.isRegular == true }
        let names = ChildVariables.bundles + ChildVariables.additions
        for path in names.compactMap({ environment[$0] }) + [system].compactMap(\.self)
        where !path.isEmpty && contents[path] == nil {
            contents[path] = WholeFile.content(of: path)
            guard contents[path] == nil else { continue }
            let warning = "\(path) cannot be read and is left out"
            if !warnings.contains(warning) { warnings.append(warning) }
        }
        let known = { (path: String?) in path.flatMap { contents[$0] == nil ? nil : $0 } }
        let general = known(environment["SSL_CERT_FILE"]) ?? system
        for name in ChildVariables.bundles {
            let base = known(environment[name]) ?? general
            bundles[name] = try file(behind: base, base.flatMap { contents[$0] } ?? [])
        }
        for name in ChildVariables.additions {
            let base = known(environment[name])
            bundles[name] = try file(behind: base, base.flatMap { contents[$0] } ?? [])
        }
    }

    /// Writes a file with the content of `base` followed by lupin's CA.
    private mutating func file(
        behind base: String?,
        _ content: [UInt8]
    ) throws(SystemError) -> String {
        let key = base ?? ""
        if let path = written[key] { return path }
        let path =
            base.map { filePath("bundle", extending: $0, ".pem") } ?? "\(folder)/authority.pem"
        var content = content
        if !content.ends(with: authority) {
            if let last = content.last, last != 0x0A { content.append(0x0A) }
            content += authority
        }
        try WholeFile.write(content, to: path)
        written[key] = path
        return path
    }
}

extension [UInt8] {
    fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
}

/// Certificates as text (RFC 7468).
enum CertificateText {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// Returns the DER of every certificate in a text; invalid ones are skipped.
    static func certificates(in pem: [UInt8]) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var lines: String?
        for line in pem[pem.span.byteOrderMark...].split(whereSeparator: {
            $0 == 0x0A || $0 == 0x0D
        }) {
            let text = String(decoding: line, as: UTF8.self)
            if text == begin {
                lines = ""
            } else if text == end, let base64 = lines {
                if let bytes = Base64Text.decode(Array(base64.utf8)) { certificates.append(bytes) }
                lines = nil
            } else {
                lines?.append(text)
            }
        }
        return certificates
    }
}

/// Java's own keystore format (JKS), which every version since 1.2 reads.
///
/// PKCS#12 is the standard format, but Java trusts its certificates only with an attribute of
/// Oracle's that OpenSSL 3.0 cannot write.
enum JavaTrustStore {
    /// Encodes a store of trusted certificates without a password or a valid checksum.
    static func bytes(of certificates: [[UInt8]]) -> [UInt8] {
        var store: [UInt8] = []
        append(0xFEED_FEED, bytes: 4, to: &store)
        append(2, bytes: 4, to: &store)
        append(UInt64(certificates.count), bytes: 4, to: &store)
        for (index, certificate) in certificates.enumerated() {
            append(2, bytes: 4, to: &store)
            append("authority-\(index)", to: &store)
            append(0, bytes: 8, to: &store)
            append("X.509", to: &store)
            append(UInt64(certificate.count), bytes: 4, to: &store)
            store.append(contentsOf: certificate)
        }
        // The place of the checksum; without a password Java does not verify it.
        return store + [UInt8](repeating: 0, count: 20)
    }

    private static func append(_ number: UInt64, bytes: UInt64, to store: inout [UInt8]) {
        for index in (0..<bytes).reversed() {
            store.append(UInt8(truncatingIfNeeded: number >> (8 * index)))
        }
    }

    private static func append(_ text: String, to store: inout [UInt8]) {
        append(UInt64(text.utf8.count), bytes: 2, to: &store)
        store.append(contentsOf: text.utf8)
    }
}
