// What is remembered of clients that refused a certificate, and whose memory it takes.
import LupinCore
import LupinProxy
import Testing

struct ClientRejectionsTests {
    private func key(_ user: ClientUser, _ agent: String = "curl") throws -> ClientRejections.Key {
        ClientRejections.Key(
            client: .v4(0x7F00_0001),
            user: user,
            program: nil,
            agent: agent,
            origin: Origin(scheme: .https, host: try #require(Host("a.example")), port: 443)
        )
    }

    @Test func `a rejection holds for its user alone and for its time`() throws {
        let rejections = ClientRejections()
        #expect(rejections.note(try key(.number(1000)), now: 10, lifetime: 5))
        #expect(rejections.holds(try key(.number(1000)), now: 14))
        #expect(!rejections.holds(try key(.number(1000)), now: 15))
        for other: ClientUser in [.number(0), .number(1001), .unknown, .named("1000")] {
            #expect(!rejections.holds(try key(other), now: 11))
        }
        #expect(!rejections.note(try key(.number(1000)), now: 12, lifetime: 5))
        #expect(rejections.note(try key(.number(1000)), now: 20, lifetime: 5))
    }

    @Test func `one user's rejections push out no other's`() throws {
        let rejections = ClientRejections()
        _ = rejections.note(try key(.number(1)), now: 1, lifetime: 1 << 40)
        for i in 0..<(2 * ClientRejections.countPerUserMax) {
            _ = rejections.note(try key(.number(2), "\(i)"), now: UInt64(i) + 2, lifetime: 1 << 40)
        }
        #expect(rejections.holds(try key(.number(1)), now: 600))
        // Of one's own the oldest go.
        #expect(!rejections.holds(try key(.number(2), "0"), now: 600))
        #expect(rejections.holds(try key(.number(2), "511"), now: 600))
    }
}
