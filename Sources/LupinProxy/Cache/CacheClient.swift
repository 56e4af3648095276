// What the cache asks of the exchange that it works for.
package import LupinCaching
package import LupinCore
package import LupinIO
package import LupinPolicy
import LupinStore
package import LupinUpstream
package import LupinWire

/// What the cache needs of the worker.
package protocol CacheResources {
    var responses: ResponseStore { get }
    /// The way to the store that several machines share; nil when there is none.
    var redis: RedisClient? { get }
    var cachedResponseHandler: (any CachedResponseHandler)? { get }
    var redactor: Redactor { get }
    /// The time of day in microseconds since 1970.
    var wallNow: Int64 { get }
    func nextID() -> ExchangeID
}

/// For whom the cache works: who asks, waits, fetches, and gets the response.
package protocol CacheClient: AnyObject, SendableMetatype {
    associatedtype Resources: CacheResources
    var resources: Resources { get }
    var cacheStore: CacheStoreSettings { get }

    // MARK: Who asks

    var id: ExchangeID { get }
    /// The client's own request, and its origin.
    var request: RequestHead { get }
    var origin: Origin? { get }
    /// No client gets the response: it is for the store alone.
    var isForStoreAlone: Bool { get }
    var isCommitted: Bool { get }
    var hasClientLeft: Bool { get }
    func isByLogin(_ request: AdaptedRequest) -> Bool
    /// The status of the cache has changed.
    func note(cache status: String)
    /// All places that may have the response have been asked.
    func endLook(_ status: CacheStatus)

    // MARK: Waits

    var slot: ParkingSlot { get }
    var idleTime: UInt64 { get }
    var totalDeadline: UInt64 { get }
    /// The error of a body that broke off, by what is known of the connection.
    func behindHead(_ error: LupinError) -> LupinError
    func park(
        _ phase: LiveExchange.Wait,
        for reasons: WakeReasons,
        until deadline: UInt64
    ) async throws(LupinError)
    /// Asks for what the shared store has under a key; nil where it can't be asked now.
    func look(for key: [UInt8], _ redis: RedisClient) -> RedisQuery?

    // MARK: The origin

    /// nil when a rule answers after a followed redirect.
    func fetch(_ base: AdaptedRequest) async throws(LupinError) -> ObtainedResponse?
    func letGo(of obtained: ObtainedResponse) async throws(LupinError)
    func dropUpstream()
    func passUpstreamOn(isResponseComplete: Bool)
    func resume(
        _ resumable: Resumable,
        received: UInt64,
        after failure: LupinError
    ) async throws(LupinError) -> any BodySource
    /// Whether something was wrong with the response, or with its body so far.
    func hasReadOverFlaws() -> Bool
    func validateInBackground(_ use: CacheUse)

    // MARK: The response

    func answerByRule() async throws(LupinError)
    func upgrades(by response: ParsedResponse) async throws(LupinError) -> Bool
    func send(_ response: GeneratedResponse) async throws(LupinError)
    func deliver(_ obtained: ObtainedResponse) async throws(LupinError)
    func present(
        _ head: consuming ResponseHead,
        _ framing: BodyFraming,
        contentLength: UInt64?
    ) throws(LupinError) -> any BodySink
    func relay(from source: any BodySource, to sink: any BodySink) async throws(LupinError)

    // MARK: A body on its way into the store

    /// The origin's side of it; nil once it is over.
    var filling: BodyRelay? { get set }
    /// Begins to move it, and `download` out of the store.
    func beginFilling(_ filling: BodyRelay, _ download: BodyRelay)
    func pumpBodies()
    func awaitMore(of relay: BodyRelay) async throws(LupinError)
    /// The client has the response: the rest of its request is not sent.
    func cancelUpload()
}

extension CacheClient {
    /// Has the client's exchange move its bodies, from any thread.
    ///
    /// Held by a body that the exchange holds, so it doesn't hold the exchange.
    var bodyWake: @Sendable () -> Void {
        let executor = slot.loop.executor
        let local = LoopLocal(Weak(self), of: executor)
        return { executor.mailbox.post { local.value.object?.pumpBodies() } }
    }

    /// What follows the head `served` of a file, with a thread that may wait for the disk.
    func fileBody(
        _ file: OpenedFile,
        _ served: CachedAnswer,
        submit: @escaping FileBody.Submit
    ) -> FileBody {
        // Weak: the relay of the exchange holds the body, for longer than the response takes.
        FileBody(file, served, on: slot.loop, submit: submit) { [weak self] in
            self?.pumpBodies()
        }
    }

    /// Runs a job on the disk's thread and waits for its result; returns nil when that takes too
    /// long, which counts as a miss.
    func onDisk<Value: Sendable>(
        _ tier: DiskTier,
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) async throws(LupinError) -> Value? {
        let promise = tier.ask(slot, job)
        defer { promise.close() }
        let deadline = min(slot.loop.deadline(in: diskTimeout), totalDeadline)
        while promise.isOpen, slot.loop.now < deadline {
            try await park(.disk, for: .answered, until: deadline)
        }
        return promise.answer
    }

    /// Drops the stored responses of URLs, in memory and on disk.
    func purge(_ urls: Set<String>) async throws(LupinError) -> CachePurge {
        let store = resources.responses
        var dropped = store.purge(urls, nowUs: resources.wallNow)
        var purged = CachePurge()
        if let disk = store.disk {
            let count = try await onDisk(disk) { store in
                urls.reduce(0) { $0 + DiskTier.remove($1, in: store, isErasing: true) }
            }
            purged.responses = count ?? 0
            // Look-ups have brought back entries from the disk meanwhile.
            dropped += store.purge(urls, nowUs: resources.wallNow)
        }
        return purged.adding(dropped)
    }
}

/// The time limit for a job on the disk's thread.
private let diskTimeout = Duration.seconds(5)
