// The admin interface over TCP: the right name and the token, or nothing.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct AdminHTTPTests {
    private static let token = "0123456789abcdef"

    /// A port that the kernel gives to nobody else.
    private static func freePort() throws -> UInt16 {
        let listener = try PlainListener()
        defer { listener.close() }
        return listener.address.port
    }

    @Test func `name and token decide, and in that order`() async throws {
        let port = try Self.freePort()
        let rules = "admin: {socket: off, http: {address: 127.0.0.1:\(port), token: \(Self.token)}}"
        try await ProxyFixture.run(rules) { proxy in
            let rows: [(String, String, Int)] = [
                ("127.0.0.1:\(port)", "Authorization: Bearer \(Self.token)\r\n", 200),
                ("localhost:\(port)", "Authorization: bearer \(Self.token)\r\n", 200),
                ("LOCALHOST:\(port)", "Authorization: Bearer \(Self.token)\r\n", 200),
                ("127.0.0.1:\(port)", "", 401),
                ("127.0.0.1:\(port)", "Authorization: Bearer \(Self.token)x\r\n", 401),
                ("127.0.0.1:\(port)", "Authorization: Basic \(Self.token)\r\n", 401),
                ("evil.example:\(port)", "Authorization: Bearer \(Self.token)\r\n", 421),
                ("localhost:1", "Authorization: Bearer \(Self.token)\r\n", 421),
                ("localhost", "Authorization: Bearer \(Self.token)\r\n", 421),
            ]
            for (host, field, status) in rows {
                let client = try ScriptedClient(to: .loopback(port: port))
                try client.send("GET /v1/status HTTP/1.1\r\nHost: \(host)\r\n\(field)\r\n")
                let response = try client.response()
                #expect(response.status == status, "\(host) \(field)")
                #expect((response["WWW-Authenticate"] != nil) == (status == 401))
                if status != 200 { #expect(try client.waitForEnd() == .finished) }
                client.close()
            }
        }
    }

    @Test func `where it cannot be, lupin warns and works`() async throws {
        let taken = try PlainListener()
        let rules = "admin: {http: {address: \"\(taken.address)\", token: \(Self.token)}}"
        try await ProxyFixture.run(rules) { proxy in
            #expect(proxy.warnings.count == 1)
            #expect(proxy.warnings.first?.hasPrefix("no admin interface at ") == true)
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
        }
    }
}
