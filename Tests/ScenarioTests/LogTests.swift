// Where record lines go while lupin runs.
import Foundation
import LupinProxy
import LupinTestKit
import Testing

struct LogTests {
    @Test func `after reopenLog lines go to a new file`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            let client = try proxy.client()
            try client.get(origin.url("/old"))
            _ = try proxy.record()
            let moved = proxy.logPath + ".1"
            try FileManager.default.moveItem(atPath: proxy.logPath, toPath: moved)
            proxy.proxy.reopenLog()
            try client.get(origin.url("/new"))
            #expect(try proxy.record()["url.path"] == "/new")
            let old = try String(contentsOfFile: moved, encoding: .utf8)
            #expect(old.contains("/old"))
            #expect(!old.contains("/new"))
            try FileManager.default.removeItem(atPath: moved)
        }
    }

    @Test func `log off writes what failed and nothing else`() async throws {
        let rules = """
            rules:
              - {name: quiet, match: {path: "/quiet/**"}, log: off}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    if request.target == "/quiet/broken" { return connection.reset() }
                    try connection.reply(204)
                }
            }
            let client = try proxy.client()
            try client.get(origin.url("/quiet/a"))
            #expect(try client.get(origin.url("/quiet/broken")).status == 502)
            try client.get(origin.url("/loud"))
            let paths = try proxy.records(2).map { $0["url.path"] }
            #expect(paths == ["/quiet/broken", "/loud"])
        }
    }
}
