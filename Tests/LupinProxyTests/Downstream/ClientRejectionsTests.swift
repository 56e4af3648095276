// What is remembered of clients that refused a certificate, and whose memory it takes.
import LupinCore
import LupinProxy
import LupinUpstream
import Testing

struct ClientRejectionsTests {
    private static let second: UInt64 = 1_000_000
    private static let hour = 3600 * second

    private func who(_ user: ClientUser, _ agent: String = "curl") -> ClientRejections.Who {
        ClientRejections.Who(client: .v4(0x7F00_0001), user: user, program: nil, agent: agent)
    }

    private func key(
        _ user: ClientUser,
        _ agent: String = "curl",
        at host: String = "a.example"
    ) throws -> ClientRejections.Key {
        ClientRejections.Key(
            who: who(user, agent),
            origin: Origin(scheme: .https, host: try #require(Host(host)), port: 443)
        )
    }

    /// The clock on the wall is 5 s ahead.
    private func moment(_ seconds: UInt64) -> ClientRejections.Moment {
        ClientRejections.Moment(
            loop: seconds * Self.second,
            wall: Int64((seconds + 5) * Self.second)
        )
    }

    private func note(
        _ rejections: ClientRejections,
        _ key: ClientRejections.Key,
        _ seconds: UInt64,
        longest: UInt64 = hour
    ) -> BypassRecord? {
        rejections.note(key, because: "unknown_ca", at: moment(seconds), longest: longest)
    }

    @Test func `a rejection holds for its user alone, for 30 s`() throws {
        let rejections = ClientRejections()
        let noted = try #require(note(rejections, try key(.number(1000)), 10))
        #expect(noted.sinceMicroseconds == 15_000_000 && noted.untilMicroseconds == 45_000_000)
        #expect(noted.cause == "unknown_ca")
        #expect(rejections.bypass(try key(.number(1000)), now: 39 * Self.second) == noted)
        #expect(rejections.bypass(try key(.number(1000)), now: 40 * Self.second) == nil)
        for other: ClientUser in [.number(0), .number(1001), .unknown, .named("1000")] {
            #expect(rejections.bypass(try key(other), now: 11 * Self.second) == nil)
        }
        #expect(note(rejections, try key(.number(1000)), 12) == nil)
    }

    @Test func `repeated it counts twice as long each time, up to the longest`() throws {
        let rejections = ClientRejections()
        var now: UInt64 = 0
        for seconds: UInt64 in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600] {
            let noted = try #require(note(rejections, try key(.unknown), now))
            #expect(noted.sinceMicroseconds == 5_000_000)
            let held = UInt64(noted.untilMicroseconds) - (now + 5) * Self.second
            #expect(held == seconds * Self.second)
            now += seconds + 1
        }
        // Who does without for as long begins anew.
        now += 3601
        let noted = try #require(note(rejections, try key(.unknown), now))
        #expect(noted.sinceMicroseconds == Int64((now + 5) * Self.second))
        #expect(UInt64(noted.untilMicroseconds) == (now + 35) * Self.second)
        let short = try #require(note(rejections, try key(.number(1)), 0, longest: Self.second))
        #expect(short.untilMicroseconds == 6_000_000)
    }

    @Test func `who accepts the authority elsewhere has learnt to trust it`() throws {
        let rejections = ClientRejections()
        _ = note(rejections, try key(.number(1)), 1)
        _ = note(rejections, try key(.number(2)), 1)
        rejections.noteAcceptance(by: who(.number(1)), now: 2 * Self.second)
        #expect(rejections.bypass(try key(.number(1)), now: 3 * Self.second) == nil)
        #expect(rejections.bypass(try key(.number(2)), now: 3 * Self.second) != nil)
    }

    @Test func `who refuses one host alone has a pin of its own, which stays`() throws {
        let rejections = ClientRejections()
        rejections.noteAcceptance(by: who(.unknown), now: 0)
        _ = note(rejections, try key(.unknown), 1)
        rejections.noteAcceptance(by: who(.unknown), now: 2 * Self.second)
        #expect(rejections.bypass(try key(.unknown), now: 3 * Self.second) != nil)
        rejections.clear()
        #expect(rejections.bypass(try key(.unknown), now: 3 * Self.second) == nil)
        #expect(rejections.all(now: 3 * Self.second).isEmpty)
    }

    @Test func `one user's rejections push out no other's`() throws {
        let rejections = ClientRejections()
        let day = 24 * Self.hour
        _ = note(rejections, try key(.number(1)), 1, longest: day)
        for i in 0..<(2 * ClientRejections.countPerUserMax) {
            let own = try key(.number(2), "\(i)")
            let now = ClientRejections.Moment(loop: Self.second + UInt64(i), wall: 0)
            _ = rejections.note(own, because: "x", at: now, longest: day)
        }
        let now = 2 * Self.second
        #expect(rejections.bypass(try key(.number(1)), now: now) != nil)
        // Of one's own the oldest go.
        #expect(rejections.bypass(try key(.number(2), "0"), now: now) == nil)
        #expect(rejections.bypass(try key(.number(2), "511"), now: now) != nil)
        #expect(rejections.all(now: now).count == ClientRejections.countPerUserMax + 1)
    }

    @Test func `a client is known by its program or by what it calls itself`() {
        let redactor = redactor()
        var client = who(.unknown, "evil\u{1B}[31m" + String(repeating: "x", count: 100))
        let rest = String(repeating: "x", count: 51)
        #expect(client.name(redactor) == "evil\\u001b[31m\(rest) at 127.0.0.1")
        client.program = "git"
        #expect(client.name(redactor) == "git at 127.0.0.1")
        client.program = nil
        client.agent = nil
        #expect(client.name(redactor) == "127.0.0.1")
    }

    @Test func `a client of another user is told from the same program of lupin's own user`() {
        let redactor = redactor()
        #expect(who(.number(7), "curl").name(redactor, own: 7) == "curl at 127.0.0.1")
        #expect(who(.number(8), "curl").name(redactor, own: 7) == "curl of user 8 at 127.0.0.1")
    }

    @Test func `a secret in its name is gone even where the name is cut within it`() {
        let secret = "s3cret-" + String(repeating: "k", count: 40)
        let client = who(.unknown, String(repeating: "x", count: 40) + secret)
        let name = client.name(redactor(secret))
        #expect(!name.contains("s3cret") && name.contains("REDACTED"))
    }

    private func redactor(_ secrets: String...) -> Redactor {
        Redactor(settings: RedactionSettings(), secrets: secrets) { _ in 0 }
    }
}
