// Heads as JSON: what both sides of an exchange sent, and what they got.
import LupinCore
import LupinRecords

extension JSONLine {
    /// Appends the members `request`, `sent`, `received` and `response` of packed heads, as far as
    /// they are there.
    mutating func add(members packed: [UInt8]) {
        let heads = PackedHeads.json(of: packed).dropFirst().dropLast()
        if heads.isEmpty { return }
        comma()
        bytes.append(contentsOf: heads)
    }

    /// Appends `"fields":[["host","a.example"],…]`, in their order.
    mutating func add(fieldsOf fields: FieldSection, _ redactor: Redactor) {
        openList("fields")
        // What is nowhere among the bytes of all lines is in none of them.
        let isClean = redactor.cleaned(fields.storage.span) == nil
        for field in fields.lines {
            let name = fields.storage.span.extracting(field.name.range)
            let value = fields.storage.span.extracting(field.value.range)
            comma()
            bytes.append(0x5B)
            if isClean { element(name) } else { add(cleaned: name, redactor) }
            if redactor.hides(field: name, value, known: field.known) {
                let mark = redactor.mark(for: value)
                element(mark.span)
            } else if isClean {
                element(value)
            } else {
                add(cleaned: value, redactor)
            }
            closeList()
        }
        closeList()
    }

    private mutating func add(cleaned text: Span<UInt8>, _ redactor: Redactor) {
        if let shown = redactor.cleaned(text) { element(shown.span) } else { element(text) }
    }
}
