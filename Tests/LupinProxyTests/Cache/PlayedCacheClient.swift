// The exchange of a request, as a test plays it for the cache: no sockets, and an origin that
// answers by a script.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinUpstream
import LupinWire

/// A store, and its time.
final class PlayedCache: CacheResources {
    let responses = ResponseStore(bytesMax: 1 << 20)
    var redis: RedisClient? { nil }
    var cachedResponseHandler: (any CachedResponseHandler)? { nil }
    let redactor = Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
    var policy = CachePolicy.standard
    /// A Sunday noon in November.
    var wallNow: Int64 = 1_795_348_800_000_000
    private var lastID: UInt64 = 0

    func nextID() -> ExchangeID {
        lastID += 1
        return ExchangeID(high: 0, low: lastID)
    }

    func wait(seconds: Int64) { wallNow += seconds * 1_000_000 }
}

/// What the origin says.
struct PlayedReply {
    var status: UInt16 = 200
    var fields: [(String, String)] = []
    var body = ""
    /// Its length as the head announces it; nil for that of the body.
    var length: UInt64?

    /// The body breaks off where less of it comes than was announced.
    var obtained: ObtainedResponse {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        let bytes = Array(body.utf8)
        let length = length ?? UInt64(bytes.count)
        let isWhole = length == UInt64(bytes.count)
        return ObtainedResponse(
            response: ParsedResponse(head, framing: .length(length), contentLength: length),
            body: BytesBody(bytes, failure: isWhole ? nil : Self.brokenOff)
        )
    }

    static let brokenOff = LupinError(.httpResponseIncomplete, detail: "It broke off.")
}

/// One request, and what becomes of it.
final class PlayedCacheClient: CacheClient {
    let resources: PlayedCache
    let cacheStore = CacheStoreSettings()
    let id: ExchangeID
    let request: RequestHead
    let origin: Origin?
    var isForStoreAlone = false
    let slot: ParkingSlot
    let idleTime: UInt64 = 1_000_000
    func behindHead(_ error: LupinError) -> LupinError { error }
    let totalDeadline = UInt64.max
    var filling: BodyRelay?
    private var download: BodyRelay?

    let use: CacheUse
    /// What the origin says to each fetch; without a word left it can't be reached.
    private var script: [PlayedReply]
    /// A fetch goes on when the slot is told that it is answered.
    var fetchWaits = false

    /// The conditions of each fetch, and whether it wants the rest of a body.
    private(set) var fetches: [ValidationConditions?] = []
    private(set) var status: UInt16?
    private let body = CollectedBody(bytesMax: 1 << 20)
    private(set) var told = ""
    private(set) var validations = 0

    init(
        _ method: Method = .get,
        _ fields: [(String, String)] = [],
        of cache: PlayedCache,
        on loop: EventLoop,
        _ script: PlayedReply...
    ) throws {
        var head = RequestHead()
        head.method = method
        head.pathAndQuery = head.fields.store("/a")
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        guard let host = Host("a.test") else { throw LupinError.stopping }
        let origin = Origin(scheme: .http, host: host, port: 80)
        request = head
        self.origin = origin
        self.script = script
        resources = cache
        id = cache.nextID()
        slot = ParkingSlot(on: loop)
        use = CacheUse(
            PlannedCache(cache.policy),
            CacheKey(head, to: origin, partition: ""),
            CacheRequest(head, hasContent: false),
            AdaptedRequest(UpstreamRequest(head: head, origin: origin), hop: .origin(origin)),
            Attachments([])
        )
    }

    /// Has the cache answer the request.
    func ask() async throws(LupinError) { try await CacheHandler(for: self, use).answer() }

    /// Has the cache ask the origin about what it has.
    func validate() async throws(LupinError) {
        try await CacheHandler(for: self, use).validate()
    }

    /// The body as the client got it.
    var text: String { String(decoding: body.bytes, as: UTF8.self) }

    // MARK: Waits

    var hasClientLeft: Bool { false }
    var isCommitted: Bool { status != nil }
    func isByLogin(_ request: AdaptedRequest) -> Bool { false }
    func note(cache status: String) { told = status }
    func endLook(_ status: CacheStatus) {}
    func look(for key: [UInt8], _ redis: RedisClient) -> RedisQuery? { nil }

    func park(
        _ phase: LiveExchange.Wait,
        for reasons: WakeReasons,
        until deadline: UInt64
    ) async throws(LupinError) {
        _ = await slot.park(for: reasons, until: deadline)
    }

    // MARK: The origin

    func fetch(_ base: AdaptedRequest) async throws(LupinError) -> ObtainedResponse? {
        if fetchWaits { _ = await slot.park(for: .answered) }
        fetches.append(use.conditions)
        guard !script.isEmpty else { throw LupinError(.connectionRefused, detail: "Nobody.") }
        return script.removeFirst().obtained
    }

    func letGo(of obtained: ObtainedResponse) async throws(LupinError) {}
    func dropUpstream() {}
    func passUpstreamOn(isResponseComplete: Bool) {}
    func hasReadOverFlaws() -> Bool { false }
    func validateInBackground(_ use: CacheUse) { validations += 1 }

    func resume(
        _ resumable: Resumable,
        received: UInt64,
        after failure: LupinError
    ) async throws(LupinError) -> any BodySource {
        throw failure
    }

    // MARK: The response

    func answerByRule() async throws(LupinError) {}
    func upgrades(by response: ParsedResponse) async throws(LupinError) -> Bool { false }

    func send(_ response: GeneratedResponse) async throws(LupinError) {
        status = response.head.status
    }

    func deliver(_ obtained: ObtainedResponse) async throws(LupinError) {
        status = obtained.response.status
        try await relay(from: obtained.body, to: body)
    }

    func present(
        _ head: consuming ResponseHead,
        _ framing: BodyFraming,
        contentLength: UInt64?
    ) throws(LupinError) -> any BodySink {
        status = head.status
        return body
    }

    func relay(from source: any BodySource, to sink: any BodySink) async throws(LupinError) {
        try await awaitMore(of: BodyRelay(from: source, to: sink, slot: slot))
    }

    // MARK: Bodies, which are all there

    func beginFilling(_ filling: BodyRelay, _ download: BodyRelay) {
        self.filling = filling
        self.download = download
        pumpBodies()
    }

    func pumpBodies() {
        _ = filling?.pump()
        _ = download?.pump()
    }

    /// Throws where more has to be waited for than this script has.
    func awaitMore(of relay: BodyRelay) async throws(LupinError) {
        for _ in 0..<8 where !relay.isOver {
            pumpBodies()
            _ = relay.pump()
        }
        switch relay.state {
        case .finished: return
        case .sourceFailed(let error), .sinkFailed(let error): throw error
        case .running, .finishing: throw .stopping
        }
    }

    func cancelUpload() {}
}
