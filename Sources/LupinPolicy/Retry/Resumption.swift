// Requests the rest of a broken download, and checks that the response continues it.

package import LupinCore

/// A download that can resume after a break, unnoticed by the client.
///
/// It is made when the response head is delivered: the bytes that the client has received, and
/// those of another attempt, must belong to one representation. So it requires a strong validator
/// (RFC 9110 §8.8.1). The request for the rest has the same fields for content negotiation as the
/// first one, except for its conditions and its range.
package struct Resumption: Sendable, Equatable {
    /// Identifies a representation byte by byte.
    enum Validator: Sendable, Equatable {
        /// A strong entity tag, with its quotes.
        case tag(String)
        /// The text of a `Last-Modified` that is strong by RFC 9110 §8.8.2.2.
        case date(String)

        var text: String {
            switch self {
            case .tag(let text), .date(let text): text
            }
        }
    }

    private let validator: Validator
    /// The range of the delivered bytes within the whole.
    private let range: Range<UInt64>
    /// The length of the whole; nil if it is unknown.
    private let total: UInt64?
    /// Whether the client requested a part.
    private let isPart: Bool
    /// `Content-Encoding` of the delivered bytes.
    private let coding: String

    /// How many bytes the client must have received in the end.
    package var length: UInt64 { UInt64(range.count) }

    /// Checks whether a response can be resumed.
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The head as the origin sent it, before any step of a rule changed it.
    ///   - contentLength: The length of its content according to its framing; nil if unknown.
    /// - Returns: How to resume it when it breaks off, or why that is impossible.
    package static func make(
        request: RequestHead,
        response: ResponseHead,
        contentLength: UInt64?
    ) -> Result<Resumption, ResumeRefusal> {
        do throws(ResumeRefusal) {
            try checkRequest(request)
            let fields = response.fields
            guard response.status == 200 || response.status == 206 else {
                throw .status(response.status)
            }
            guard fields.first(.transferEncoding) == nil, let contentLength else {
                throw .unknownLength
            }
            guard contentLength > 0, contentLength < 1 << 59 else { throw .nothingToResume }
            let units = fields.values(of: "Accept-Ranges")
            if !units.isEmpty, !units.contains(where: Resumption.listsBytes) { throw .noRanges }
            let isPart = response.status == 206
            let part =
                isPart
                ? try deliveredPart(request, response, contentLength)
                : ContentRange(range: 0..<contentLength, completeLength: contentLength)
            guard let range = part.range else { throw .contentRange }
            return .success(
                Resumption(
                    validator: try validator(fields),
                    range: range,
                    total: part.completeLength,
                    isPart: isPart,
                    coding: coding(fields)
                )
            )
        } catch {
            return .failure(error)
        }
    }

    // MARK: Asking

    /// The fields that request the rest.
    /// - Parameter received: How many bytes of this response's content arrived, as the origin sent
    ///   them.
    /// - Returns: `Range` and `If-Range`; if the representation has changed, the latter makes an
    ///   origin send all of it (RFC 9110 §13.1.5), which `check` refuses.
    package func fields(received: UInt64) -> [(name: String, value: String)] {
        let end = isPart ? "\(range.upperBound - 1)" : ""
        return [
            (name: "Range", value: "bytes=\(offset(received))-\(end)"),
            (name: "If-Range", value: validator.text),
        ]
    }

    /// The client's own conditions and range.
    ///
    /// The first response satisfied them; in the second request they might cause another response
    /// (RFC 9110 §13.2.2).
    package static let removedFields = [
        "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match",
        "If-Unmodified-Since",
    ]

    /// Changes the first request into one for the rest.
    package func apply(to head: inout RequestHead, received: UInt64) {
        for name in Resumption.removedFields { head.fields.remove(name: name) }
        for field in fields(received: received) {
            head.fields.add(name: field.name, value: field.value)
        }
    }

    private func offset(_ received: UInt64) -> UInt64 {
        let (offset, overflows) = range.lowerBound.addingReportingOverflow(received)
        return overflows ? .max : offset
    }

    // MARK: Judging the answer

    /// Checks whether a response to such a request continues where the first one broke off.
    /// - Parameters:
    ///   - response: The response head.
    ///   - contentLength: The length of its content; nil if its framing has none.
    ///   - received: The same value as for `fields`.
    /// - Returns: Whether its content may follow the bytes that the client has.
    package func check(
        _ response: ResponseHead,
        contentLength: UInt64?,
        received: UInt64
    ) -> ResumeVerdict {
        switch response.status {
        case 206: break
        case 200: return .refused("the representation has changed or ranges are not served")
        case 416: return .refused("the origin has no such range")
        case 408, 421, 425, 429, 500...599: return .failed("status \(response.status)")
        default: return .refused("status \(response.status)")
        }
        let fields = response.fields
        if Resumption.isMultipart(fields) { return .refused("several parts came") }
        guard let part = ContentRange(of: fields), let bytes = part.range else {
            return .refused("Content-Range is missing or invalid")
        }
        guard bytes.lowerBound == offset(received), bytes.upperBound == range.upperBound else {
            return .refused("another range came")
        }
        if let total, let other = part.completeLength, total != other {
            return .refused("the whole has another length")
        }
        // The client was promised a length: content that is shorter or longer than the rest would
        // desynchronise the connection's messages.
        guard let contentLength else { return .refused("its length is unknown") }
        guard contentLength == UInt64(bytes.count) else {
            return .refused("Content-Length contradicts Content-Range")
        }
        if let reason = otherRepresentation(fields) { return .refused(reason) }
        return .continues(remaining: contentLength)
    }

    /// Why a 206 is not of the same representation; nil if it is.
    ///
    /// RFC 9110 §15.3.7: with `If-Range` it MUST have the entity tag that a 200 would have, and
    /// SHOULD NOT repeat the others; so `Last-Modified` and `Content-Encoding` may be absent.
    private func otherRepresentation(_ fields: FieldSection) -> String? {
        switch validator {
        case .tag(let tag):
            guard fields.count(of: .etag) == 1, let found = fields.value(of: .etag) else {
                return "it has no entity tag"
            }
            // As bytes: strings also compare equal by canonical equivalence.
            if !found.utf8.elementsEqual(tag.utf8) { return "the entity tag has changed" }
        case .date(let date):
            if fields.first(.etag) != nil { return "it has an entity tag now" }
            if let found = fields.value(of: .lastModified), found != date {
                return "Last-Modified has changed"
            }
        }
        let coding = Resumption.coding(fields)
        return coding.isEmpty || coding == self.coding ? nil : "the content coding has changed"
    }
}

/// How to handle the response to a request for the rest.
package enum ResumeVerdict: Sendable, Equatable {
    /// It continues with this many bytes that follow those that the client has.
    case continues(remaining: UInt64)
    /// The download can't be resumed at all.
    case refused(String)
    /// This attempt failed; another one may succeed.
    case failed(String)
}

/// Why a response can't be resumed when it breaks off.
package enum ResumeRefusal: Error, Sendable, Equatable {
    case method(Method)
    case requestContent
    case severalRanges
    case status(UInt16)
    case unknownLength
    case nothingToResume
    case noRanges
    case unaskedPart
    case contentRange
    case weakTag
    case noStrongValidator
}
