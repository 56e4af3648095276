// Lists of many hosts, such as block lists, in little memory; look-up time doesn't depend on size.

package import LupinCore

/// Exact hosts, names with a leading `*.` or `**.`, and other patterns.
///
/// A host takes its name and nine bytes. A look-up probes the table once per label of the host.
package final class HostList: Sendable {
    /// The hosts that an entry with a name covers.
    private struct Scope: OptionSet {
        let rawValue: UInt8
        /// The host itself.
        static let itself = Scope(rawValue: 1 << 0)
        /// `*.name`: hosts one label below.
        static let children = Scope(rawValue: 1 << 1)
        /// `**.name`: the host and everything below.
        static let tree = Scope(rawValue: 1 << 2)
    }

    /// Patterns of other forms.
    package let others: [HostPattern]
    /// The number of distinct patterns.
    package let count: Int
    /// For each entry: scope, length and bytes of the name.
    private let names: [UInt8]
    /// Open addressing: the offset of an entry plus one; 0 is free.
    private let slots: [UInt32]

    /// Creates a list of all that was added to `builder`.
    package init(_ builder: consuming Builder) {
        names = builder.names
        others = builder.others
        slots = builder.slots
        count = builder.count
    }

    package convenience init(_ patterns: some Sequence<HostPattern>) {
        var builder = Builder()
        for pattern in patterns { builder.insert(pattern) }
        self.init(builder)
    }

    /// Whether the list matches `host`.
    package func contains(_ host: Host) -> Bool {
        let text = host.text.utf8Span.span
        if names(text) { return true }
        return others.contains { $0.matches(host) }
    }

    /// Whether `host` itself is listed, rather than matched by a pattern.
    func lists(_ host: Host) -> Bool {
        let text = host.text.utf8Span.span
        return scope(of: text, SuffixHash(of: text).value).contains(.itself)
    }

    /// Returns the first pattern for which `holds` is true.
    func first(where holds: (HostPattern) -> Bool) -> HostPattern? {
        var start = 0
        while start < names.count {
            let end = start + 2 + Int(names[start + 1])
            let name = String(decoding: names[(start + 2)..<end], as: UTF8.self)
            let scope = Scope(rawValue: names[start])
            for (part, star) in [(Scope.itself, ""), (.children, "*."), (.tree, "**.")]
            where scope.contains(part) {
                if let pattern = try? HostPattern(star + name), holds(pattern) { return pattern }
            }
            start = end
        }
        return others.first(where: holds)
    }

    /// Whether the names, without `others`, cover `host`, which is in canonical form.
    private func names(_ host: Span<UInt8>) -> Bool {
        var hash = SuffixHash()
        for i in stride(from: host.count - 1, through: 0, by: -1) {
            hash.prepend(host[i])
            guard i == 0 || host[i - 1] == 0x2E else { continue }
            let scope = scope(of: host.extracting(i..<host.count), hash.value)
            if scope.isEmpty { continue }
            if scope.contains(.tree) || i == 0 && scope.contains(.itself) { return true }
            if scope.contains(.children), Self.isLabel(host.extracting(0..<i)) { return true }
        }
        return false
    }

    /// Whether it is one label and a dot.
    private static func isLabel(_ text: Span<UInt8>) -> Bool {
        guard text.count > 1 else { return false }
        for i in 0..<(text.count - 1) where text[i] == 0x2E { return false }
        return true
    }

    private func scope(of name: Span<UInt8>, _ hash: UInt64) -> Scope {
        guard let start = Self.find(name, hash, in: names, slots).entry else { return [] }
        return Scope(rawValue: names[start])
    }

    /// Returns the offset of a name's entry, and the place in the table that has it or is free for
    /// it.
    private static func find(
        _ name: Span<UInt8>,
        _ hash: UInt64,
        in names: [UInt8],
        _ slots: [UInt32]
    ) -> (entry: Int?, slot: Int) {
        guard !slots.isEmpty else { return (nil, 0) }
        var slot = Int(truncatingIfNeeded: (hash ^ hash &>> 29) & UInt64(slots.count - 1))
        // The table is never full.
        while slots[slot] > 0 {
            let start = Int(slots[slot] - 1)
            if Int(names[start + 1]) == name.count, isName(at: start + 2, in: names, name) {
                return (start, slot)
            }
            slot = slot + 1 == slots.count ? 0 : slot + 1
        }
        return (nil, slot)
    }

    private static func isName(at start: Int, in names: [UInt8], _ name: Span<UInt8>) -> Bool {
        for i in name.indices where names[start + i] != name[i] { return false }
        return true
    }
}

extension HostList {
    /// Builds a list.
    package struct Builder {
        fileprivate private(set) var names: [UInt8] = []
        fileprivate private(set) var others: [HostPattern] = []
        fileprivate private(set) var slots: [UInt32] = []
        package private(set) var count = 0
        private var entries = 0

        package init() {}

        package mutating func insert(_ host: Host) { insert(host.text.utf8Span.span, .itself) }

        package mutating func insert(_ pattern: HostPattern) {
            if let host = pattern.exactHost { return insert(host) }
            if let (star, name) = pattern.starredName {
                return insert(name.span, star == .any ? .tree : .children)
            }
            others.append(pattern)
            count += 1
        }

        private mutating func insert(_ name: Span<UInt8>, _ scope: Scope) {
            if (entries + 1) * 4 > slots.count * 3 { grow() }
            let (entry, slot) = find(name, SuffixHash(of: name).value, in: names, slots)
            if let entry {
                // The same name with another scope is another pattern.
                if names[entry] & scope.rawValue == 0 { count += 1 }
                names[entry] |= scope.rawValue
                return
            }
            slots[slot] = UInt32(names.count) + 1
            names.append(scope.rawValue)
            // A host has at most 253 bytes.
            names.append(UInt8(truncatingIfNeeded: name.count))
            for i in name.indices { names.append(name[i]) }
            entries += 1
            count += 1
        }

        private mutating func grow() {
            var slots = [UInt32](repeating: 0, count: max(16, slots.count * 2))
            var start = 0
            while start < names.count {
                let end = start + 2 + Int(names[start + 1])
                let name = names.span.extracting((start + 2)..<end)
                let (_, slot) = find(name, SuffixHash(of: name).value, in: names, slots)
                slots[slot] = UInt32(start) + 1
                start = end
            }
            self.slots = slots
        }
    }
}

extension HostList: Equatable {
    package static func == (a: HostList, b: HostList) -> Bool { a === b }
}

/// FNV-1a over the bytes of a suffix, from the last to the first.
struct SuffixHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init() {}

    /// Hashes all of `bytes`.
    init(of bytes: Span<UInt8>) {
        for i in stride(from: bytes.count - 1, through: 0, by: -1) { prepend(bytes[i]) }
    }

    mutating func prepend(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
