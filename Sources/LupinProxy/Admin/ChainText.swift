// The chain of an exchange's origin, for the admin interface.
import LupinCore
import LupinRecords
import LupinUpstream

extension ShownChains {
    /// Appends the chain that belongs to the record of a line, if it is known.
    func addChain(of record: [UInt8], to line: inout JSONLine) {
        guard let value = JSONValue(parsing: record.span),
            let pin = value[field: .trustLeaf]?.string,
            let end = value[field: .trustEnd]?.string,
            let links = chain(Key(pin: pin, notAfter: end))
        else { return }
        line.add("chain", objects: links) { line, link in
            line.add("subject", text: link.subject)
            line.add("issuer", text: link.issuer)
            line.add("not_before", text: link.notBefore)
            line.add("not_after", text: link.notAfter)
            line.add("pin", text: link.pin)
        }
    }
}
