// Whether a broken download goes on with the bytes of the same representation, or not at all.

import LupinCore
import LupinPolicy
import Testing

struct ResumptionTests {
    private func request(_ method: Method = .get, _ fields: [(String, String)] = []) -> RequestHead
    {
        var head = RequestHead()
        head.method = method
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        return head
    }

    private func response(_ status: UInt16, _ fields: [(String, String)]) -> ResponseHead {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        return head
    }

    private let tag = ("ETag", "\"v1\"")
    private let modified = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
    private let later = ("Date", "Sun, 06 Nov 1994 08:49:38 GMT")

    private func make(
        _ fields: [(String, String)],
        status: UInt16 = 200,
        length: UInt64? = 1000,
        asked: RequestHead? = nil
    ) -> Result<Resumption, ResumeRefusal> {
        Resumption.make(
            request: asked ?? request(),
            response: response(status, fields),
            contentLength: length
        )
    }

    private func refusal(
        _ fields: [(String, String)],
        status: UInt16 = 200,
        length: UInt64? = 1000,
        asked: RequestHead? = nil
    ) -> ResumeRefusal? {
        switch make(fields, status: status, length: length, asked: asked) {
        case .success: nil
        case .failure(let refusal): refusal
        }
    }

    // MARK: What can be resumed

    @Test func `a response with a strong entity tag and a length is resumed`() throws {
        for more in [[], [("Accept-Ranges", "bytes")], [("Content-Encoding", "gzip")], [modified]] {
            let resumption = try make([tag] + more).get()
            #expect(resumption.length == 1000)
            let fields = resumption.fields(received: 400)
            #expect(fields.map(\.name) == ["Range", "If-Range"])
            #expect(fields.map(\.value) == ["bytes=400-", "\"v1\""])
        }
    }

    @Test func `a date will do where it is a second older than the response`() throws {
        let fields = try make([modified, later]).get().fields(received: 1)
        #expect(fields.map(\.value) == ["bytes=1-", modified.1])
        #expect(refusal([modified, ("Date", modified.1)]) == .noStrongValidator)
        #expect(refusal([modified]) == .noStrongValidator)
        #expect(refusal([later]) == .noStrongValidator)
        #expect(refusal([modified, modified, later]) == .noStrongValidator)
        // If-Range must be an IMF-fixdate, and the origin compares what it sent.
        let old = ("Last-Modified", "Sunday, 06-Nov-94 08:49:37 GMT")
        #expect(refusal([old, later]) == .noStrongValidator)
        #expect(refusal([modified, ("Date", "Monday, 07-Nov-94 08:49:37 GMT")]) == nil)
    }

    @Test(arguments: ["W/\"v1\"", "v1", "\"", "\"a\"b\"", "\"a b\"", "", "\"\u{FFFD}\""])
    func `another tag is not made good by a date`(text: String) {
        #expect(refusal([("ETag", text), modified, later]) == .weakTag)
    }

    @Test func `what can't be resumed says why`() {
        #expect(refusal([]) == .noStrongValidator)
        #expect(refusal([tag, tag]) == .weakTag)
        #expect(refusal([tag], length: nil) == .unknownLength)
        #expect(refusal([tag, ("Transfer-Encoding", "chunked")]) == .unknownLength)
        #expect(refusal([tag], length: 0) == .nothingToResume)
        #expect(refusal([tag], length: .max) == .nothingToResume)
        #expect(refusal([tag, ("Accept-Ranges", "none")]) == .noRanges)
        #expect(refusal([tag, ("Accept-Ranges", "items, Bytes")]) == nil)
        for status in [204, 304, 404, 500] as [UInt16] {
            #expect(refusal([tag], status: status) == .status(status))
        }
        for method in Method.defined where method != .get {
            #expect(refusal([tag], asked: request(method)) == .method(method))
        }
        let withContent = request(.get, [("Content-Length", "5")])
        #expect(refusal([tag], asked: withContent) == .requestContent)
        #expect(refusal([tag], asked: request(.get, [("Content-Length", "0")])) == nil)
    }

    @Test func `a part that the client asked for is resumed within itself`() throws {
        let part = ("Content-Range", "bytes 100-299/5000")
        let asked = request(.get, [("Range", "bytes=100-299")])
        let resumption = try make([tag, part], status: 206, length: 200, asked: asked).get()
        #expect(resumption.fields(received: 50).map(\.value) == ["bytes=150-299", "\"v1\""])
        #expect(refusal([tag, part], status: 206, length: 200) == .unaskedPart)
        #expect(refusal([tag, part], status: 206, length: 201, asked: asked) == .contentRange)
        #expect(refusal([tag], status: 206, length: 200, asked: asked) == .contentRange)
        #expect(
            refusal([tag, part, part], status: 206, length: 200, asked: asked) == .contentRange
        )
        let two = request(.get, [("Range", "bytes=0-1,5-6")])
        #expect(refusal([tag, part], status: 206, length: 200, asked: two) == .severalRanges)
        let items = request(.get, [("Range", "items=0-1")])
        #expect(refusal([tag, part], status: 206, length: 200, asked: items) == .severalRanges)
    }

    // MARK: Asking

    @Test func `the client's own conditions are replaced`() throws {
        var head = request(
            .get,
            [
                ("Host", "a.example"), ("range", "bytes=0-"), ("If-Range", "\"v0\""),
                ("If-None-Match", "\"v0\""), ("If-Modified-Since", modified.1),
                ("If-Match", "*"), ("If-Unmodified-Since", modified.1), ("Accept-Encoding", "gzip"),
            ]
        )
        try make([tag]).get().apply(to: &head, received: 7)
        #expect(head.fields.pairs.map(\.name) == ["Host", "Accept-Encoding", "Range", "If-Range"])
        #expect(head.fields.value(of: "Range") == "bytes=7-")
    }

    // MARK: Judging the answer

    private let rest = ("Content-Range", "bytes 400-999/1000")

    private func verdict(
        _ fields: [(String, String)],
        status: UInt16 = 206,
        length: UInt64? = 600,
        first: [(String, String)]? = nil
    ) throws -> ResumeVerdict {
        try make(first ?? [tag]).get()
            .check(response(status, fields), contentLength: length, received: 400)
    }

    @Test func `the rest of the same representation goes on`() throws {
        let all = ("Content-Range", "bytes 400-999/*")
        #expect(try verdict([tag, rest]) == .continues(remaining: 600))
        #expect(try verdict([tag, all]) == .continues(remaining: 600))
        #expect(try verdict([tag, rest], length: nil) == .refused("its length is unknown"))
        let coded = [tag, ("Content-Encoding", "gzip")]
        #expect(try verdict([tag, rest], first: coded) == .continues(remaining: 600))
        #expect(try verdict(coded + [rest], first: coded) == .continues(remaining: 600))
        #expect(try verdict([rest], first: [modified, later]) == .continues(remaining: 600))
    }

    @Test(arguments: [
        "bytes 399-999/1000", "bytes 401-999/1000", "bytes 400-998/1000", "bytes 0-999/1000",
    ])
    func `another range is refused`(range: String) throws {
        let fields = [tag, ("Content-Range", range)]
        #expect(try verdict(fields, length: nil) == .refused("another range came"))
    }

    @Test func `another representation is refused`() throws {
        #expect(try verdict([rest]) == .refused("it has no entity tag"))
        #expect(try verdict([tag, tag, rest]) == .refused("it has no entity tag"))
        for other in ["\"v2\"", "W/\"v1\"", "v1"] {
            let reason = "the entity tag has changed"
            #expect(try verdict([("ETag", other), rest]) == .refused(reason))
        }
        let dated = [modified, later]
        #expect(
            try verdict([later, ("Last-Modified", later.1), rest], first: dated)
                == .refused("Last-Modified has changed")
        )
        #expect(try verdict([tag, rest], first: dated) == .refused("it has an entity tag now"))
        let gzip = ("Content-Encoding", "gzip")
        #expect(try verdict([tag, gzip, rest]) == .refused("the content coding has changed"))
        let longer = ("Content-Range", "bytes 400-999/1001")
        #expect(try verdict([tag, longer]) == .refused("the whole has another length"))
    }

    @Test func `tags that only look the same are different`() throws {
        let composed = ("ETag", "\"\u{E9}\"")
        let decomposed = ("ETag", "\"e\u{301}\"")
        #expect(
            try verdict([decomposed, rest], first: [composed])
                == .refused("the entity tag has changed")
        )
    }

    @Test func `a response that makes no sense is refused`() throws {
        let parts = ("Content-Type", "Multipart/ByteRanges; boundary=a")
        #expect(try verdict([tag, rest, parts]) == .refused("several parts came"))
        let missing = ResumeVerdict.refused("Content-Range is missing or invalid")
        #expect(try verdict([tag]) == missing)
        #expect(try verdict([tag, rest, rest]) == missing)
        let reason = "Content-Length contradicts Content-Range"
        #expect(try verdict([tag, rest], length: 599) == .refused(reason))
    }

    @Test func `every status has its verdict`() throws {
        for status in UInt16(200)...599 where status != 206 {
            let verdict = try verdict([tag, rest], status: status)
            switch status {
            case 200:
                let reason = "the representation has changed or ranges are not served"
                #expect(verdict == .refused(reason))
            case 416: #expect(verdict == .refused("the origin has no such range"))
            case 408, 421, 425, 429, 500...: #expect(verdict == .failed("status \(status)"))
            default: #expect(verdict == .refused("status \(status)"))
            }
        }
    }

    @Test func `counts beyond the end trap nothing`() throws {
        let resumption = try make([tag]).get()
        #expect(resumption.fields(received: .max).first?.value == "bytes=\(UInt64.max)-")
        let verdict = resumption.check(
            response(206, [tag, rest]),
            contentLength: nil,
            received: .max
        )
        #expect(verdict == .refused("another range came"))
    }
}
