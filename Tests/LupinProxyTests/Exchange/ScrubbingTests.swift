// What of a response is masked, without the exchange that it belongs to.
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import LupinUpstream
import LupinWire
import Testing

struct ScrubbingTests {
    private static let secret = "s3cr3t-0f-th3-t0k3n"

    private static func scrubbing(hasPresented: Bool = true) -> Scrubbing {
        Scrubbing(of: [secret], hasPresented: hasPresented, method: .get, host: "a.test")
    }

    private static func obtained(
        _ fields: [(String, String)] = [],
        status: UInt16 = 200,
        _ body: String
    ) -> ObtainedResponse {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        let bytes = Array(body.utf8)
        let length = UInt64(bytes.count)
        return ObtainedResponse(
            response: ParsedResponse(head, framing: .length(length), contentLength: length),
            body: BytesBody(bytes)
        )
    }

    @Test func `a secret is masked in fields and in the body`() async throws {
        try await LoopFixture.run { fixture in
            let fields = [("X-Echo", "Bearer \(Self.secret)"), ("Digest", "sha-256=abc")]
            let obtained = Self.obtained(fields, "you sent \(Self.secret), friend")
            let scrubbed = try Self.scrubbing().scrubbed(obtained)
            let head = scrubbed.response.head
            #expect(head.fields.value(of: "X-Echo")?.contains(Self.secret) == false)
            let collected = CollectedBody(bytesMax: 1000)
            let slot = ParkingSlot(on: fixture.loop)
            let relay = BodyRelay(from: scrubbed.body, to: collected, slot: slot)
            for _ in 0..<8 where !relay.isOver { _ = relay.pump() }
            let text = String(decoding: collected.bytes, as: UTF8.self)
            #expect(relay.isOver && !text.contains(Self.secret))
            #expect(text.hasPrefix("you sent ") && text.hasSuffix(", friend"))
        }
    }

    @Test func `what lupin can't look into is refused`() {
        let coded = Self.obtained([("Content-Encoding", "x-unknown")], "???")
        #expect(throws: LupinError.self) { _ = try Self.scrubbing().scrubbed(coded) }
        let switched = Self.obtained(status: 101, "")
        #expect(throws: LupinError.self) { _ = try Self.scrubbing().scrubbed(switched) }
        // Without a credential of ours there is nothing to hide.
        #expect(throws: Never.self) {
            _ = try Self.scrubbing(hasPresented: false).scrubbed(switched)
        }
    }
}
