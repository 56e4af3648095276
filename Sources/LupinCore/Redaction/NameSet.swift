// A list of field or parameter names and globs, matched without regard to case.

/// Names, some with `*` for any run of bytes.
package struct NameSet: Sendable {
    /// Exact names in lower case; the index is their length.
    private var byLength: [[[UInt8]]] = []
    /// Of each length, a bit for every byte below 128 with which a name ends.
    private var ends: [(low: UInt64, high: UInt64)] = []
    /// By the lowest five bits of the byte with which a name must end, which has no case in them;
    /// the last row is of those behind whose `*` any byte may stand.
    private var globs = [[Glob]](repeating: [], count: anyEnd + 1)
    private static let anyEnd = 32
    /// Names that no glob means.
    private var exceptions: [Glob] = []
    /// Whether each part of `user[token]`, `token[value]` and `user.token` counts, too.
    private var readsParts = false

    private struct Glob: Sendable {
        let bytes: [UInt8]
        /// The length of the shortest name that matches.
        let least: Int

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
            least = bytes.count { $0 != 0x2A }
        }
    }

    package init(_ names: [String], except: [String] = [], readsParts: Bool = false) {
        self.readsParts = readsParts
        exceptions = except.map { Glob($0.utf8.map(\.asciiLowercased)) }
        for name in names {
            let bytes = name.utf8.map(\.asciiLowercased)
            guard !bytes.contains(0x2A) else {
                let row = bytes.last == 0x2A ? NameSet.anyEnd : Int(bytes[bytes.count - 1] & 31)
                globs[row].append(Glob(bytes))
                continue
            }
            while byLength.count <= bytes.count {
                byLength.append([])
                ends.append((0, 0))
            }
            byLength[bytes.count].append(bytes)
            guard let last = bytes.last else { continue }
            if last < 64 { ends[bytes.count].low |= 1 << UInt64(last) }
            if last >= 64 { ends[bytes.count].high |= 1 << UInt64(last & 63) }
        }
    }

    package func contains(_ name: Span<UInt8>) -> Bool {
        guard readsParts else { return holds(name) }
        let read = name.extracting(name.readPart)
        return holds(read) || holdsPart(of: read)
    }

    /// Whether `user`, `token` or `value` of `user.token[value]` is in the set.
    private func holdsPart(of name: Span<UInt8>) -> Bool {
        var start = 0
        for i in name.indices where name[i] == 0x2E || name[i] == 0x5B || name[i] == 0x5D {
            if start < i, holds(name.extracting(start..<i)) { return true }
            start = i + 1
        }
        // A name without parts was looked up as a whole.
        return start > 0 && start < name.count && holds(name.extracting(start..<name.count))
    }

    private func holds(_ name: Span<UInt8>) -> Bool {
        guard !name.isEmpty else { return globs[NameSet.anyEnd].contains { $0.least == 0 } }
        let end = name[name.count - 1].asciiLowercased
        if name.count < ends.count {
            let (low, high) = ends[name.count]
            // Few names of one length end alike.
            if (end < 64 ? low : high) &>> UInt64(end & 63) & 1 == 1 {
                for candidate in byLength[name.count]
                where candidate[name.count - 1] == end && candidate.span.equalsIgnoringCase(name) {
                    return true
                }
            }
        }
        let isMeant =
            NameSet.holds(globs[Int(end & 31)], name) || NameSet.holds(globs[NameSet.anyEnd], name)
        return isMeant && !NameSet.holds(exceptions, name)
    }

    private static func holds(_ globs: [Glob], _ name: Span<UInt8>) -> Bool {
        for glob in globs where name.count >= glob.least {
            if matches(glob.bytes.span, name) { return true }
        }
        return false
    }

    /// Scans both once, and only backtracks to the last `*`: at most glob × name steps.
    private static func matches(_ glob: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
        var g = 0
        var n = 0
        var star = -1
        var resume = 0
        while n < name.count {
            if g < glob.count, glob[g] == 0x2A {
                star = g
                resume = n
                g += 1
            } else if g < glob.count, glob[g] == name[n].asciiLowercased {
                g += 1
                n += 1
            } else if star >= 0 {
                resume += 1
                n = resume
                g = star + 1
            } else {
                return false
            }
        }
        while g < glob.count, glob[g] == 0x2A { g += 1 }
        return g == glob.count
    }
}

extension Span<UInt8> {
    /// What of a name its readers see: many ignore blanks at its ends, and what is behind a NUL.
    fileprivate var readPart: Range<Int> {
        var start = 0
        while start < count, self[start].isIgnoredInNames { start += 1 }
        var end = start
        while end < count, self[end] != 0 { end += 1 }
        while end > start, self[end - 1].isIgnoredInNames { end -= 1 }
        return start..<end
    }
}

extension UInt8 {
    /// A control, a space, or the `+` that stands for one.
    fileprivate var isIgnoredInNames: Bool { self <= 0x20 || self == 0x2B || self == 0x7F }
}
