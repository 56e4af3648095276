// Finds the known word that a mistyped one was probably meant to be.

/// Returns the word of `candidates` nearest to `word`, if it is near enough.
package func nearest(to word: String, among candidates: [String]) -> String? {
    let wanted = Array(normalised(word))
    guard wanted.count <= 64 else { return nil }
    let limit = max(1, wanted.count / 3)
    var best: (word: String, distance: Int)?
    for candidate in candidates {
        let distance = editDistance(wanted, Array(normalised(candidate)))
        guard distance <= limit, distance < best?.distance ?? Int.max else { continue }
        best = (candidate, distance)
    }
    return best?.word
}

/// Differences in case, `-` and `_` don't count.
private func normalised(_ word: String) -> [UInt8] {
    word.lowercased().utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }
}

/// The number of insertions, deletions, replacements and transpositions between two words.
package func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var before: [Int] = []
    var above = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        row.reserveCapacity(b.count + 1)
        for j in b.indices {
            var cost = min(above[j + 1] + 1, row[j] + 1, above[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                cost = min(cost, before[j - 1] + 1)
            }
            row.append(cost)
        }
        before = above
        above = row
    }
    return above[b.count]
}
