// Which targets clients have asked for lately, and what is known of each.
import LupinCore

/// A target that clients ask for, in canonical form, with what is known of the way to it.
final class KnownTarget {
    let origin: Origin
    /// The way to it, in clear, when there is no parent proxy.
    let directHop: NextHop
    /// The way to it, under TLS, that was gone last.
    var secureHop: NextHop?
    /// What the rules say of it, as far as it alone decides.
    var rules: TargetRules?
    /// Where the pool keeps connections of the direct way.
    var shelf: UpstreamPool.Shelf?
    /// How the origin fared, once a policy counts it; see `OriginHealths`.
    var healthRecord: OriginHealths.Record?

    init(_ origin: Origin) {
        self.origin = origin
        directHop = .origin(origin)
    }
}

/// The targets that were asked for lately, by the bytes that named them: tools ask the same few
/// over and over, and canonical form costs more than a comparison.
final class AuthorityCache {
    private static let size = 64

    private struct Entry {
        var scheme = Scheme.http
        var bytes: [UInt8] = []
        var target: KnownTarget?
    }

    private var entries = [Entry](repeating: Entry(), count: size)

    /// The target that `authority` names; nil when it is no host and port.
    func target(_ scheme: Scheme, _ authority: Span<UInt8>) -> KnownTarget? {
        let index = place(scheme, authority)
        let entry = entries[index]
        if let known = entry.target, entry.scheme == scheme, equal(entry.bytes.span, authority) {
            return known
        }
        guard let (host, port) = AuthorityText.parse(authority) else { return nil }
        let target = KnownTarget(
            Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        )
        entries[index] = Entry(
            scheme: scheme,
            bytes: [UInt8](copying: authority),
            target: target
        )
        return target
    }

    private func place(_ scheme: Scheme, _ authority: Span<UInt8>) -> Int {
        var hash = UInt(scheme.rawValue)
        for i in authority.indices { hash = (hash ^ UInt(authority[i])) &* 0x0100_0193 }
        return Int((hash ^ hash >> 16) % UInt(Self.size))
    }

    private func equal(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        for i in a.indices where a[i] != b[i] { return false }
        return true
    }
}
