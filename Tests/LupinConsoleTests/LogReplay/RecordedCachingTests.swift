// What a record lets one say of why its response was stored or not, and what it leaves open.

import LupinCaching
import LupinConsole
import LupinCore
import LupinPolicy
import LupinRecords
import Testing

struct RecordedCachingTests {
    private static let id = "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b"

    private func exchange(
        response: String,
        more: String = "",
        answer: String = "",
        attempts: String = #"[{"n":1,"status":200}]"#
    ) throws -> RecordedExchange {
        let record = """
            {"ts":"2026-11-22T12:00:00.000000Z","id":"\(Self.id)","mode":"http","http":{\
            "request":{"method":"GET","body":{"size":0}},"response":\(response)},\
            "url":{"full":"http://a.dev/","scheme":"http","domain":"a.dev","port":80}\(more),\
            "attempts":\(attempts)}
            """
        let text = answer.isEmpty ? record : "{\"record\":\(record),\"response\":\(answer)}"
        let bytes = Array(text.utf8)
        let json = JSONValue(parsing: bytes.span)
        return try #require(json.flatMap { RecordedExchange($0) })
    }

    private static func request(_ method: Method = .get) -> RequestHead {
        var head = RequestHead()
        head.method = method
        head.pathAndQuery = head.fields.store("/")
        return head
    }

    private func caching(
        _ exchange: RecordedExchange,
        _ policy: CachePolicy? = .standard,
        _ request: RequestHead = Self.request(),
        attachments: [Attached] = [],
        changesResponse: Bool = false
    ) -> RecordedCaching {
        RecordedCaching(
            policy,
            of: exchange,
            request: request,
            attachments: Attachments(attachments),
            changesResponse: changesResponse
        )
    }

    private static let fields =
        #"{"status":200,"fields":[["Cache-Control","max-age=60"],["ETag","\"a\""]]}"#
    private static let line = #"{"status_code":200,"names":["cache-control","etag"]}"#

    @Test func `all fields of a running lupin decide it`() throws {
        let exchange = try exchange(response: Self.line, answer: Self.fields)
        #expect(exchange.startMicroseconds == 1_795_348_800_000_000)
        #expect(caching(exchange).lines == ["to be stored: fresh for 1m (max-age)"])
        let authenticated = caching(exchange, attachments: [.token("a")])
        #expect(authenticated.decision == .refuse(.authorization))
        #expect(
            authenticated.lines == [
                "not to be stored: authorization (the request was authenticated, and the origin "
                    + "does not allow a shared cache to keep it)"
            ]
        )
        let changed = caching(exchange, changesResponse: true).lines
        #expect(
            changed.last == "told by the fields that the client got, which steps had changed"
        )
    }

    @Test func `what a policy overrides is loud`() throws {
        let fields = #"{"fields":[["Cache-Control","no-store"],["Set-Cookie","REDACTED.1"]]}"#
        let exchange = try exchange(response: #"{"status_code":200}"#, answer: fields)
        #expect(caching(exchange).decision == .refuse(.noStore))
        var policy = CachePolicy.standard
        policy.ignored = [.noStore, .cookies]
        policy.ttl = .seconds(3600)
        #expect(
            caching(exchange, policy).lines == [
                "to be stored: fresh for 1h (ttl)", "OVERRIDES the origin: no-store, cookies, ttl",
            ]
        )
    }

    @Test func `values that are not in the record are named, and nothing is guessed`() throws {
        let exchange = try exchange(response: Self.line)
        let caching = caching(exchange)
        #expect(caching.decision == nil && caching.unknown == ["cache-control", "etag"])
        #expect(
            caching.lines == [
                "whether it may be stored can't be told: values of fields are not in the record "
                    + "(cache-control, etag); log: {headers: all} has them, and a running lupin "
                    + "for its last exchanges"
            ]
        )
        let none = self.caching(try self.exchange(response: #"{"status_code":200}"#))
        #expect(none.decision == nil && none.unknown.isEmpty)
        #expect(none.lines.first?.contains("not in the record; log:") == true)
    }

    @Test(arguments: [
        (#"{"status_code":200,"names":["content-type"]}"#, NoStoreReason.useless),
        (#"{"status_code":200,"names":["set-cookie"]}"#, .setCookie),
        (#"{"status_code":302,"names":["location"]}"#, .noLifetime),
        (
            #"{"status_code":200,"names":["vary"],"header":{"vary":["*"]}}"#, .varyAny
        ),
        (#"{"status_code":200,"header":{"cache-control":["private"]}}"#, .isPrivate),
        (#"{"status_code":304,"names":["cache-control"]}"#, .notModified),
    ])
    func `names and values of a log are enough where nothing else could count`(
        response: String,
        reason: NoStoreReason
    ) throws {
        let status = response.contains("302") ? 302 : response.contains("304") ? 304 : 200
        let exchange = try exchange(
            response: response,
            attempts: "[{\"n\":1,\"status\":\(status)}]"
        )
        #expect(caching(exchange).decision == .refuse(reason))
    }

    @Test func `the origin's status counts, and the request without any field`() throws {
        let exchange = try exchange(
            response: #"{"status_code":200}"#,
            answer: Self.fields,
            attempts: #"[{"n":1,"status":503},{"n":2,"status":304}]"#
        )
        #expect(caching(exchange).decision == .refuse(.notModified))
        let post = try self.exchange(response: #"{"status_code":200}"#)
        #expect(caching(post, .standard, Self.request(.post)).decision == .refuse(.method))
    }

    @Test func `what there was no response to, or no policy for, is told`() throws {
        let hit = try exchange(
            response: Self.line,
            more: #","cache":{"status":"lupin; hit; ttl=5"}"#,
            attempts: "[]"
        )
        #expect(
            caching(hit).lines == [
                "it was told as lupin; hit; ttl=5",
                "nothing went upstream, so there was nothing new to store",
            ]
        )
        #expect(caching(hit, nil).lines.last == "no rule caches it now")
        let nothing = try exchange(response: "{}")
        #expect(caching(nothing).lines == ["there was no response to store"])
    }

    @Test(arguments: [
        #"{"status_code":99999}"#, #"{"status_code":"x"}"#, #"{"status_code":-1}"#,
        #"{"status_code":200,"names":7,"header":[1]}"#,
        #"{"status_code":200,"header":{"a b":["x"],"cache-control":["a\r\nb: c"],"x":7}}"#,
    ])
    func `a log that somebody edited does no harm`(response: String) throws {
        let exchange = try exchange(
            response: response,
            answer: #"{"status":1,"fields":[["a"],["b","c","d"],7,["Age","-9e99"]]}"#
        )
        _ = caching(exchange)
        _ = caching(try self.exchange(response: response))
    }

    @Test(arguments: [
        "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "20261122T120000Z", "Z", "",
        "9999-12-31T23:59:59.9999999999Z", "2026-11-22T12:00:00.000000+01:00",
    ])
    func `a moment that is none is none`(text: String) throws {
        let bytes = Array(
            """
            {"ts":"\(text)","id":"x","url":{"scheme":"http","domain":"a.dev"}}
            """.utf8
        )
        let json = JSONValue(parsing: bytes.span)
        let exchange = try #require(json.flatMap { RecordedExchange($0) })
        #expect(exchange.startMicroseconds == 0 || text.hasPrefix("9999"))
    }
}
