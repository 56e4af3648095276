// Which responses pass `validate:`, and what is said of those that don't.

import LupinCore
import LupinPolicy
import Testing

struct ValidationPolicyTests {
    private typealias Fields = [(String, String)]

    private func response(_ status: UInt16 = 200, _ fields: Fields = []) -> ResponseHead {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        return head
    }

    private func request(_ method: Method = .get, _ fields: Fields = []) throws -> RequestHead {
        try #require(SampleRequest(method, fields: fields)).head
    }

    private func policy(_ change: (inout ValidationPolicy) throws -> Void) rethrows
        -> ValidationPolicy
    {
        var policy = ValidationPolicy()
        try change(&policy)
        return policy
    }

    private func media(_ text: String) throws -> MediaRange { try #require(MediaRange(text)) }

    // MARK: status

    @Test func `a status is one of those listed`() throws {
        let policy = policy { $0.status = StatusSet([200...399, 404...404]) }
        for status: UInt16 in [200, 204, 301, 399, 404] {
            #expect(try check(policy, response(status)) == nil)
        }
        for status: UInt16 in [400, 403, 405, 503, 999] {
            let failure = try check(policy, response(status))
            #expect(failure?.condition == .status)
            #expect(failure?.sentence == "status \(status) is not in 200-399, 404")
        }
    }

    @Test func `nothing is asked of what is no final response`() throws {
        let policy = policy {
            $0.status = StatusSet([200...200])
            $0.contentType = .accept
            $0.headers = [.init(name: "X", values: [])]
        }
        #expect(try check(policy, response(100)) == nil)
        #expect(try check(policy, response(101)) == nil)
    }

    @Test func `an empty policy demands nothing`() throws {
        let empty = ValidationPolicy()
        #expect(empty.isEmpty && !empty.needsBody && empty.action == .fail)
        #expect(try check(empty, response(599)) == nil)
        #expect(judge(empty, "x") == nil)
    }

    private func check(
        _ policy: ValidationPolicy,
        _ head: ResponseHead,
        _ request: RequestHead? = nil,
        length: UInt64? = nil,
        isBodyEmpty: Bool? = nil
    ) throws -> ValidationFailure? {
        let request = try request ?? self.request()
        return policy.check(
            head: head,
            request: request,
            contentLength: length,
            isBodyEmpty: isBodyEmpty
        )
    }

    @Test(
        arguments: [
            (.get, "If-None-Match", true), (.head, "If-None-Match", true),
            (.get, "If-Modified-Since", true), (.get, "If-Match", false), (.get, "X-Other", false),
            (.post, "If-None-Match", false),
        ] as [(Method, String, Bool)]
    )
    func `a 304 that was asked for has a right status where a client gets it`(
        method: Method,
        field: String,
        passes: Bool
    ) throws {
        let request = try request(method, [(field, "\"a\"")])
        for policy in [.standard, policy { $0.status = StatusSet([200...299]) }] {
            for takes in [true, false] {
                let failure = policy.check(
                    head: response(304),
                    request: request,
                    contentLength: nil,
                    isBodyEmpty: nil,
                    takesNotModified: takes
                )
                #expect(failure?.condition == (passes && takes ? nil : .status))
            }
        }
    }

    @Test func `a stream is not held back for its size`() {
        let policy = policy { $0.size = .init(max: 9) }
        for field in [("Content-Type", "application/x-ndjson"), ("Incremental", "?1")] {
            #expect(policy.reasonNotToHold(response(200, [field])) != nil)
        }
        #expect(policy.reasonNotToHold(response(200, [("Content-Type", "text/plain")])) == nil)
    }

    // MARK: content_type

    @Test(arguments: [
        ("application/json", "application/json; charset=utf-8", nil),
        ("text/html", "application/json", "application/json is not in the request's Accept"),
        ("text/html, */*;q=0", nil, "there is no Content-Type"), ("*/*", nil, nil), (nil, nil, nil),
        (nil, "garbage", nil), ("*/*", "garbage", nil),
        ("text/html", "<secret>", "Content-Type is no media type"),
        ("text/html", "text/*", "Content-Type is no media type"),
    ])
    func `Content-Type is what Accept accepts`(
        accept: String?,
        type: String?,
        sentence: String?
    ) throws {
        let policy = policy { $0.contentType = .accept }
        let request = try request(.get, accept.map { [("Accept", $0)] } ?? [])
        let head = response(200, type.map { [("Content-Type", $0)] } ?? [])
        let failure = try check(policy, head, request)
        #expect(failure?.sentence == sentence)
        if sentence != nil { #expect(failure?.condition == .contentType) }
    }

    @Test func `Content-Type is one of those listed`() throws {
        let policy = try policy {
            $0.contentType = .listed([try media("application/*+json"), try media("text/*")])
        }
        #expect(try check(policy, response(200, [("Content-Type", "text/css")])) == nil)
        #expect(
            try check(policy, response(200, [("Content-Type", "a/b")]))?.sentence
                == "a/b is not an expected type"
        )
        #expect(try check(policy, response())?.sentence == "there is no Content-Type")
        let any = try self.policy { $0.contentType = .listed([try media("*/*")]) }
        #expect(try check(any, response()) == nil)
    }

    @Test func `Content-Type that is written twice must be the same`() throws {
        let policy = try policy { $0.contentType = .listed([try media("a/b")]) }
        let twice = response(200, [("Content-Type", "a/b"), ("content-type", "a/b")])
        #expect(try check(policy, twice) == nil)
        let other = response(200, [("Content-Type", "a/b"), ("Content-Type", "a/c")])
        #expect(try check(policy, other)?.sentence == "Content-Type is no media type")
    }

    @Test func `an empty body needs no type`() throws {
        let policy = try policy { $0.contentType = .listed([try media("a/b")]) }
        #expect(try check(policy, response(), length: 0) == nil)
        #expect(try check(policy, response(), isBodyEmpty: true) == nil)
        #expect(try check(policy, response(204)) == nil)
        #expect(try check(policy, response(304), length: 5) == nil)
        #expect(try check(policy, response(), request(.head), length: 5) == nil)
        #expect(try check(policy, response(), isBodyEmpty: false) != nil)
        #expect(try check(policy, response()) != nil)
    }

    // MARK: header

    @Test func `a field is there with an expected value`() throws {
        let policy = try policy {
            $0.headers = [
                .init(name: "x-kind", values: [try ValuePattern("a*"), try ValuePattern("/^b/i")]),
                .init(name: "ETag", values: [try ValuePattern("*")]),
            ]
        }
        let good = response(200, [("X-Kind", "z"), ("X-Kind", "Bcd"), ("etag", "")])
        #expect(try check(policy, good) == nil)
        let other = try check(policy, response(200, [("X-Kind", "secret"), ("ETag", "1")]))
        #expect(other?.condition == .header)
        #expect(other?.sentence == "no value of x-kind is an expected one")
        let missing = try check(policy, response(200, [("X-Kind", "a")]))
        #expect(missing?.sentence == "ETag is missing")
    }

    // MARK: size

    @Test func `a body is neither too small nor too large, by its length`() throws {
        let policy = policy { $0.size = .init(min: 2, max: 4) }
        for length: UInt64 in 2...4 {
            #expect(try check(policy, response(), length: length) == nil)
        }
        #expect(try check(policy, response()) == nil)
        #expect(try check(policy, response(), length: 1)?.condition == .size)
        #expect(
            try check(policy, response(), length: 1)?.sentence
                == "the body has 1 bytes, and at least 2 are expected"
        )
        #expect(
            try check(policy, response(), length: .max)?.sentence
                == "the body has 18446744073709551615 bytes, and at most 4 are expected"
        )
        #expect(try check(policy, response(), isBodyEmpty: true)?.condition == .size)
    }

    @Test func `where no body can be none is missed`() throws {
        let policy = policy { $0.size = .init(min: 2, max: 4) }
        #expect(try check(policy, response(), request(.head), length: 100) == nil)
        for status: UInt16 in [204, 205, 304] {
            #expect(try check(policy, response(status), length: 0) == nil)
            #expect(try stream(policy, 0, true, response(status)) == nil)
        }
    }

    private func stream(
        _ policy: ValidationPolicy,
        _ received: UInt64,
        _ isComplete: Bool,
        _ head: ResponseHead? = nil
    ) throws -> ValidationFailure? {
        policy.check(
            received: received,
            isComplete: isComplete,
            head: head ?? response(),
            request: try request()
        )
    }

    @Test func `a body of unknown length is judged while it streams`() throws {
        let policy = policy { $0.size = .init(min: 2, max: 4) }
        #expect(try stream(policy, 0, false) == nil)
        #expect(try stream(policy, 4, false) == nil)
        #expect(
            try stream(policy, 5, false)?.sentence
                == "the body has more than 4 bytes, and at most 4 are expected"
        )
        #expect(try stream(policy, 1, true)?.condition == .size)
        #expect(try stream(policy, 2, true) == nil)
        #expect(try stream(ValidationPolicy(), .max, true) == nil)
    }

    // MARK: json

    private func json(_ demands: (String, JSONScalar)...) throws -> ValidationPolicy {
        try policy {
            $0.json = try demands.map {
                .init(pointer: try #require(JSONPointer($0.0)), values: [$0.1])
            }
        }
    }

    private func judge(
        _ policy: ValidationPolicy,
        _ body: String,
        head: ResponseHead? = nil
    ) -> ValidationFailure? {
        policy.check(body: body.utf8.span, head: head ?? response())
    }

    private func number(_ text: String) throws -> JSONScalar {
        .number(try #require(JSONNumber(text)))
    }

    @Test func `values of a body are the expected ones`() throws {
        let policy = try json(
            ("/success", .bool(true)),
            ("/error/code", number("0")),
            ("/items/0/name", .string("x"))
        )
        #expect(policy.needsBody)
        let good = #"{"items":[{"name":"x"}],"error":{"code":0.0},"success":true}"#
        #expect(judge(policy, good) == nil)
        let head = response(200, [("Content-Encoding", "identity")])
        #expect(judge(policy, good, head: head) == nil)
    }

    @Test func `of several values any one is right`() throws {
        var policy = try json(("/a", .bool(true)))
        policy.json[0].values.append(.string("true"))
        #expect(judge(policy, #"{"a":true}"#) == nil)
        #expect(judge(policy, #"{"a":"true"}"#) == nil)
        let expected = ", and none of the expected values: true or the text of the rule"
        #expect(judge(policy, #"{"a":1}"#)?.sentence == "/a is a number\(expected)")
        #expect(judge(policy, #"{"a":"yes"}"#)?.sentence == "/a is a string\(expected)")
        try policy.json[0].values += [.string("yes"), number("1"), .null]
        let several = "true or 1 or null or one of the 2 texts of the rule"
        #expect(judge(policy, #"{"a":"no"}"#)?.sentence.hasSuffix(several) == true)
    }

    @Test(
        arguments: [
            (200, ["Content-Type": "text/event-stream; charset=utf-8"], nil),
            (200, ["Content-Type": "application/x-ndjson"], nil),
            (200, ["Content-Type": "application/grpc+proto"], nil),
            (200, ["Incremental": "?1;x=2"], nil),
            (206, [:], 10), (200, [:], 256 << 10 + 1),
        ] as [(UInt16, [String: String], UInt64?)]
    )
    func `what the head rules out is not waited for`(
        status: UInt16,
        fields: [String: String],
        length: UInt64?
    ) throws {
        let policy = try json(("/a", .bool(true)))
        let head = response(status, fields.map { ($0.key, $0.value) })
        #expect(try check(policy, head, length: length)?.condition == .json)
        #expect(try check(policy, head, request(.head), length: length) == nil)
    }

    @Test func `JSON of any name, or none, is waited for`() throws {
        let policy = try json(("/a", .bool(true)))
        for fields in [[], [("Content-Type", "text/html")], [("Incremental", "?0")]] {
            #expect(try check(policy, response(200, fields), length: nil) == nil)
        }
    }

    @Test(arguments: [
        (#"{"a":false}"#, "/a is false, and true is expected"), ("{}", "/a is missing"),
        (#"{"a":"secret"}"#, "/a is a string, and true is expected"),
        (#"{"a":[true]}"#, "/a is a list, and true is expected"),
    ])
    func `what is said shows no text of a body`(body: String, sentence: String) throws {
        let expected = ValidationFailure(condition: .json, sentence: sentence)
        #expect(judge(try json(("/a", .bool(true))), body) == expected)
    }

    @Test func `what is said shows no text of the file either`() throws {
        func sentence(_ value: JSONScalar, _ body: String) throws -> String? {
            judge(try json(("", value)), body)?.sentence
        }
        #expect(
            try sentence(.string("k"), "\"x\"")
                == "the body is a string other than the expected text"
        )
        #expect(
            try sentence(.string("k"), "1")
                == "the body is a number, and the expected text is expected"
        )
        #expect(try sentence(number("0"), "1") == "the body is a number other than 0")
        #expect(try sentence(.null, "true") == "the body is true, and null is expected")
    }

    @Test func `what can't be judged has failed, and the sentence says why`() throws {
        let policy = try json(("/a", .null))
        func sentence(_ body: String) -> String? { judge(policy, body)?.sentence }
        #expect(try check(policy, response(206))?.sentence == "the body is only a part (206)")
        #expect(sentence("") == "the body is empty")
        #expect(sentence("<html>") == "the body is not JSON")
        #expect(sentence("{\"a\":null}") == nil)
    }

    @Test(
        arguments: [("HEAD", 200), ("GET", 204), ("GET", 205), ("GET", 304)] as [(String, UInt16)]
    )
    func `no values are asked of a response that has no body`(
        method: String,
        status: UInt16
    ) throws {
        var request = RequestHead()
        request.method = Method(method)
        let reason = try json(("/a", .null)).reasonNotToAsk(response(status), request: request)
        #expect(reason?.hasPrefix("json was not checked: a response ") == true)
        request.method = .get
        #expect(try json(("/a", .null)).reasonNotToAsk(response(200), request: request) == nil)
        #expect(ValidationPolicy().reasonNotToAsk(response(status), request: request) == nil)
    }

    @Test func `codings are told in their order, without identity`() {
        let head = response(
            200,
            [("Content-Encoding", "identity, GZIP"), ("Content-Encoding", "br")]
        )
        #expect(head.fields.contentCodings == ["GZIP", "br"])
        #expect(response(200).fields.contentCodings.isEmpty)
        let words = "none, UTF-8, binary, aws-chunked, 8bit, chunked"
        #expect(response(200, [("Content-Encoding", words)]).fields.contentCodings.isEmpty)
        let opaque = response(200, [("Content-Encoding", "none, AES128GCM, compress")])
        #expect(opaque.fields.contentCodings == ["AES128GCM", "compress"])
    }
}
