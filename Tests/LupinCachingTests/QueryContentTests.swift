// Which contents of a QUERY are the same to the cache.

import LupinCaching
import Testing

struct QueryContentTests {
    private func bytes(
        _ content: String,
        _ pairs: CacheFields = [("Content-Type", "application/json")],
        codings: [String] = []
    ) -> [UInt8] {
        QueryContent(Array(content.utf8), fields(pairs), codings: codings).bytes
    }

    @Test(arguments: [
        (#"{"a": [1, 2]}"#, #"{"a":[1,2]}"#), ("[ ]", "[\t\r\n]"),
        (#" {"a b" : "c \" d \\" , "e":1} "#, #"{"a b":"c \" d \\","e":1}"#),
    ])
    func `blanks between the tokens of JSON mean nothing`(one: String, other: String) {
        #expect(bytes(one) == bytes(other))
        let types = ["application/problem+json", "Application/JSON; charset=utf-8"]
        for type in types {
            #expect(bytes(one, [("content-type", type)]) == bytes(other, [("Content-Type", type)]))
        }
        let text: CacheFields = [("Content-Type", "text/plain")]
        #expect(bytes(one, text) != bytes(other, text))
        #expect(bytes(one, codings: ["gzip"]) != bytes(other, codings: ["gzip"]))
    }

    @Test(arguments: [
        (#"{"a":"b c"}"#, #"{"a":"bc"}"#), (#"{"a":1}"#, #"{"a":1.0}"#),
        (#"{"a":"\" b"}"#, #"{"a":"\"b"}"#), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#),
        ("[1 2]", "[12]"), ("{", "{ "), ("1 2", "12"),
    ])
    func `what a reader may tell apart stays apart`(one: String, other: String) {
        #expect(bytes(one) != bytes(other))
    }

    @Test func `how content is read belongs to it`() {
        let plain: CacheFields = [("Content-Type", "text/plain")]
        let all = [
            bytes("a", plain), bytes("a", []), bytes("a", [("Content-Type", "text/html")]),
            bytes("a", [("Content-Type", "text/plain; charset=utf-8")]),
            bytes("a", plain + [("Content-Language", "de")]), bytes("a", plain, codings: ["gzip"]),
            bytes("", plain), bytes("\na", plain),
        ]
        #expect(Set(all).count == all.count)
        #expect(bytes("a", plain) == bytes("a", [("content-type", "TEXT/Plain")] + [("X", "y")]))
        #expect(bytes("a", plain, codings: ["GZIP"]) == bytes("a", plain, codings: ["gzip"]))
    }
}
