// What the steps of a body change, what they leave alone, and what they refuse to look at for long.
import LupinCore
import LupinPolicy
import Testing

struct BodyEditTests {
    private func replace(_ from: String, _ to: String, in body: String) throws -> String? {
        let edit = BodyEdit.replace(try BodyPattern(from), with: to)
        return try edit.edited(Array(body.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func json(
        set: [(String, String)] = [],
        remove: [String] = [],
        in body: String
    ) throws -> String? {
        let edit = JSONEdit(
            set: try set.map {
                .init(pointer: try #require(JSONPointer($0.0)), value: Array($0.1.utf8))
            },
            remove: try remove.map { try #require(JSONPointer($0)) }
        )
        return try BodyEdit.json(edit).edited(Array(body.utf8))
            .map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: replace

    @Test func `every occurrence of a text becomes the other`() throws {
        #expect(try replace("ab", "x", in: "abcabab") == "xcxx")
        #expect(try replace("aa", "b", in: "aaaaa") == "bba")
        #expect(try replace("*", "+", in: "1*2*3") == "1+2+3")
        #expect(try replace("none", "x", in: "abc") == nil)
        #expect(try replace("a", "a", in: "abc") == nil)
        #expect(try replace("b", "", in: "abc") == "ac")
        #expect(try replace("b", "$$", in: "abc") == "a$c")
    }

    @Test func `every match of an expression does, with its groups`() throws {
        #expect(
            try replace(#"/(\w+)\.example/"#, "$1.dev", in: "a.example b.example") == "a.dev b.dev"
        )
        #expect(try replace("/^a/", "x", in: "aaa") == "xaa")
        #expect(try replace("/a$/", "x", in: "aaa") == "aax")
        #expect(try replace("/(?i)STAGING/", "dev", in: "Staging staging") == "dev dev")
        #expect(try replace(#"/\bcat\b/"#, "dog", in: "cat concat cat") == "dog concat dog")
    }

    @Test func `an empty match is made once at each place`() throws {
        #expect(try replace("/x*/", "-", in: "ab") == "-a-b-")
        #expect(try replace("/$/", "!", in: "ab") == "ab!")
    }

    @Test func `bytes that are no text stay as they are`() throws {
        let edit = BodyEdit.replace(try BodyPattern("/b/"), with: "B")
        #expect(try edit.edited([0xFF, 0x62, 0x00, 0x62]) == [0xFF, 0x42, 0x00, 0x42])
    }

    @Test func `what grows too long or takes too long is refused`() throws {
        let many = String(repeating: "a", count: 1 << 12)
        let long = String(repeating: "b", count: 1 << 11)
        #expect(throws: BodyEditProblem.resultTooLong) { try replace("a", long, in: many) }
        // Every `a` has the rest of the body looked at for its `c`.
        #expect(throws: BodyEditProblem.tooCostly) { try replace("/a.*c|a/", "x", in: many) }
    }

    // MARK: json

    @Test func `a value is set where it is, and the rest keeps its form`() throws {
        let body = "{ \"a\" : 1.50,\n  \"b\": [1, {\"c\": null}] }"
        #expect(
            try json(set: [("/b/1/c", "true")], in: body)
                == "{ \"a\" : 1.50,\n  \"b\": [1, {\"c\": true}] }"
        )
        #expect(try json(set: [("", "[]")], in: " {} ") == " [] ")
        #expect(try json(set: [("/a", "1.50")], in: body) == nil)
    }

    @Test func `what is missing is made`() throws {
        #expect(try json(set: [("/x", "1")], in: "{}") == "{\"x\":1}")
        #expect(
            try json(set: [("/x/y/z", "1")], in: "{\"a\": 2 }")
                == "{\"a\": 2,\"x\":{\"y\":{\"z\":1}} }"
        )
        #expect(try json(set: [("/a/-", "3")], in: "{\"a\":[1, 2 ]}") == "{\"a\":[1, 2,3 ]}")
        #expect(try json(set: [("/a/0", "1")], in: "{\"a\":[ ]}") == "{\"a\":[ 1]}")
        #expect(try json(set: [("/q\"~1", "1")], in: "{}") == "{\"q\\\"/\":1}")
    }

    @Test func `of members with one name the last is set, and all are removed`() throws {
        let body = "{\"a\":1,\"b\":2,\"a\":3}"
        #expect(try json(set: [("/a", "4")], in: body) == "{\"a\":1,\"b\":2,\"a\":4}")
        #expect(try json(remove: ["/a"], in: body) == "{\"b\":2}")
    }

    @Test(arguments: [
        ("{\"a\":1, \"b\":2}", "/a", "{\"b\":2}"), ("{\"a\":1, \"b\":2}", "/b", "{\"a\":1}"),
        ("{\"a\":1}", "/a", "{}"), ("[1, 2, 3]", "/1", "[1, 3]"), ("[1]", "/0", "[]"),
        ("{\"a\":{\"b\":1,\"c\":2}}", "/a/c", "{\"a\":{\"b\":1}}"),
    ])
    func `a member goes with its comma`(body: String, pointer: String, result: String) throws {
        #expect(try json(remove: [pointer], in: body) == result)
        #expect(JSONValue(parsing: Array(result.utf8).span) != nil)
    }

    @Test func `what is not there need not be removed`() throws {
        for pointer in ["/x", "/a/b", "/a/0", "/b/7"] {
            #expect(try json(remove: [pointer], in: "{\"a\":1,\"b\":[]}") == nil)
        }
    }

    @Test func `a place that can't be is a problem`() throws {
        for (body, pointer) in [("{\"a\":1}", "/a/b"), ("[1]", "/2"), ("[1]", "/x"), ("3", "/a")] {
            #expect(throws: BodyEditProblem.notContainer(pointer: pointer)) {
                try json(set: [(pointer, "1")], in: body)
            }
        }
    }

    @Test(arguments: ["", "{", "{\"a\":1}x", "nope", "{'a':1}", "[1,]"])
    func `what is no JSON stays`(body: String) {
        #expect(throws: BodyEditProblem.notJSON) { try json(set: [("/a", "1")], in: body) }
    }

    @Test func `a body of one name over and over is not walked through for ever`() {
        let body = "{" + String(repeating: "\"a\":1,", count: 1000) + "\"a\":1}"
        #expect(throws: BodyEditProblem.tooCostly) { try json(remove: ["/a"], in: body) }
    }
}
