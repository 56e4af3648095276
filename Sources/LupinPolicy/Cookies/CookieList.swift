// Merges the jar's cookies with the client's own into one Cookie field.

package import LupinCore

/// The cookies of a jar for one request, in the order in which they are sent.
package struct CookieList: Sendable {
    package var pairs: [(name: String, value: String)]

    package init(_ pairs: [(name: String, value: String)] = []) { self.pairs = pairs }

    package var isEmpty: Bool { pairs.isEmpty }

    package var values: [String] { pairs.map(\.value) }

    /// Adds the cookies to the fields of a request, and joins the client's lines into one.
    ///
    /// The client's cookies come first, unchanged. They override the jar's: cookies of the jar with
    /// a name that the client sends, on any path, are left out.
    ///
    /// RFC 9113 §8.2.3 lets HTTP/2 split the field, so HTTP/1.1 requires the join. Without cookies
    /// of the jar nothing changes.
    package func attach(to fields: inout FieldSection) {
        guard !isEmpty else { return }
        var client: [UInt8] = []
        var first: Int?
        for (i, line) in fields.lines.enumerated() where line.known == .cookie && !line.isHopByHop {
            let value = fields.storage[line.value.range]
            if !client.isEmpty, !value.isEmpty { client += [0x3B, 0x20] }
            client += value
            first = first ?? i
        }
        let line = fields.cookieLine(merged(with: client))
        guard let first else {
            fields.lines.append(line)
            return
        }
        // In reverse, since indices after a removed line change.
        for i in fields.lines.indices.reversed()
        where i > first && fields.lines[i].known == .cookie && !fields.lines[i].isHopByHop {
            fields.lines.remove(at: i)
        }
        fields.lines[first] = line
    }

    /// As bytes, because a client's value may not be UTF-8, and it is forwarded unchanged.
    private func merged(with client: [UInt8]) -> [UInt8] {
        let range = client.span.trimmedRange
        var names: Set<[UInt8]> = []
        for pair in client[range].split(separator: 0x3B) {
            let bytes = Array(pair)
            let end = bytes.firstIndex(of: 0x3D) ?? 0
            let name = bytes.span.extracting(0..<end)
            names.insert(Array(bytes[name.trimmedRange]))
        }
        var merged = Array(client[range])
        for pair in pairs where !names.contains(OctetText.bytes(pair.name)) {
            // The client's value may already end with a semicolon.
            if !merged.isEmpty { merged += merged.last == 0x3B ? [0x20] : [0x3B, 0x20] }
            merged += OctetText.bytes(CookieList.text(pair))
        }
        return merged
    }

    private static func text(_ pair: (name: String, value: String)) -> String {
        pair.name.isEmpty ? pair.value : "\(pair.name)=\(pair.value)"
    }
}

extension FieldSection {
    /// Makes a Cookie line at the end of the storage.
    fileprivate mutating func cookieLine(_ value: [UInt8]) -> Line {
        let name = store("Cookie: ")
        let start = storage.count
        storage += value
        storage += [0x0D, 0x0A]
        names.insert(.cookie)
        return Line(
            name: ByteRange(start: name.lowerBound, count: 6),
            value: ByteRange(start: start, count: value.count),
            known: .cookie,
            isContiguous: true
        )
    }
}
