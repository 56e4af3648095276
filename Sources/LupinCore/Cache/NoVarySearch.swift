// Which parts of a query don't tell two responses apart, as the origin says (No-Vary-Search).

/// The field No-Vary-Search of a response; nothing obeys it unless a rule asks for it.
///
/// What is malformed says nothing: then every byte of the query counts, which is safe.
package struct NoVarySearch: Sendable, Equatable {
    /// Which parameters are ignored.
    package enum Ignored: Sendable, Equatable {
        case these(Set<String>)
        case allBut(Set<String>)
    }

    /// `key-order`: the order of the parameters doesn't count.
    package private(set) var ignoresOrder = false
    package private(set) var ignored = Ignored.these([])

    /// What a response says; nil where it has no such field or one that changes nothing.
    package init?(of fields: FieldSection) {
        guard let dictionary = StructuredDictionary(of: "No-Vary-Search", in: fields) else {
            return nil
        }
        switch dictionary[key: "key-order"] {
        case .item(.boolean(let isIgnored)): ignoresOrder = isIgnored
        case nil: break
        default: return nil
        }
        var isAll = false
        switch dictionary[key: "params"] {
        case .item(.boolean(let isIgnored)): isAll = isIgnored
        case .innerList(let items):
            guard let names = NoVarySearch.names(items) else { return nil }
            ignored = .these(names)
        case nil: break
        default: return nil
        }
        switch dictionary[key: "except"] {
        case .innerList(let items):
            // It is an exception from `params`, so without it the field is malformed.
            guard isAll, let names = NoVarySearch.names(items) else { return nil }
            ignored = .allBut(names)
        case nil: if isAll { ignored = .allBut([]) }
        default: return nil
        }
        if !ignoresOrder, ignored == .these([]) { return nil }
    }

    private static func names(_ items: [StructuredDictionary.Item]) -> Set<String>? {
        var names: Set<String> = []
        for item in items {
            guard case .string(let text) = item else { return nil }
            // The names are written as in a form.
            let bytes = Array(("?" + text).utf8)
            let decoded = QueryParameters.decoded(of: bytes.span).first?.name ?? []
            names.insert(String(decoding: decoded, as: UTF8.self))
        }
        return names
    }

    /// The query, which begins with `?` if anything is left of it, as far as it tells responses
    /// apart; equal for equivalent queries.
    package func normalized(_ query: Span<UInt8>) -> [UInt8] {
        let bytes = [0x3F] + [UInt8](copying: query)
        var parameters = QueryParameters.decoded(of: bytes.span).map { parameter in
            (name: String(decoding: parameter.name, as: UTF8.self), value: parameter.value)
        }
        parameters.removeAll { isIgnored($0.name) }
        if ignoresOrder {
            // Several values of one name keep their order, which the sort must not touch.
            let order = parameters.indices.sorted {
                (parameters[$0].name, $0) < (parameters[$1].name, $1)
            }
            parameters = order.map { parameters[$0] }
        }
        var output: [UInt8] = []
        for parameter in parameters {
            output.append(output.isEmpty ? 0x3F : 0x26)
            output.append(contentsOf: NoVarySearch.escaped(Array(parameter.name.utf8)))
            output.append(0x3D)
            output.append(contentsOf: NoVarySearch.escaped(parameter.value))
        }
        return output
    }

    private func isIgnored(_ name: String) -> Bool {
        switch ignored {
        case .these(let names): names.contains(name)
        case .allBut(let names): !names.contains(name)
        }
    }

    private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        for byte in bytes {
            if byte.isUnreserved { output.append(byte) } else { output.append(escaping: byte) }
        }
        return output
    }
}
