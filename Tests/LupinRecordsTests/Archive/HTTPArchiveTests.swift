// That an archive has all that HAR 1.2 demands, and nothing that isn't known.
import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct HTTPArchiveTests {
    private func archive(_ lines: [String]) throws -> JSONValue {
        var archive = HTTPArchive(version: "1.2.3")
        for line in lines { archive.add(try #require(parseJSON(line))) }
        let bytes = archive.finish()
        return try #require(parseJSON(String(decoding: bytes, as: UTF8.self)))
    }

    private func line(_ change: (inout ExchangeRecord) -> Void = { _ in }) -> String {
        var record = makeFullRecord()
        change(&record)
        return jsonLine(of: record, redactor: makeRedactor())
    }

    private func check(_ archive: JSONValue) throws -> [JSONValue] {
        #expect(archive["log", "version"]?.string == "1.2")
        #expect(archive["log", "creator", "name"]?.string == "lupin")
        #expect(archive["log", "creator", "version"]?.string == "1.2.3")
        let entries = try #require(archive["log", "entries"]?.list)
        #expect(ArchiveRules.problems(of: archive) == [])
        return entries
    }

    @Test func `without exchanges it is empty`() throws {
        #expect(try check(archive([])).isEmpty)
    }

    @Test func `a record is an entry, with what the log has of it`() throws {
        let entry = try #require(try check(archive([line()])).first)
        #expect(entry["startedDateTime"]?.string == "2026-11-20T22:41:07.123456Z")
        #expect(entry["time"]?.number == 743.3)
        #expect(entry["request", "method"]?.string == "GET")
        #expect(entry["request", "url"]?.string?.hasPrefix("http://api.github.com/user?") == true)
        #expect(entry["request", "httpVersion"]?.string == "HTTP/1.1")
        #expect(entry["response", "status"]?.count == 200)
        #expect(entry["response", "bodySize"]?.count == 5120)
        #expect(entry["timings", "blocked"]?.number == 0.2)
        #expect(entry["timings", "connect"]?.number == -1)
        #expect(entry["timings", "wait"]?.number == 740.9)
        #expect(entry["_id"]?.string == "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b")
        #expect(entry["_rules"]?.list?.compactMap(\.string) == ["everyone", "github"])
        #expect(entry["_attempts"]?.count == 2)
        let query = entry["request", "queryString"]?.list?.map { parameter in
            "\(parameter["name"]?.string ?? "")=\(parameter["value"]?.string ?? "")"
        }
        #expect(query?.count == 2 && query?.last == "page=2")
        #expect(query?.first?.hasPrefix("code=REDACTED") == true)
    }

    @Test func `heads are there where they are known`() throws {
        let full = """
            {"record":\(line()),\
            "request":{"method":"POST","target":"/a?b=c%20d","fields":[["Host","a"],["X","\\"1"]]},\
            "response":{"status":302,"fields":[["Location","/z"],["content-type","text/html"]]}}
            """
        let entry = try #require(try check(archive([full])).first)
        let fields = entry["request", "headers"]?.list?.map { field in
            "\(field["name"]?.string ?? ""): \(field["value"]?.string ?? "")"
        }
        #expect(fields == ["Host: a", "X: \"1"])
        #expect(entry["response", "redirectURL"]?.string == "/z")
        #expect(entry["response", "content", "mimeType"]?.string == "text/html")
    }

    @Test func `tunnels, failures and connections are told`() throws {
        let tunnel = line { record in
            record.mode = .tunnel
            record.request?.form = .authority
            record.request?.method = .connect
            record.tunnel = TunnelRecord()
            record.tunnel?.receivedBytes = 99
            record.timing.tcp = 1000
            record.timing.tls = 2000
        }
        let failed = line { record in
            record.response = nil
            record.outcome = .error
            record.error = LupinError(.dnsError, detail: "no \"such\" name")
        }
        let entries = try check(archive([tunnel, failed, #"{"event":"stage","id":"x"}"#, "[]"]))
        #expect(entries.count == 2)
        #expect(entries[0]["request", "url"]?.string == "https://api.github.com:80")
        #expect(entries[0]["response", "bodySize"]?.count == 99)
        #expect(entries[0]["timings", "connect"]?.number == 3)
        #expect(entries[0]["timings", "ssl"]?.number == 2)
        #expect(entries[1]["response", "status"]?.count == 0)
        #expect(entries[1]["_error"]?.string == "dns_error")
        #expect(entries[1]["_detail"]?.string == "no \"such\" name")
    }

    // MARK: Bodies

    private func entry(_ bodies: ArchivedBodies) throws -> JSONValue {
        var archive = HTTPArchive(version: "1.2.3")
        let json = try #require(parseJSON(line()))
        archive.add(try #require(ArchiveEntry(json, bodies)))
        let bytes = archive.finish(note: "cut")
        let whole = try #require(parseJSON(String(decoding: bytes, as: UTF8.self)))
        #expect(whole["log", "comment"]?.string == "cut")
        return try #require(try check(whole).first)
    }

    @Test func `a text is there as it is, whatever stands in it`() throws {
        var text =
            String(repeating: "ä€😀", count: 3000) + "\u{0}\u{1F}\"\\\u{7F}\u{85}\u{202E}\u{FEFF}"
        text += "\r\n\t</script>"
        var bodies = ArchivedBodies()
        bodies.request = ArchivedBody(bytes: 9, content: Array(text.utf8), type: "text/plain")
        bodies.response = ArchivedBody(bytes: 9, content: Array(text.utf8))
        let entry = try entry(bodies)
        #expect(entry["request", "postData", "text"]?.string == text)
        #expect(entry["request", "postData", "mimeType"]?.string == "text/plain")
        #expect(entry["response", "content", "text"]?.string == text)
        #expect(entry["response", "content", "encoding"] == nil)
        #expect(entry["response", "content", "size"]?.count == UInt64(text.utf8.count))
    }

    @Test func `bytes that are no text are in base64`() throws {
        var bodies = ArchivedBodies()
        bodies.request = ArchivedBody(bytes: 3, content: [0xFF, 0, 1])
        bodies.response = ArchivedBody(bytes: 3, content: [0xC3], truncated: "limit")
        let entry = try entry(bodies)
        #expect(entry["request", "postData", "text"]?.string == "/wAB")
        #expect(entry["request", "postData", "_encoding"]?.string == "base64")
        #expect(entry["response", "content", "text"]?.string == "ww==")
        #expect(entry["response", "content", "encoding"]?.string == "base64")
        #expect(entry["response", "content", "_truncated"]?.string == "limit")
    }

    @Test func `a text that is not said to be UTF-8 is in base64`() throws {
        let type = "text/plain; charset=iso-8859-1"
        var bodies = ArchivedBodies()
        bodies.request = ArchivedBody(bytes: 2, content: Array("é".utf8), type: type)
        #expect(try entry(bodies)["request", "postData", "text"]?.string == "w6k=")
        bodies.request = ArchivedBody(bytes: 1, content: Array("e".utf8), type: type)
        #expect(try entry(bodies)["request", "postData", "text"]?.string == "e")
    }

    @Test func `what a coding saved is told, and what is withheld`() throws {
        var bodies = ArchivedBodies()
        bodies.response = ArchivedBody(bytes: 9, content: Array(repeating: 0x61, count: 6000))
        #expect(try entry(bodies)["response", "content", "compression"]?.count == 6000 - 5120)
        bodies.response = ArchivedBody(bytes: 9, content: [], withheld: "no key")
        let entry = try entry(bodies)
        #expect(entry["response", "content", "text"] == nil)
        #expect(entry["response", "content", "comment"]?.string == "no key")
        #expect(entry["request", "postData"] == nil)
    }

    @Test func `messages of a WebSocket are there as Chromium has them`() throws {
        var bodies = ArchivedBodies()
        bodies.messages = [
            ArchivedMessage(
                time: 1_700_000_000_000_042,
                isFromClient: true,
                kind: "text",
                content: Array("hi".utf8)
            ),
            ArchivedMessage(
                time: 1_700_000_001_500_000,
                isFromClient: false,
                kind: "binary",
                content: [1, 2]
            ),
        ]
        let entry = try entry(bodies)
        let messages = try #require(entry["_webSocketMessages"]?.list)
        #expect(entry["_resourceType"]?.string == "websocket")
        #expect(messages.map { $0["type"]?.string } == ["send", "receive"])
        #expect(messages.map { $0["opcode"]?.count } == [1, 2])
        #expect(messages.map { $0["data"]?.string } == ["hi", "AQI="])
        #expect(messages.map { $0["time"]?.number } == [1_700_000_000.000042, 1_700_000_001.5])
    }

    @Test(arguments: ["{}", #"{"log":{"version":1,"creator":{},"entries":[{}],"x":1}}"#])
    func `the rules of HAR find what is wrong`(text: String) throws {
        let json = try #require(parseJSON(text))
        #expect(!ArchiveRules.problems(of: json).isEmpty)
    }
}
