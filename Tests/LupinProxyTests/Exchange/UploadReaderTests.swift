// How a request's body is read before anything is sent, without its connection.
import LupinCore
import LupinIO
import LupinProxy
import LupinUpstream
import LupinWire
import Testing

struct UploadReaderTests {
    /// The client of a request, whose time passes while it is waited for.
    private final class Played: UploadClient {
        let request = RequestHead()
        let framing: BodyFraming
        var origin: Origin? { nil }
        let clientBody: any BodySource
        let heldMemory = ReplayMemory(bytesMax: 1 << 20)
        var bodyBytesMax: Int?
        private(set) var now: UInt64 = 0
        let idleTime: UInt64 = 1000
        let totalDeadline = UInt64.max
        private(set) var isAsked = false

        init(_ body: any BodySource, _ framing: BodyFraming) {
            clientBody = body
            self.framing = framing
        }

        func askForBody() throws(LupinError) { isAsked = true }
        func captureReceived(_ bytes: [UInt8]) {}

        func park(
            _ phase: LiveExchange.Wait,
            for reasons: WakeReasons,
            until deadline: UInt64
        ) async throws(LupinError) {
            now = deadline
        }

        func onBodyThread<Value: Sendable>(
            _ job: @escaping @Sendable () -> Value
        ) async throws(LupinError) -> Value? {
            job()
        }
    }

    private final class Silence: BodySource {
        var trailers: FieldSection { FieldSection() }
        var knownLength: UInt64? { nil }
        func pull() throws(LupinError) -> BodyProgress { .blocked }

        func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
            Offer(taken: 0, isAllTaken: true, isEnd: false)
        }
    }

    private static let body = Array("0123456789".utf8)

    @Test func `a short body is held whole, with or without a known length`() async throws {
        for framing in [BodyFraming.length(10), .chunked] {
            let client = Played(BytesBody(Self.body), framing)
            let held = try await UploadReader(for: client).unchanged(upTo: 10)
            guard case .whole(let bytes, _)? = held?.content else {
                Issue.record("it is not held")
                continue
            }
            #expect(bytes == Self.body && client.isAsked)
        }
    }

    @Test func `a body that is announced as long is left alone`() async throws {
        let client = Played(BytesBody(Self.body), .length(10))
        let held = try await UploadReader(for: client).unchanged(upTo: 9)
        #expect(held == nil && !client.isAsked)
    }

    @Test func `of one that turns out to be long nothing is lost`() async throws {
        let client = Played(BytesBody(Self.body), .chunked)
        let held = try await UploadReader(for: client).unchanged(upTo: 4)
        guard case .passing(let source)? = held?.content else {
            Issue.record("it does not pass")
            return
        }
        let collected = CollectedBody(bytesMax: 100)
        while try source.pull() == .payload {
            if try source.offer(to: collected, keeping: nil).isEnd { break }
        }
        #expect(collected.bytes == Self.body)
    }

    @Test func `no body may be longer than the limit, or stand still`() async throws {
        let long = Played(BytesBody(Self.body), .chunked)
        long.bodyBytesMax = 9
        await #expect(throws: LupinError.bodyTooLong) {
            _ = try await UploadReader(for: long).unchanged(upTo: 10)
        }
        let silent = Played(Silence(), .chunked)
        let error = await #expect(throws: LupinError.self) {
            _ = try await UploadReader(for: silent).unchanged(upTo: 10)
        }
        #expect(error?.status == 408)
    }
}
