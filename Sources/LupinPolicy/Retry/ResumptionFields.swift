// The fields that matter for resuming: ranges, validators, codings.

import LupinCore

extension Resumption {
    static func checkRequest(_ request: RequestHead) throws(ResumeRefusal) {
        guard request.method == .get else { throw .method(request.method) }
        let fields = request.fields
        let hasContent =
            fields.first(.transferEncoding) != nil
            || fields.value(of: .contentLength).map { $0 != "0" } ?? false
        // The body might not be available a second time.
        if hasContent { throw .requestContent }
    }

    /// The range of a 206, if it is the one part that the client requested.
    static func deliveredPart(
        _ request: RequestHead,
        _ response: ResponseHead,
        _ contentLength: UInt64
    ) throws(ResumeRefusal) -> ContentRange {
        guard let asked = request.fields.value(of: .range) else { throw .unaskedPart }
        guard request.fields.count(of: .range) == 1, asked.lowercased().hasPrefix("bytes="),
            !asked.utf8.contains(0x2C), !isMultipart(response.fields)
        else { throw .severalRanges }
        guard let part = ContentRange(of: response.fields), let range = part.range,
            range.upperBound - range.lowerBound == contentLength
        else { throw .contentRange }
        return part
    }

    /// The validator that `If-Range` may have for a response (RFC 9110 §13.1.5).
    ///
    /// «A client MUST NOT generate an If-Range header field containing an HTTP-date unless it has
    /// no entity tag for the corresponding representation»: so a weak tag makes it impossible.
    static func validator(_ fields: FieldSection) throws(ResumeRefusal) -> Validator {
        if let tag = fields.value(of: .etag) {
            guard fields.count(of: .etag) == 1, isStrongTag(tag) else { throw .weakTag }
            return .tag(tag)
        }
        guard fields.count(of: .lastModified) == 1, fields.count(of: .date) == 1,
            let text = fields.value(of: .lastModified), let date = fields.value(of: .date),
            let modified = HTTPDate.seconds(of: text, now: 0),
            // The date must be sent as an IMF-fixdate, and the origin compares its own text.
            HTTPDate.text(modified) == text,
            let sent = HTTPDate.seconds(of: date, now: modified),
            // §8.8.2.2: at least one second older than the response.
            sent - modified >= 1
        else { throw .noStrongValidator }
        return .date(text)
    }

    /// Whether the text is an entity tag (RFC 9110 §8.8.3) without `W/`.
    private static func isStrongTag(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22,
            // Bytes that are not UTF-8 are lost in a string, so such a tag can't be sent back.
            !text.unicodeScalars.contains("\u{FFFD}")
        else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7F) }
    }

    static func listsBytes(_ line: String) -> Bool {
        line.lowercased().split(separator: ",").contains { unit in
            unit.filter { $0 != " " && $0 != "\t" } == "bytes"
        }
    }

    static func isMultipart(_ fields: FieldSection) -> Bool {
        fields.value(of: .contentType)?.lowercased().hasPrefix("multipart/byteranges") ?? false
    }

    /// The content codings in the order in which they were applied; empty if there are none.
    static func coding(_ fields: FieldSection) -> String {
        var codings: [String] = []
        fields.forEachMember(of: .contentEncoding) { member in
            let coding = String(copying: member).lowercased()
            // Equivalent to no coding (RFC 9110 §12.5.3).
            if coding != "identity" { codings.append(coding) }
        }
        return codings.joined(separator: ", ")
    }
}
