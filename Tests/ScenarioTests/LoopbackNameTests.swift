// Names below `localhost` are this machine (RFC 6761 section 6.3), whatever DNS or hosts say.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct LoopbackNameTests {
    @Test(arguments: ["localhost", "app.localhost", "a.b.LocalHost"])
    func `a name below localhost is never asked for`(name: String) async throws {
        let elsewhere: @Sendable (String) -> Resolver.Answer = { _ in .success([.v4(0x7F00_0005)]) }
        try await ProxyFixture.run(resolve: elsewhere) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(body: "here")
            }
            let url = "http://\(name):\(origin.address.port)/"
            #expect(try proxy.client().get(url).bodyText == "here")
            #expect(try proxy.record()["attempts.0.peer"] == origin.authority)
        }
    }

    @Test func `nor by a parent proxy, unless the file asks for it`() async throws {
        let parent = try PlayedOrigin()
        let rules = "upstream: {proxy: \"http://\(parent.authority)\"}"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(body: "here")
            }
            let url = "http://app.localhost:\(origin.address.port)/"
            #expect(try proxy.client().get(url).bodyText == "here")
            #expect(!parent.hasWaiting)
        }
    }
}
