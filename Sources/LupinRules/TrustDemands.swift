// Decodes the demands of a trust policy: pins, certificates and revocation.

import LupinCore

/// The keys beside `pins:` and `certificates:`.
struct TrustFlags {
    var chain = true
    var host = true
    var selfSigned = false
}

// MARK: Pins and certificates

extension DecodingContext {
    func pins(_ entry: YAMLNode.Entry, _ flags: TrustFlags) -> TrustPolicy? {
        let items = self.items(entry.value)
        if items.isEmpty {
            let hint = "write [\"sha256/…\"], two of them at best"
            return refuse(.trustEmpty, "the list of pins is empty", at: entry, hint: hint)
        }
        let digests = items.map(pin)
        guard !digests.contains(nil) else { return nil }
        var pins = PinnedKeys(digests.compactMap { $0 })
        pins.demandsChain = flags.chain
        pins.demandsHost = flags.host
        if Set(pins.digests).count == 1 {
            let message = "one pin and no backup: a new key at the server would lock everybody out"
            let hint = "add the pin of a key that is kept aside"
            warning(.trustPin, message, at: entry, hint: hint)
        }
        return .pins(pins)
    }

    /// Decodes `sha256/` and the base64 of 32 bytes (RFC 7469 §2.4).
    private func pin(_ node: YAMLNode) -> [UInt8]? {
        let example = "sha256/ and the 44 characters of a SHA-256 in base64"
        guard let text = self.text(node, expected: "a pin", example: example) else { return nil }
        let prefix = "sha256/"
        if text.hasPrefix(prefix),
            let digest = Base64Text.decode(Array(text.dropFirst(prefix.count).utf8)),
            digest.count == 32
        {
            return digest
        }
        let message = "\"\(text)\" is not the SHA-256 of a public key"
        let hint = "write \(DecodingContext.meantPin(text).map { prefix + $0 } ?? example)"
        return refuse(.trustPin, message, at: node, hint: hint)
    }

    /// Converts another spelling of a pin: curl's, one without a prefix, or hexadecimal.
    private static func meantPin(_ text: String) -> String? {
        var body = text[...]
        for prefix in ["sha256//", "sha256/", "sha256=", "sha256:", "SHA256:"]
        where body.hasPrefix(prefix) {
            body = body.dropFirst(prefix.count)
            break
        }
        if Base64Text.decode(Array(body.utf8))?.count == 32 { return String(body) }
        let digits = body.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 64 else { return nil }
        let bytes = stride(from: 0, to: 64, by: 2).compactMap {
            NumberReader.hexadecimalByte(digits.span, at: $0)
        }
        return bytes.count == 32 ? Base64Text.encode(bytes) : nil
    }

    func certificates(_ entry: YAMLNode.Entry, _ flags: TrustFlags) -> TrustPolicy? {
        let items = self.items(entry.value)
        if items.isEmpty {
            let message = "the list of certificates is empty"
            return refuse(.trustEmpty, message, at: entry, hint: "write [ca.pem]")
        }
        let files = items.map(certificates)
        guard !files.contains(nil) else { return nil }
        var pinned = PinnedCertificates(files.compactMap { $0 }.flatMap { $0 })
        pinned.areAnchors = flags.selfSigned
        pinned.demandsChain = flags.chain
        pinned.demandsHost = flags.host
        return .certificates(pinned)
    }

    // MARK: Revocation

    func revocation(_ node: YAMLNode) -> TrustPolicy? {
        var demand = RevocationDemand()
        let example = "{method: any, require: true}"
        guard let entries = self.entries(node, of: "a map", example: example) else { return nil }
        let known = ["method", "require", "network"]
        let isComplete = every(entries, in: "revocation", known: known) { entry in
            switch entry.key {
            case "method": set(&demand.method, revocationMethod(entry.value))
            case "require": set(&demand.isRequired, boolean(entry.value))
            default: set(&demand.usesNetwork, boolean(entry.value))
            }
        }
        return isComplete ? .revocation(demand) : nil
    }

    private func revocationMethod(_ node: YAMLNode) -> RevocationDemand.Method? {
        guard let text = text(node, expected: "a method", example: "any") else { return nil }
        switch text {
        case "any": return .any
        case "ocsp": return .ocsp
        case "crl": return .crl
        default: return unknownWord(node, text, for: "method", known: ["any", "ocsp", "crl"])
        }
    }
}
