// Whether memory that is used again holds the next head alone, and leaves the last one alone.
import LupinCore
import LupinWire
import Testing

struct RecycledFieldsTests {
    private let long = Array(
        "GET /a/long/path HTTP/1.1\r\nHost: first\r\nAccept: */*\r\nX-One: 1\r\n\r\n".utf8
    )
    private let short = Array("GET /b HTTP/1.1\r\nHost: b\r\n\r\n".utf8)

    @Test func `a head read into recycled memory is the next head alone`() throws {
        let parser = RequestParser(limits: HTTP1Limits())
        _ = try parser.feed(long.span)
        parser.recycle(parser.take().head.fields)
        #expect(!parser.hasBegun)
        _ = try parser.feed(short.span)
        #expect(describe(parser.take()) == "GET origin /b 1.1 none | Host: b")
    }

    @Test func `fields that somebody still holds do not change`() throws {
        let parser = RequestParser(limits: HTTP1Limits())
        _ = try parser.feed(long.span)
        let kept = parser.take()
        parser.recycle(kept.head.fields)
        _ = try parser.feed(short.span)
        _ = parser.take()
        #expect(kept.head.pathText == "/a/long/path")
        #expect(kept.head.fields.pairs.map(\.value) == ["first", "*/*", "1"])
    }

    @Test func `what comes back inside a head does not disturb it`() throws {
        let parser = RequestParser(limits: HTTP1Limits())
        _ = try parser.feed(long.span)
        let used = parser.take().head.fields
        _ = try parser.feed(short.span.extracting(first: 10))
        parser.recycle(used)
        _ = try parser.feed(short.span.extracting(droppingFirst: 10))
        #expect(parser.isComplete)
        #expect(describe(parser.take()) == "GET origin /b 1.1 none | Host: b")
    }

    @Test func `a response is read into recycled memory likewise`() throws {
        let parser = ResponseParser(limits: HTTP1Limits())
        let first = Array("HTTP/1.1 200 Fine\r\nServer: a\r\nContent-Length: 3\r\n\r\n".utf8)
        _ = try parser.feed(first.span, requestMethod: .get)
        parser.recycle(parser.take().head.fields)
        let second = Array("HTTP/1.1 204 \r\nDate: b\r\n\r\n".utf8)
        _ = try parser.feed(second.span, requestMethod: .get)
        let parsed = parser.take()
        #expect(parsed.head.status == 204)
        #expect(parsed.head.fields.pairs.map(\.value) == ["b"])
    }
}
