// Whether a certificate is one of the host that was asked for (RFC 9525).
import LupinCore

/// The alternative names of a server's certificate; a common name is none of them.
struct ServerNames {
    private let names: [Certificate.AlternativeName]

    init(_ certificate: Certificate) { names = certificate.subjectAlternativeNames }

    /// Names of hosts, with or without an asterisk.
    var dnsNames: [String] {
        names.compactMap { if case .dns(let text) = $0 { text } else { nil } }
    }

    /// Whether one of the names is the host.
    ///
    /// Addresses match addresses only, bit by bit. A name matches letter by letter but for case, or
    /// by an asterisk that stands for the whole first label of at least three.
    func include(_ host: Host) -> Bool {
        names.contains { name in
            switch name {
            case .dns(let text): host.address == nil && Self.matches(text, host.text)
            case .address(let address): host.address == address
            case .other: false
            }
        }
    }

    /// What is wrong if none of the names is the host.
    func problem(_ host: Host) -> TrustProblem {
        let texts = names.compactMap(Self.text)
        let shown = texts.prefix(3).joined(separator: ", ")
        let rest = texts.count > 3 ? " and \(texts.count - 3) others" : ""
        let others = texts.isEmpty ? "names no host" : "is for \(shown)\(rest)"
        return TrustProblem(.host, "The server's certificate \(others), not for \(host.text).")
    }

    /// Compares bytes: among characters, others than letters of ASCII have a lower case in it.
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

    /// A name for people; nil for bytes that are no host name.
    private static func text(_ name: Certificate.AlternativeName) -> String? {
        switch name {
        case .dns(let text):
            text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && text.utf8.count < 254 ? text : nil
        case .address(let address): address.text
        case .other: nil
        }
    }
}
