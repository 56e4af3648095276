// Whether two heads that came on streams say the same, byte for byte.
import LupinCore

extension RequestHead {
    /// A number for the bytes of the head.
    var digest: Int { fields.storage.span.digest }

    /// Whether every part of the head is in the same place as in `other` and has the same bytes.
    ///
    /// Bytes alone don't tell: values of pseudo-fields lie there without their names, one behind
    /// the other. Lines behind them can't be told apart from others, since no name has a colon and
    /// no value an end of a line (RFC 9113 §8.2.1).
    func isSame(as other: borrowing RequestHead) -> Bool {
        guard methodRange == other.methodRange, authority == other.authority,
            pathAndQuery == other.pathAndQuery, scheme == other.scheme, form == other.form,
            version == other.version, fields.lines.count == other.fields.lines.count,
            fields.storage.count == other.fields.storage.count,
            fields.lines.first?.name == other.fields.lines.first?.name
        else { return false }
        return fields.storage.span.begins(other.fields.storage.span)
    }
}
