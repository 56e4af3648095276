// Fields of caching: ranges, tags, directives, dates, variance, and the facts about what is stored.
import LupinCaching
import LupinCore
import LupinPolicy

/// Clocks that inputs are read by, the ends of time among them.
private let clocks: [Int64] = [
    0, 1_795_348_800_000_000, -1, .min, .max, 1 << 31, 253_402_300_799_000_000,
]

/// A section of one field.
///
/// The value is what a parser makes of it: trimmed, and without control bytes.
func section(_ name: String, _ value: [UInt8]) -> FieldSection {
    var fields = FieldSection()
    fields.add(name: name, value: fieldValue(value))
    return fields
}

private func fieldValue(_ bytes: some Sequence<UInt8>) -> String {
    let value = bytes.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    return text(value[value.span.trimmedRange])
}

/// Lines of an input as fields, without those that have no colon.
private func section(_ lines: [UInt8]) -> FieldSection {
    var fields = FieldSection()
    for line in lines.split(separator: 0x0A).prefix(32) {
        guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex else { continue }
        guard line[..<colon].allSatisfy(\.isTokenByte) else { continue }
        fields.add(name: text(line[..<colon]), value: fieldValue(line[(colon + 1)...]))
    }
    return fields
}

enum CacheTargets {
    static let all = [range, contentRange, entityTags, noVarySearch, structured, stored, record]

    static let range = FuzzTarget(
        "range",
        seeds: ["bytes=0-0", "bytes=5-,-3", "BYTES= 1-2 ,\t3-4", "items=1-2"],
        words: ["bytes=", "-", ","]
    ) { input in
        guard let request = RangeRequest(parsing: input.span) else { return "nil" }
        var count = 0
        for length in [0, 1, 10, 1000, 1 << 62, .max] as [UInt64] {
            let ranges = request.resolved(length: length)
            try hold(ranges.count <= RangeRequest.partsMax, "at most so many parts")
            try hold(
                ranges.allSatisfy { !$0.isEmpty && $0.upperBound <= length },
                "ranges lie in what there is"
            )
            count = max(count, ranges.count)
            let multipart = MultipartRanges(
                ranges: ranges,
                completeLength: length,
                mediaType: nil,
                boundary: "b"
            )
            let frames = multipart.heads.reduce(multipart.end.count) { $0 + $1.count }
            try hold(multipart.contentLength >= UInt64(frames), "parts need their frames")
            var held = HeldContent(complete: 0)
            for range in ranges { _ = held.insert(range) }
            try hold(held.heldBytes <= length, "no more is held than there is")
        }
        return "parts \(size(request.parts.count)) ranges \(size(count))"
    }

    static let contentRange = FuzzTarget(
        "content-range",
        seeds: ["bytes 0-4/10", "bytes 0-4/*", "bytes */10", "BYTES  0-9/10 "],
        words: ["bytes ", "*/", "/"]
    ) { input in
        guard let place = ContentRange(parsing: input.span) else { return "nil" }
        let again = ContentRange(parsing: Array(place.text.utf8).span)
        try hold(again == place, "its text is the same range: \(place.text)")
        if let range = place.range {
            try hold(!range.isEmpty, "a range is not empty")
            var held = HeldContent(range: range, completeLength: place.completeLength)
            _ = held.insert(0..<5)
            _ = held.missing(in: 0..<100)
            _ = held.position(of: range)
            try hold(held.holds(range), "what came is held")
        }
        return "range \(told(place.range)) length \(told(place.completeLength))"
    }

    static let entityTags = FuzzTarget(
        "entity-tags",
        seeds: [
            "\"a\"", "W/\"a\", \"b\"", "*", "\"", "Sun, 06 Nov 1994 08:49:37 GMT", "\"a\" \"b\"",
        ],
        words: ["W/", "\"a\"", "*"]
    ) { input in
        let tag = EntityTag(of: section("ETag", input))
        if let tag {
            try hold(EntityTag(Array(tag.text.utf8).span) == tag, "its text is the same tag")
            try hold(tag.matchesWeakly(tag), "a tag matches itself")
        }
        let list = EntityTagList.find(tag, in: .ifNoneMatch, of: section("If-None-Match", input))
        let tags = EntityTagList.tags(in: .ifNoneMatch, of: section("If-None-Match", input))
        if tag != nil { try hold(list == .matches, "a list of one tag has it") }
        let ifRange = IfRange(of: section("If-Range", input))
        return "\(told(tag)) \(list) \(size(tags.count)) \(told(ifRange))"
    }

    static let noVarySearch = FuzzTarget(
        "no-vary-search",
        seeds: [
            "params", "key-order", "params=(\"a\" \"b\")", "params, except=(\"a\")",
            "key-order, params=(\"\u{C3}\u{A9}\")",
        ],
        words: ["params", "except", "key-order", "=(", "\"a\"", "?0", "?1"]
    ) { input in
        guard let variance = NoVarySearch(of: section("No-Vary-Search", input)) else {
            return "nil"
        }
        try hold(NoVarySearch(variance.text) == variance, "its text is the same: \(variance.text)")
        let once = variance.normalized(Array("b=1&a=2&a=%41&c".utf8).span)
        if !once.isEmpty {
            let again = variance.normalized(once.span.extracting(1...))
            try hold(again == once, "what is normal stays so")
        }
        return "some \(size(once.count))"
    }

    static let structured = FuzzTarget(
        "structured-dictionary",
        seeds: [
            "a=1, b=2.5;x, c", "a=(1 \"b\" c);d=?1", "a=:YQ==:, b=@123, c=%\"f%c3\"", "a=-15",
        ],
        words: ["a=", "(", ")", "?1", "@", ":", "%\"", "*"]
    ) { input in
        guard let dictionary = StructuredDictionary(parsing: input) else { return "nil" }
        try hold(dictionary == StructuredDictionary(parsing: input), "it reads the same twice")
        return "some"
    }

    /// A request and a response, whose head begins behind the first empty line.
    static let stored = FuzzTarget(
        "caching",
        seeds: [
            "\n\nCache-Control: max-age=60, s-maxage=\"5\"\nAge: 3\n"
                + "Date: Sun, 06 Nov 1994 08:49:37 GMT",
            "Cache-Control: max-stale=5, min-fresh=3\nRange: bytes=0-4\nIf-Range: \"a\"\n\n"
                + "ETag: \"a\"\nExpires: Sunday, 06-Nov-94 08:49:37 GMT\nVary: accept",
            "If-Modified-Since: Sun Nov  6 08:49:37 1994\nAccept: a\n\n"
                + "Last-Modified: Sun Nov  6 08:49:37 1994\nVary: *\n"
                + "Cache-Control: private=\"a, b\"",
            "\n\nCDN-Cache-Control: max-age=5\nNo-Vary-Search: params\n"
                + "Expires: 0\nPragma: no-cache",
            "Pragma: no-cache\nIf-None-Match: *\n\nCache-Control: stale-while-revalidate=99, "
                + "stale-if-error=99, must-revalidate, no-cache=\"set-cookie\"",
        ],
        words: [
            "Cache-Control: ", "max-age=", "s-maxage=", "stale-if-error=", "Age: ", "Date: ",
            "Expires: ", "Vary: ", "Range: bytes=", "Content-Range: bytes ", "ETag: \"a\"", "\n\n",
            "Last-Modified: ", "Sun, 06 Nov 1994 08:49:37 GMT", "If-Range: ",
        ],
        roundsInTests: 8
    ) { input in
        let cut = input.indices.first {
            input[$0] == 0x0A && $0 + 1 < input.count && input[$0 + 1] == 0x0A
        }
        var request = RequestHead()
        request.pathAndQuery = request.fields.store("/a?b=c")
        let asked = section(Array(input[..<(cut ?? input.count)]))
        for (name, value) in asked.pairs { request.fields.add(name: name, value: value) }
        var response = ResponseHead(status: 200)
        response.fields = section(cut.map { Array(input[$0...]) } ?? [])
        return try check(request, response)
    }

    private static func check(_ request: RequestHead, _ response: ResponseHead) throws -> String {
        let policy = CachePolicy.standard
        let asked = CacheRequest(request, hasContent: false)
        guard
            let vary = VaryKey(of: response.fields, request: request.fields, policy: policy)
        else { return "varies by all" }
        var words: Set<String> = []
        for clock in clocks {
            let stored = StoredResponse(
                response,
                vary: vary,
                content: HeldContent(complete: 100),
                policy: policy,
                requestTimeUs: clock,
                responseTimeUs: clock
            )
            for now in clocks {
                try hold(stored.freshness.age(at: now) >= 0, "an age is not negative")
                try hold(stored.freshness.stalenessUs(at: now) >= 0, "staleness is not negative")
                _ = stored.freshness.remaining(at: now)
                _ = stored.freshness.isFresh(at: now)
                let reuse = stored.reuse(for: asked, policy: policy, nowUs: now)
                words.insert(String("\(reuse)".prefix { $0 != "(" }))
            }
            let answer = stored.answer(to: request, asked)
            words.insert(String("\(answer)".prefix { $0 != "(" }))
            _ = stored.served(answer, nowUs: clock, boundary: "b")
            _ = stored.renewed(
                by: response,
                request: request,
                attachments: Attachments([]),
                policy: policy,
                requestTimeUs: clock,
                responseTimeUs: clock
            )
            let encoded = stored.encoded
            let again = StoredResponse(encoded: encoded.span, length: 100, policy: policy)
            try hold(again?.encoded == encoded, "what was encoded is read as it was")
        }
        return words.sorted().joined(separator: " ")
    }

    /// The facts of a stored response, as a damaged index may have them.
    static let record = FuzzTarget(
        "stored-facts",
        seeds: [
            "lupin-1 200 5 7\r\n\r\n\r\nETag: \"a\"\r\n",
            "lupin-1 999 -5 9223372036854775807\r\naccept,x\r\n1:a-\r\nDate: x\r\nAge: 1\r\n",
        ],
        words: ["lupin-1 ", "\r\n", ": "]
    ) { input in
        let policy = CachePolicy.standard
        guard let stored = StoredResponse(encoded: input.span, length: 9, policy: policy) else {
            return "nil"
        }
        let again = StoredResponse(encoded: stored.encoded.span, length: 9, policy: policy)
        try hold(again?.encoded == stored.encoded, "what is encoded again is read as it was")
        for now in clocks {
            _ = stored.freshness.remaining(at: now)
            _ = stored.freshness.age(at: now)
            _ = stored.served(.full, nowUs: now, boundary: "b")
        }
        return "fields \(size(stored.fields.lines.count)) vary \(size(stored.vary.names.count))"
    }
}
