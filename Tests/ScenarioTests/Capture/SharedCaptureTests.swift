// Two lupins of one user: the capture belongs to one, and the other one answers nevertheless.
import LupinStore
import LupinTestKit
import Testing

struct SharedCaptureTests {
    @Test(arguments: ["/v1/exchanges", "/v1/exchanges?format=lines", "/v1/capture"])
    func `the first question to the second is answered`(path: String) async throws {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let other = try CaptureFile(folder: proxy.capturePath)
            defer { other.close() }
            for _ in 0..<2 { #expect(try proxy.admin("GET", path).status == 200) }
        }
    }

    @Test func `an exchange of the second's own is shown`() async throws {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let other = try CaptureFile(folder: proxy.capturePath)
            defer { other.close() }
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "fine") }
            }
            #expect(try proxy.client().get(origin.url()).bodyText == "fine")
            let id = try #require(try proxy.record()["id"])
            let detail = try proxy.adminJSON("/v1/exchanges/\(id)")
            #expect(detail["record.id"] == id)
        }
    }
}
