// Which head a client sees when a stored response is served.

import LupinCaching
import LupinCore
import Testing

struct CachedAnswerTests {
    private static let fields: CacheFields = [
        ("Date", date()), ("Content-Type", "text/plain"), ("Content-Encoding", "gzip"),
        ("Content-Length", "7"), ("Age", "5"), ("ETag", "\"a\""), ("Last-Modified", date(-9)),
        ("Content-Location", "/x"), ("Content-Language", "en"), ("Vary", "Foo"),
        ("Content-Security-Policy", "self"), ("X-Test", "1"),
    ]

    private func served(
        _ answer: CacheAnswer,
        _ pairs: CacheFields = fields,
        status: UInt16 = 200
    ) -> CachedAnswer {
        stored(pairs, status: status).served(answer, nowUs: us(10), boundary: "B")
    }

    private func names(_ answer: CachedAnswer) -> [String] { answer.head.fields.pairs.map(\.name) }

    @Test func `a full answer has an Age and the length that is stored`() {
        let answer = served(.full)
        #expect(answer.head.status == 200 && answer.ranges == [0..<100])
        #expect(answer.head.fields.values(of: "Age") == ["15"])
        #expect(answer.head.fields.values(of: "Content-Length") == ["100"])
        #expect(answer.head.fields.values(of: "Date") == [date()] && answer.contentLength == 100)
        #expect(answer.head.fields.values(of: "Content-Encoding") == ["gzip"])
    }

    @Test func `a 204 has no length`() {
        let response = stored([Self.fields[0]], status: 204, content: HeldContent(complete: 0))
        let answer = response.served(.full, nowUs: us(), boundary: "B")
        #expect(names(answer) == ["Date", "Age"] && answer.ranges == [])
    }

    @Test func `a 304 has what the client's store needs and no metadata beyond`() {
        let answer = served(.notModified)
        #expect(answer.head.status == 304 && answer.ranges == [] && answer.contentLength == 0)
        #expect(
            names(answer) == [
                "Date", "ETag", "Content-Location", "Vary", "Content-Security-Policy", "X-Test",
                "Age",
            ]
        )
        let untagged = served(.notModified, Self.fields.filter { $0.0 != "ETag" })
        #expect(names(untagged).contains("Last-Modified"))
    }

    @Test func `one range is one part`() {
        let answer = served(.ranges([4..<10]))
        let fields = answer.head.fields
        #expect(answer.head.status == 206 && answer.multipart == nil && answer.ranges == [4..<10])
        #expect(fields.values(of: "Content-Range") == ["bytes 4-9/100"])
        #expect(fields.values(of: "Content-Length") == ["6"])
        #expect(fields.values(of: "Content-Type") == ["text/plain"])
    }

    @Test func `several ranges are framed`() throws {
        let answer = served(.ranges([4..<10, 90..<100]))
        let fields = answer.head.fields
        #expect(fields.values(of: "Content-Type") == ["multipart/byteranges; boundary=B"])
        #expect(fields.values(of: "Content-Range") == [])
        let multipart = try #require(answer.multipart)
        let parts = multipart.heads.map { String(decoding: $0, as: UTF8.self) }
        #expect(
            parts == [
                "--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 4-9/100\r\n\r\n",
                "\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 90-99/100\r\n\r\n",
            ]
        )
        #expect(String(decoding: multipart.end, as: UTF8.self) == "\r\n--B--\r\n")
        let length = parts.map(\.utf8.count).reduce(16 + multipart.end.count, +)
        #expect(answer.contentLength == UInt64(length))
        #expect(fields.values(of: "Content-Length") == ["\(length)"])
    }

    @Test func `a 416 tells the length`() {
        let answer = served(.rangeNotSatisfiable(length: 100))
        #expect(answer.head.status == 416 && answer.contentLength == 0)
        #expect(answer.head.fields.values(of: "Content-Range") == ["bytes */100"])
        #expect(names(answer) == ["Date", "Content-Range", "Content-Length"])
    }
}
