// That an archive has all that HAR 1.2 demands, and nothing that isn't known.
import LupinCore
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

    /// The members that the specification demands of each object.
    private static let demanded: [(path: [String], members: [String])] = [
        ([], ["startedDateTime", "time", "request", "response", "cache", "timings"]),
        (
            ["request"],
            [
                "method", "url", "httpVersion", "cookies", "headers", "queryString",
                "headersSize", "bodySize",
            ]
        ),
        (
            ["response"],
            [
                "status", "statusText", "httpVersion", "cookies", "headers", "content",
                "redirectURL", "headersSize", "bodySize",
            ]
        ),
        (["response", "content"], ["size", "mimeType"]),
        (["timings"], ["send", "wait", "receive"]),
    ]

    private func check(_ archive: JSONValue) throws -> [JSONValue] {
        #expect(archive["log", "version"]?.string == "1.2")
        #expect(archive["log", "creator", "name"]?.string == "lupin")
        #expect(archive["log", "creator", "version"]?.string == "1.2.3")
        let entries = try #require(archive["log", "entries"]?.list)
        for entry in entries {
            for (path, members) in Self.demanded {
                var object = entry
                for name in path { object = try #require(object[name]) }
                for member in members { #expect(object[member] != nil, "\(path) \(member)") }
            }
        }
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
}
