// A listener that asks for a password, spoken to in HTTP/2: each stream says who asks.
import LupinTestKit
import Testing

struct AuthenticatedStreamTests {
    private static func credentials(_ line: String) -> HTTP2Fields {
        ["proxy-authorization": String(line.drop { $0 != " " }.dropFirst())]
    }

    @Test func `a challenge ends one request and not the connection`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            let get = HTTP2Fields.request(authority: origin.authority, path: "/3")
            let refusal = try client.request(get)
            #expect(refusal.status == 407)
            #expect(refusal["proxy-authenticate"]?.hasPrefix("Basic realm=") == true)
            #expect(origin.connections.isEmpty)
            let alice = get + Self.credentials(ClientUsers.alice)
            #expect(try client.request(alice).body.count == 3)
            let bob = get + Self.credentials(ClientUsers.bob)
            #expect(try client.request(bob).body.count == 3)
            #expect(try client.request(get).status == 407)
            #expect(!origin.receivedText.lowercased().contains("proxy-auth"))
            let names = try proxy.records(4).map { $0["client.user"] }
            #expect(names == [nil, "alice", "bob", nil])
        }
    }

    @Test func `a tunnel opens for whoever has the password`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let refused = try client.open(.connect(origin.authority))
            #expect(try client.response(on: refused).status == 407)
            let head = HTTP2Fields.connect(origin.authority)
            let stream = try client.open(head + Self.credentials(ClientUsers.alice))
            let far = try origin.accept()
            #expect(try client.frames.head(on: stream)[":status"] == "200")
            try client.frames.send(.data(stream, "ping"))
            #expect(try far.stream.text(4) == "ping")
        }
    }

    @Test func `an upload that is refused need not be sent`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let stream = try client.open(.request("POST", authority: origin.authority))
            try client.frames.send(.data(stream, "some"))
            let response = try client.response(on: stream, to: "POST")
            #expect(response.status == 407)
            // The rest is not needed, and passes by.
            try client.endUnwanted(stream)
            try client.frames.expectAlive()
            #expect(!origin.hasWaiting)
        }
    }
}
