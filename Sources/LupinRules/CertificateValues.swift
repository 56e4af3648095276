// Certificates and keys that the file names: where they lie, and that they are what they should be.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// A file that must be there; nil when a problem was told.
    func file(
        _ node: YAMLNode,
        as role: PathRole,
        expected: String,
        example: String
    ) -> (path: String, contents: FileContents)? {
        guard let name = text(node, expected: expected, example: example),
            let path = path(name, as: role, at: node)
        else { return nil }
        if isUnread {
            note(unreadAt: node.location)
            return (path, FileContents(bytes: []))
        }
        do {
            return (path, try surroundings.readFile(path))
        } catch {
            return refuse(.file, "cannot read \(path): \(error.reason)", at: node)
        }
    }

    /// The DER encodings of the certificates in a file; nil when a problem was told.
    func certificates(_ node: YAMLNode) -> [[UInt8]]? {
        guard
            let (path, contents) =
                file(node, as: .certificates, expected: "a file", example: "ca.pem")
        else { return nil }
        if isUnread { return [[]] }
        guard let encodings = PEM.certificates(in: contents.bytes) else {
            let message = "\(path) holds no certificate"
            let hint = Self.advice(on: contents.bytes) ?? "a file in PEM or DER is due"
            return refuse(.file, message, at: node, hint: hint)
        }
        return encodings
    }

    /// The word `off`, as `.some(nil)`, or `{cert, key}`; nil when a problem was told.
    func certificateFiles(_ entry: YAMLNode.Entry, off: String) -> CertificateFiles?? {
        let node = entry.value
        let example = "{cert: cert.pem, key: key.pem}"
        if case .scalar(off, _) = node.content { return .some(nil) }
        guard case .map(let entries) = node.content else {
            let isOff = node.scalarText.flatMap(Self.meaning) == false
            return wrongType(node, "\(off) or a map", write: isOff ? off : example)
        }
        var files: [String: String] = [:]
        var isComplete = true
        for part in entries {
            let path: String?
            switch part.key {
            case "cert": path = certificateChain(part.value, as: .certificate)
            case "key": path = privateKey(part.value)
            default:
                unknownKey(part, in: entry.key, known: ["cert", "key"])
                path = nil
            }
            if let path { files[part.key] = path } else { isComplete = false }
            taint(part.value)
        }
        for key in ["cert", "key"] where !entries.contains(where: { $0.key == key }) {
            let message = "\"\(entry.key)\" has no \"\(key)\""
            error(.key, message, at: entry, hint: "write \(example)")
            isComplete = false
        }
        guard isComplete, let certificate = files["cert"], let key = files["key"] else {
            return nil
        }
        let pair = CertificateFiles(certificate: certificate, key: key)
        return serves(pair, entry) ? .some(pair) : nil
    }

    /// Whether certificate and key belong together, as far as they are read.
    private func serves(_ pair: CertificateFiles, _ entry: YAMLNode.Entry) -> Bool {
        guard surroundings.secrets == .required, let tls = surroundings.tls,
            let certificates = try? surroundings.readFile(pair.certificate),
            let key = try? surroundings.readFile(pair.key)
        else { return true }
        guard let problem = tls.identity(certificates.bytes, key.bytes) else {
            if let day = tls.expiry(certificates.bytes) {
                let message = "\(pair.certificate) expired on \(day)"
                warning(.file, message, at: entry, hint: "get a new one")
            }
            return true
        }
        let message = "\(pair.certificate) can't be used with \(pair.key): \(problem)"
        let hint =
            "the key must be that of the first certificate: openssl x509 -noout -pubkey -in "
            + "\(pair.certificate) and openssl pkey -pubout -in \(pair.key) print the same then"
        error(.file, message, at: entry, hint: hint)
        return false
    }

    /// A file of certificates for OpenSSL, which reads chains and anchors only from PEM.
    func certificateChain(_ node: YAMLNode, as role: PathRole) -> String? {
        guard
            let (path, contents) =
                file(node, as: role, expected: "a PEM file", example: "cert.pem")
        else { return nil }
        if isUnread { return path }
        guard contents.bytes.first != 0x30, PEM.certificates(in: contents.bytes) != nil else {
            let message = "\(path) holds no certificate in PEM"
            let advice =
                contents.bytes.first == 0x30
                ? "make PEM of it: openssl x509 -inform der -in \(path) -out cert.pem"
                : Self.advice(on: contents.bytes)
            let hint = advice ?? "write a file with BEGIN CERTIFICATE in it"
            return refuse(.file, message, at: node, hint: hint)
        }
        return path
    }

    /// What to do about a file that holds something else than the certificates due; nil when it is
    /// not known what it is.
    private static func advice(on bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        if bytes.isEmpty { return "the file is empty" }
        if text.contains("PRIVATE KEY-----") {
            return "it holds a private key: name the file of its certificate"
        }
        if text.contains("CERTIFICATE REQUEST-----") {
            return "it holds a request: name the file of the certificate that the CA made of it"
        }
        return text.contains("CERTIFICATE-----") ? "it is damaged: get the file anew" : nil
    }

    private func privateKey(_ node: YAMLNode) -> String? {
        guard surroundings.secrets == .required else {
            // It need not be there.
            let name = text(node, expected: "a PEM file", example: "key.pem")
            return name.flatMap { path($0, as: .key, at: node) }
        }
        guard
            let (path, contents) =
                file(node, as: .key, expected: "a PEM file", example: "key.pem")
        else { return nil }
        warnOfOpenKey(contents, path, at: node)
        let blocks = PEM.blocks(in: contents.bytes)
        guard let key = blocks?.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
            let message = "\(path) holds no private key in PEM"
            let isCertificate = PEM.certificates(in: contents.bytes) != nil
            let hint =
                isCertificate
                ? "it holds a certificate: name the file of its private key"
                : "write a file with BEGIN PRIVATE KEY in it"
            return refuse(.file, message, at: node, hint: hint)
        }
        if key.isEncrypted {
            let hint = "take the password off with openssl pkey, and chmod 600 the new file"
            return refuse(.file, "the private key in \(path) is encrypted", at: node, hint: hint)
        }
        return path
    }

    /// A key that others can read is the owner's own choice: lupin serves with it and says so.
    func warnOfOpenKey(_ contents: FileContents, _ path: String, at node: YAMLNode) {
        guard let problem = secrecyProblem(contents, path, at: node) else { return }
        warning(.file, problem.message, at: node, hint: problem.hint)
    }

    /// What the environment gives to a name of a credential's file stays out of records.
    private func taint(_ node: YAMLNode) {
        guard let raw = node.scalarText, raw.contains("${env:"),
            let value = resolvedPattern(raw, at: node)
        else { return }
        add(secret: value)
    }
}
