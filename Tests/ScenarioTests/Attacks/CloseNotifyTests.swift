// An origin under TLS that closes without close_notify: broken, unless a rule takes it as the end.
import LupinCore
import LupinTestKit
import Testing

struct CloseNotifyTests {
    private static func rule(_ word: String) -> String {
        "rules: [{match: {host: origin.test}, tls: {close_notify: \(word)}}]"
    }

    @Test func `by default the body is broken, and the record says why`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nhalf of i")
            far.security?.truncate()
            _ = try inside.client.stream.untilEnd()
            let record = try inside.proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.detail"]?.contains("without close_notify") == true)
            #expect(record["error.detail"]?.contains("close_notify: optional") == true)
        }
    }

    @Test func `a rule takes it as the end of the body`() async throws {
        try await Inside.run(Self.rule("optional")) { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nall of it")
            far.security?.truncate()
            #expect(try inside.client.response().bodyText == "all of it")
            #expect(try inside.proxy.record()["outcome"] == "ok")
        }
    }

    /// A whole record of application data would have 256 bytes behind this header.
    @Test(arguments: [1, 5, 105])
    func `an end within a record is a cut, whatever the rule says`(count: Int) async throws {
        let record = [0x17, 0x03, 0x03, 0x01, 0x00] + [UInt8](repeating: 0x5A, count: 256)
        try await Inside.run(Self.rule("optional")) { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\n\r\nhalf of i")
            far.security?.truncate(behind: Array(record.prefix(count)))
            _ = try inside.client.stream.untilEnd()
            #expect(try inside.proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `a body with a length is broken all the same`() async throws {
        try await Inside.run(Self.rule("optional")) { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            far.security?.truncate()
            #expect(throws: SocketFailure.self) { try inside.client.response() }
            #expect(try inside.proxy.record()["outcome"] == "truncated")
        }
    }

    @Test func `another rule's connection is not taken for it`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test, path: /lax}, tls: {close_notify: optional}}
              - {match: {host: origin.test, path: /strict}, request: [{set: {X-A: b}}]}
            """
        try await Inside.run(rules) { inside in
            try inside.send("GET", "/lax")
            let lax = try inside.accept()
            try lax.request()
            try lax.reply(204)
            #expect(try inside.client.response().status == 204)
            try inside.send("GET", "/strict")
            let strict = try inside.accept()
            try strict.request()
            try strict.send("HTTP/1.1 200 OK\r\n\r\nhalf of i")
            strict.security?.truncate()
            _ = try inside.client.stream.untilEnd()
            #expect(try inside.proxy.records(2)[1]["outcome"] == "truncated")
        }
    }
}
