// Recently requested targets, and cached facts about each.
import LupinCore
import LupinPolicy
import LupinRecords
import LupinUpstream

/// A requested target in canonical form, with cached facts about the way to it.
package final class KnownTarget {
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

extension UpstreamPool {
    /// Leases an idle connection for the direct way to `target`.
    func lease(directlyTo target: KnownTarget) -> UpstreamHTTP1? {
        if let shelf = target.shelf, shelf.isListed { return lease(from: shelf) }
        guard let shelf = knownShelf(for: target.directHop) else { return nil }
        target.shelf = shelf
        return lease(from: shelf)
    }

    /// Leases one for `hop`, which is the direct way to `target` where that is known.
    func lease(for hop: NextHop, known target: KnownTarget?) -> UpstreamHTTP1? {
        if let target { lease(directlyTo: target) } else { lease(for: hop) }
    }
}

/// Recently requested targets, by the bytes that named them: clients request the same few
/// repeatedly, and the canonical form costs more than a comparison.
final class AuthorityCache {
    /// As many as six bits of a hash tell apart.
    private static let size = 64

    private struct Entry {
        var scheme = Scheme.http
        var bytes: [UInt8] = []
        var target: KnownTarget?
    }

    private var entries = [Entry](repeating: Entry(), count: size)

    /// The target that `authority` names; nil when it is not a valid host and port.
    func target(_ scheme: Scheme, _ authority: Span<UInt8>) -> KnownTarget? {
        let slot = Self.slot(scheme, authority)
        if let known = known(scheme, authority, at: slot) { return known }
        guard let (host, port) = AuthorityText.parse(authority) else { return nil }
        let target = KnownTarget(
            Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        )
        put(
            Entry(scheme: scheme, bytes: [UInt8](copying: authority), target: target),
            at: slot
        )
        return target
    }

    private func known(
        _ scheme: Scheme,
        _ authority: Span<UInt8>,
        at slot: Int
    ) -> KnownTarget? {
        // Part by part: a copy of the entry would retain all of them.
        guard entries[slot].scheme == scheme else { return nil }
        let bytes = entries[slot].bytes
        return bytes.span.isSame(as: authority) ? entries[slot].target : nil
    }

    /// The entries are moved out and back, which avoids the run-time exclusivity check.
    private func put(_ entry: Entry, at slot: Int) {
        var entries: [Entry] = []
        swap(&entries, &self.entries)
        entries[slot] = entry
        swap(&entries, &self.entries)
    }

    private static func slot(_ scheme: Scheme, _ authority: Span<UInt8>) -> Int {
        let hash = authority.sparseHash &+ UInt64(scheme.rawValue)
        return Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) &>> 58)
    }
}
