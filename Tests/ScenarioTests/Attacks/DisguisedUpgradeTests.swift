// h2c under another name: what an origin may take for it is asked of none (RFC 9113 §3.1).
import LupinTestKit
import Testing

struct DisguisedUpgradeTests {
    /// Protocols are compared without their versions, so these are h2c to whoever does so too.
    @Test(arguments: ["h2c/1", "H2C/2", "x, h2c/1"])
    func `h2c with a version is not asked for, and no way past the rules`(
        wish: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Connection: Upgrade", "Upgrade: \(wish)"])
            let far = try origin.accept()
            let request = try far.request()
            #expect(request["Upgrade"]?.lowercased().contains("h2c") != true)
            try far.send(head("HTTP/1.1 101 Switching", "Connection: Upgrade", "Upgrade: h2c"))
            #expect(try client.response().status == 502)
        }
    }
}
