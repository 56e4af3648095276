// Checks whether a certificate is valid for the requested host (RFC 9525).
import LupinCore

/// The alternative names of a server's certificate; the common name is ignored.
struct ServerNames {
    private let names: [Certificate.AlternativeName]

    init(_ certificate: Certificate) { names = certificate.subjectAlternativeNames }

    /// The host names, with or without a wildcard.
    var dnsNames: [String] {
        names.compactMap { if case .dns(let text) = $0 { text } else { nil } }
    }

    /// Whether one of the names matches the host.
    ///
    /// An address matches only an equal address. A name matches if it is equal apart from case, or
    /// by an asterisk for the whole first label of at least three labels.
    func include(_ host: Host) -> Bool {
        names.contains { name in
            switch name {
            case .dns(let text): host.address == nil && Self.matches(text, host.text)
            case .address(let address): host.address == address
            case .other: false
            }
        }
    }

    /// The problem to report if none of the names matches the host.
    func problem(_ host: Host) -> TrustProblem {
        if let address = host.address, dnsNames.contains(where: { IPAddress($0) == address }) {
            let flaw = "has \(host.text) as a host name (dNSName), which is no address (iPAddress)"
            let sentence = "The server's certificate \(flaw), so it is not for \(host.text)."
            return TrustProblem(.host, sentence)
        }
        let texts = names.compactMap(Self.text)
        let shown = texts.prefix(3).joined(separator: ", ")
        let rest = texts.count > 3 ? " and \(texts.count - 3) others" : ""
        if texts.isEmpty {
            let flaw = names.isEmpty ? "has no subjectAltName" : "names no host in subjectAltName"
            let sentence = "The server's certificate \(flaw), so it is not for \(host.text)."
            return TrustProblem(.host, "\(sentence) \(Self.remedy)")
        }
        let sentence = "The server's certificate is for \(shown)\(rest), not for \(host.text)."
        return TrustProblem(.host, sentence)
    }

    private static let remedy =
        "Where its name does not matter, `host: false` accepts it, as in "
        + "`trust: {system: {host: false}}`."

    /// Compares bytes: as Unicode, characters outside ASCII could have an ASCII lower case.
    private static func matches(_ pattern: String, _ host: String) -> Bool {
        let host = host.utf8
        let pattern = pattern.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        guard pattern.starts(with: [0x2A, 0x2E]) else {
            return pattern.elementsEqual(host) && !pattern.contains(0x2A)
        }
        let base = pattern.dropFirst()
        guard !base.contains(0x2A), base.dropFirst().contains(0x2E), host.count > base.count,
            host.suffix(base.count).elementsEqual(base)
        else { return false }
        return !host.dropLast(base.count).contains(0x2E)
    }

    /// A name for display; nil for bytes that are not a host name.
    private static func text(_ name: Certificate.AlternativeName) -> String? {
        switch name {
        case .dns(let text):
            text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && text.utf8.count < 254 ? text : nil
        case .address(let address): address.text
        case .other: nil
        }
    }
}
