// Recently requested targets, and cached facts about each.
import LupinCore

/// A requested target in canonical form, with cached facts about the way to it.
final class KnownTarget {
    let origin: Origin
    /// The way to it in clear text, without a parent proxy.
    let directHop: NextHop
    /// The way to it under TLS that was used last.
    var secureHop: NextHop?
    /// The rules' result for it, as far as the target alone decides.
    var rules: TargetRules?
    /// The pool's shelf for the direct way.
    var shelf: UpstreamPool.Shelf?
    /// The origin's health, once a policy counts it; see `OriginHealths`.
    var healthRecord: OriginHealths.Record?

    init(_ origin: Origin) {
        self.origin = origin
        directHop = .origin(origin)
    }
}

/// Recently requested targets, by the bytes that named them: clients request the same few
/// repeatedly, and the canonical form costs more than a comparison.
final class AuthorityCache {
    private static let size = 64

    private struct Entry {
        var scheme = Scheme.http
        var bytes: [UInt8] = []
        var target: KnownTarget?
    }

    private var entries = [Entry](repeating: Entry(), count: size)

    /// The target that `authority` names; nil when it is not a valid host and port.
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
