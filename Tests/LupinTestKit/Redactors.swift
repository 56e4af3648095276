// Redactors and values that tests of redaction and of records share.

package import LupinCore

/// A digest that tests can foresee: the sum of the bytes.
package let sumDigest: Redactor.Digest = { bytes in
    var sum: UInt16 = 0
    for i in bytes.indices { sum &+= UInt16(bytes[i]) }
    return sum
}

package func makeRedactor(
    secrets: [String] = [],
    settings: RedactionSettings = RedactionSettings()
) -> Redactor {
    Redactor(settings: settings, secrets: secrets, digest: sumDigest)
}

package func makeFields(_ pairs: [(String, String)]) -> FieldSection {
    var fields = FieldSection()
    for (name, value) in pairs { fields.add(name: name, value: value) }
    return fields
}

// A span can't pass through `#expect`, so these take strings.

package func parseJSON(_ text: String) -> JSONValue? { JSONValue(parsing: text.utf8Span.span) }

package func hides(_ redactor: Redactor, _ name: String) -> Bool {
    redactor.hides(field: name.utf8Span.span)
}
