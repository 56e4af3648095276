// The certificates that origins showed lately, for a look at an exchange afterwards.
package import LupinCore
import Synchronization

/// Chains by the server's own certificate, for all workers.
///
/// Only handshakes add to it: a connection that is used again costs nothing.
package final class ShownChains: Sendable {
    /// What a record says of the server's own certificate.
    package struct Key: Hashable, Sendable {
        /// The pin of its key.
        package let pin: String
        /// When it ends, as a record says it: a key may outlive its certificate.
        package let notAfter: String

        package init(pin: String, notAfter: String) {
            self.pin = pin
            self.notAfter = notAfter
        }
    }

    /// A certificate, as far as people look at it.
    package struct Link: Sendable {
        package let subject: String
        package let issuer: String
        /// As in records.
        package let notBefore: String
        package let notAfter: String
        package let pin: String
    }

    /// The maximum number of chains; beyond it the one that was added first is dropped.
    private static let countMax = 256
    /// The maximum length of a name; the rest of a longer one is cut off.
    private static let nameLengthMax = 256

    private struct Table {
        var chains: [Key: [Link]] = [:]
        /// In the order in which they were added.
        var keys: [Key] = []
        var oldest = 0
    }

    private let table = Mutex(Table())

    package init() {}

    /// Keeps the certificates of a handshake, the server's own first.
    package func note(_ certificates: [CertificateFacts]) {
        guard let leaf = certificates.first else { return }
        let key = Key(pin: PinText.text(leaf.keyDigest), notAfter: Self.text(leaf.notAfter))
        if table.withLock({ $0.chains[key] != nil }) { return }
        let links = certificates.map(Self.link)
        table.withLock { table in
            guard table.chains.updateValue(links, forKey: key) == nil else { return }
            if table.keys.count < Self.countMax { return table.keys.append(key) }
            table.chains[table.keys[table.oldest]] = nil
            table.keys[table.oldest] = key
            table.oldest = (table.oldest + 1) % Self.countMax
        }
    }

    /// The chain that was shown with a server's certificate; nil where none is known any more.
    package func chain(_ key: Key) -> [Link]? { table.withLock { $0.chains[key] } }

    /// A time, up to year 9999, where RFC 3339 ends.
    private static func text(_ seconds: Int64) -> String {
        var timestamp = TimestampText()
        var text: [UInt8] = []
        let microseconds = min(max(seconds, 0), 253_402_300_799) * 1_000_000
        timestamp.append(date: microseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func link(_ facts: CertificateFacts) -> Link {
        Link(
            subject: String(facts.subject.prefix(nameLengthMax)),
            issuer: String(facts.issuer.prefix(nameLengthMax)),
            notBefore: text(facts.notBefore),
            notAfter: text(facts.notAfter),
            pin: PinText.text(facts.keyDigest)
        )
    }
}
