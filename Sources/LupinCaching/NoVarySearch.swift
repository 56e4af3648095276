// Parts of a query that the origin declares irrelevant (No-Vary-Search).

package import LupinCore
import LupinPolicy

/// The field No-Vary-Search of a response (draft-ietf-httpbis-no-vary-search); obeyed only if a
/// rule says so.
///
/// A malformed field is ignored: then every byte of the query counts, which is safe. So is
/// `params=?1` of earlier drafts, which the latest ones refuse.
package struct NoVarySearch: Sendable, Hashable {
    /// The ignored parameters; names are decoded, valid UTF-8 and compared byte by byte.
    package enum Ignored: Sendable, Hashable {
        case these(Set<[UInt8]>)
        case allBut(Set<[UInt8]>)
    }

    /// `key-order`: the order of the parameters is ignored.
    package private(set) var ignoresOrder = false
    package private(set) var ignored = Ignored.these([])

    /// A field with a longer canonical form is ignored, since every key holds it.
    package static let textBytesMax = 1024

    /// Parses the field of a response; nil when there is none or it changes nothing.
    package init?(of fields: FieldSection) {
        self.init(StructuredDictionary(of: "No-Vary-Search", in: fields))
    }

    /// Parses a value of `text`.
    package init?(_ text: some StringProtocol) {
        self.init(StructuredDictionary(parsing: Array(text.utf8)))
    }

    private init?(_ dictionary: StructuredDictionary?) {
        guard let dictionary else { return nil }
        switch dictionary[key: "key-order"] {
        case .item(.boolean(let isIgnored)): ignoresOrder = isIgnored
        case nil: break
        default: return nil
        }
        switch (dictionary[key: "params"], dictionary[key: "except"]) {
        case (nil, nil): break
        case (.innerList(let items)?, nil):
            guard let names = NoVarySearch.names(items) else { return nil }
            ignored = .these(names)
        case (nil, .innerList(let items)?):
            guard let names = NoVarySearch.names(items) else { return nil }
            ignored = .allBut(names)
        default: return nil
        }
        if !ignoresOrder, ignored == .these([]) { return nil }
        if text.utf8.count > NoVarySearch.textBytesMax { return nil }
    }

    /// The names of a list, which are written as in a form («parse a key»).
    private static func names(_ items: [StructuredDictionary.Item]) -> Set<[UInt8]>? {
        var names: Set<[UInt8]> = []
        for item in items {
            guard case .string(let text) = item else { return nil }
            names.insert(validUTF8(QueryParameters.decode(text.utf8Span.span)))
        }
        return names
    }

    /// The canonical form, the same for all fields with the same meaning.
    package var text: String {
        let list: String?
        switch ignored {
        case .these([]): list = nil
        case .these(let names): list = "params=\(NoVarySearch.text(names))"
        case .allBut(let names): list = "except=\(NoVarySearch.text(names))"
        }
        return [ignoresOrder ? "key-order" : nil, list].compactMap(\.self).joined(separator: ", ")
    }

    private static func text(_ names: Set<[UInt8]>) -> String {
        let sorted = names.sorted { $0.lexicographicallyPrecedes($1) }
        let strings = sorted.map { "\"\(String(decoding: escaped($0), as: UTF8.self))\"" }
        return "(\(strings.joined(separator: " ")))"
    }

    /// The significant part of the query, with `?` in front unless it is empty; equal for
    /// equivalent queries, and stable under repeated normalization.
    package func normalized(_ query: Span<UInt8>) -> [UInt8] {
        let bytes = [0x3F] + [UInt8](copying: query)
        var parameters = QueryParameters.decoded(of: bytes.span).map { parameter in
            (
                name: NoVarySearch.validUTF8(parameter.name),
                value: NoVarySearch.validUTF8(parameter.value)
            )
        }
        parameters.removeAll { isIgnored($0.name) }
        if ignoresOrder {
            // Several values of one name keep their order in the sort.
            let order = parameters.indices.sorted { a, b in
                let (first, second) = (parameters[a].name, parameters[b].name)
                return first == second ? a < b : first.lexicographicallyPrecedes(second)
            }
            parameters = order.map { parameters[$0] }
        }
        var output: [UInt8] = []
        for parameter in parameters {
            output.append(output.isEmpty ? 0x3F : 0x26)
            output.append(contentsOf: NoVarySearch.escaped(parameter.name))
            output.append(0x3D)
            output.append(contentsOf: NoVarySearch.escaped(parameter.value))
        }
        return output
    }

    private func isIgnored(_ name: [UInt8]) -> Bool {
        switch ignored {
        case .these(let names): names.contains(name)
        case .allBut(let names): !names.contains(name)
        }
    }

    /// Decodes like a form parser: U+FFFD replaces invalid UTF-8.
    private static func validUTF8(_ bytes: [UInt8]) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return bytes }
        return Array(String(decoding: bytes, as: UTF8.self).utf8)
    }

    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        for byte in bytes {
            if byte.isUnreserved { output.append(byte) } else { output.append(escaping: byte) }
        }
        return output
    }
}
