// Parses cache-control fields for certain caches, such as CDN-Cache-Control (RFC 9213).

package import LupinCore

extension ResponseDirectives {
    /// Parses the field called `name`; nil when it is missing, empty or invalid: an invalid field
    /// is ignored (§2.1).
    ///
    /// It is a Dictionary, so keys are in lower case and the last of several members counts. A
    /// known directive whose value has another type makes the field invalid: §2.1 forbids using
    /// values that violate the inferred type, and the intent of the field is unknown then.
    package init?(targeted name: String, of fields: FieldSection) {
        guard let dictionary = StructuredDictionary(of: name, in: fields),
            !dictionary.members.isEmpty
        else { return nil }
        self.init()
        isTargeted = true
        for (key, member) in dictionary.members {
            guard case .item(let item) = member else {
                if ResponseDirectives.kind(of: key.utf8.span) != nil { return nil }
                continue
            }
            guard take(item, as: key) else { return nil }
        }
    }

    /// Returns false when the item has the wrong type for the directive.
    private mutating func take(_ item: StructuredDictionary.Item, as key: String) -> Bool {
        guard let kind = ResponseDirectives.kind(of: key.utf8.span) else { return true }
        switch (kind, item) {
        case (.flag(let flag, _), .boolean(let isOn)), (.fields(let flag), .boolean(let isOn)):
            if isOn { flags.insert(flag) }
        case (.fields(let flag), .string(let list)):
            let text = Array(list.utf8)
            let whole = CacheDirective(name: 0..<0, argument: .quoted(0..<text.count))
            let names = whole.fieldNames(in: text.span)
            if names.isEmpty { flags.insert(flag) } else { add(names, to: flag) }
        case (.seconds(let number), .integer(let seconds)):
            guard seconds >= 0 else { return false }
            take(min(seconds, DeltaSeconds.max), as: number)
        default: return false
        }
        return true
    }
}
