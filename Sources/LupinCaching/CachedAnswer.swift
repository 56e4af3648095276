// The head that a client gets with a stored response (RFC 9111 §4, RFC 9110 §15.4.5).

package import LupinCore

/// A head made from a stored one, and the content that follows it.
package struct CachedAnswer: Sendable {
    package var head: ResponseHead
    /// The ranges of the stored content that follow, in this order; none for 304 and 416.
    ///
    /// When parts are held, these are positions among the held bytes, one piece behind the other.
    package let ranges: [Range<UInt64>]
    /// The multipart frames around several ranges.
    package let multipart: MultipartRanges?
    /// The number of bytes that follow the head of a response to GET.
    package let contentLength: UInt64

    /// Adds the cookies that an update of the stored response sets for the client that asked.
    package mutating func addCookies(of newer: FieldSection) {
        for line in newer.lines where line.known == .setCookie {
            head.fields.append(line, of: newer)
        }
    }

    /// Moves the head out: adding lines to a copy would copy all of them.
    package mutating func takeHead() -> ResponseHead {
        var head = ResponseHead()
        swap(&head, &self.head)
        return head
    }
}

extension StoredResponse {
    /// Makes the head for `answer`, with Age as of now.
    ///
    /// `nowUs` is in microseconds since 1970. `boundary` is for several ranges: 1 to 70 letters and
    /// digits, new for every response.
    package func served(
        _ answer: CacheAnswer,
        nowUs: Int64,
        boundary: @autoclosure () -> String
    ) -> CachedAnswer {
        switch answer {
        case .full: return full(nowUs)
        case .notModified:
            var head = head(304, nowUs) { self.isSentWith304($0) }
            head.fields.set(name: "Age", value: ageText(nowUs))
            return CachedAnswer(head: head, ranges: [], multipart: nil, contentLength: 0)
        case .ranges(let ranges): return partial(ranges, nowUs, boundary())
        case .rangeNotSatisfiable(let length):
            var head = ResponseHead(status: 416)
            let contentRange = ContentRange(range: nil, completeLength: length)
            if let line = fields.first(.date) { head.fields.append(line, of: fields) }
            head.fields.add(name: "Content-Range", value: contentRange.text)
            head.fields.add(name: "Content-Length", value: "0")
            return CachedAnswer(head: head, ranges: [], multipart: nil, contentLength: 0)
        }
    }

    private func full(_ nowUs: Int64) -> CachedAnswer {
        var head = ResponseHead(status: wholeStatus)
        // Age, Cache-Status, and what rules set: beyond that room the lines are copied again.
        head.fields = whole.copy(linesToAdd: 4, bytesToAdd: 160)
        head.fields.add(.age, decimal: UInt64(clamping: freshness.age(at: nowUs)))
        return CachedAnswer(
            head: head,
            ranges: wholeRanges,
            multipart: nil,
            contentLength: content.completeLength ?? 0
        )
    }

    private func partial(
        _ ranges: [Range<UInt64>],
        _ nowUs: Int64,
        _ boundary: String
    ) -> CachedAnswer {
        let isSingle = ranges.count == 1
        let positions = content.isComplete ? ranges : ranges.map(content.position)
        var head = head(206, nowUs) { line in isSingle || line.known != .contentType }
        head.fields.add(name: "Age", value: ageText(nowUs))
        if let range = ranges.first, isSingle {
            let contentRange = ContentRange(range: range, completeLength: content.completeLength)
            let length = range.upperBound - range.lowerBound
            head.fields.add(name: "Content-Range", value: contentRange.text)
            head.fields.add(name: "Content-Length", value: String(length))
            return CachedAnswer(
                head: head,
                ranges: positions,
                multipart: nil,
                contentLength: length
            )
        }
        let mediaType = fields.first(.contentType).map { line in
            [UInt8](copying: fields.storage.span.extracting(line.value.range))
        }
        let multipart = MultipartRanges(
            ranges: ranges,
            completeLength: content.completeLength,
            mediaType: mediaType,
            boundary: boundary
        )
        head.fields.add(name: "Content-Type", value: multipart.contentType)
        head.fields.add(name: "Content-Length", value: String(multipart.contentLength))
        return CachedAnswer(
            head: head,
            ranges: positions,
            multipart: multipart,
            contentLength: multipart.contentLength
        )
    }

    /// The stored fields that `isKept` accepts, without those about age and length.
    private func head(
        _ status: UInt16,
        _ nowUs: Int64,
        _ isKept: (FieldSection.Line) -> Bool
    ) -> ResponseHead {
        var head = ResponseHead(status: status)
        head.fields = fields
        head.fields.lines.removeAll { line in
            !line.isSent(with: status, storedWith: self.status) || !isKept(line)
        }
        return head
    }

    private func ageText(_ nowUs: Int64) -> String { String(freshness.age(at: nowUs)) }

    /// Whether a 304 carries the field (RFC 9110 §15.4.5): of representation metadata only
    /// Content-Location, ETag, and Last-Modified when there is no ETag.
    private func isSentWith304(_ line: FieldSection.Line) -> Bool {
        switch line.known {
        case .contentType, .contentEncoding: return false
        case .lastModified: return etag == nil
        case .other: break
        default: return true
        }
        let name = fields.storage.span.extracting(line.name.range)
        for metadata in StoredResponse.metadata where name.isWord(metadata) { return false }
        return true
    }

    /// Representation metadata without a `FieldName` case.
    private static let metadata = [
        "content-language", "content-md5", "content-digest", "repr-digest", "digest",
        "content-disposition", "accept-ranges",
    ]
}
