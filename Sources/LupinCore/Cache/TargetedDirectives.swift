// What a field for certain caches says, such as CDN-Cache-Control (RFC 9213).

extension ResponseDirectives {
    /// What the field called `name` says; nil if it is not there, empty or not valid: then it is
    /// as if it were not there (§2.1).
    ///
    /// It is a Dictionary, so keys are in lower case and the last of several members counts. A
    /// directive that lupin knows and whose value is of another type makes the field invalid:
    /// §2.1 has values that violate the inferred type not be consumed, and what the field was
    /// meant to say is unknown then.
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

    /// False if the item is not what the directive has.
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
