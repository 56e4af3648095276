// Resolves names to addresses: getaddrinfo on helper threads, a small cache on each loop.
import CLinux
import Glibc
package import LupinCore

/// Why a name has no address.
package enum ResolveFailure: Error, Equatable, Sendable {
    /// The name does not exist or has no address.
    case notFound
    /// The resolver failed; `reason` is its message.
    case failed(reason: String)
    case timedOut
    /// Too many look-ups wait already.
    case busy
    case interrupted
}

/// The threads that block in getaddrinfo, shared by all loops.
package final class ResolverThreads: Sendable {
    /// Look-ups that may wait in a thread's queue; further ones fail as `.busy`.
    static let queueLength = 1024

    private let threads: [HelperThread]
    private let ask: @Sendable (String) -> Resolver.Answer

    /// Starts `count` threads that call `ask`, which may block; tests supply their own.
    package init(
        count: Int = 4,
        asking ask: @escaping @Sendable (String) -> Resolver.Answer = { Resolver.ask($0) }
    ) throws(SystemError) {
        self.ask = ask
        var threads: [HelperThread] = []
        for i in 0..<count {
            do {
                threads.append(
                    try HelperThread(name: "lupin-dns\(i)", capacity: Self.queueLength)
                )
            } catch {
                throw SystemError(code: error.code)
            }
        }
        self.threads = threads
    }

    /// Stops without waiting for look-ups that still run.
    package func abandon() {
        for thread in threads { thread.abandon() }
    }

    func submit(_ host: String, _ done: @escaping @Sendable (Resolver.Answer) -> Void) -> Bool {
        // A slow zone blocks only the names that hash to the same thread.
        let thread = threads[Int(host.hashValue.magnitude % UInt(threads.count))]
        return thread.submit { [ask] in done(ask(host)) }
    }
}

/// One loop's resolver and its cache.
package final class Resolver {
    package typealias Answer = Result<[IPAddress], ResolveFailure>

    /// Names kept at most; when it is full, the cache is emptied.
    static let entriesMax = 4096
    /// How long a "not found" answer is cached.
    package static let negativeLifetime = Duration.seconds(1)

    /// EAI_NODATA and EAI_ADDRFAMILY, which glibc's headers hide.
    private static let noData: Int32 = -5
    private static let noAddressOfFamily: Int32 = -9

    private struct Entry {
        let answer: Answer
        let expiry: UInt64
    }

    /// A waiting task and its answer: the cache may have dropped the answer already.
    private final class Waiter {
        let slot: ParkingSlot
        var answer: Answer?

        init(_ slot: ParkingSlot) { self.slot = slot }
    }

    private let loop: EventLoop
    private let threads: ResolverThreads
    private var cache: [String: Entry] = [:]
    private var waiting: [String: [Waiter]] = [:]

    package init(on loop: EventLoop, threads: ResolverThreads) {
        self.loop = loop
        self.threads = threads
    }

    /// The cached answer if it is still fresh; never waits.
    package func cached(_ host: String) -> Answer? {
        guard let entry = cache[host], entry.expiry > loop.now else { return nil }
        return entry.answer
    }

    /// Resolves a name; the addresses are in the order of RFC 6724 and the machine's configuration.
    ///
    /// Concurrent look-ups of a name share one call (single flight). `interruptions` are reasons of
    /// `slot` that end the wait.
    package func resolve(
        _ host: String,
        timeToLive: Duration,
        slot: ParkingSlot,
        until deadline: UInt64,
        interruptions: WakeReasons
    ) async throws(ResolveFailure) -> [IPAddress] {
        if let answer = cached(host) { return try answer.get() }
        let waiter = Waiter(slot)
        guard join(host, waiter, timeToLive) else { throw .busy }
        while true {
            let woken = await slot.park(for: interruptions | .answered, until: deadline)
            let stops = woken.intersection(interruptions)
            if let answer = waiter.answer {
                // `park` has cleared these reasons; the caller must still see them.
                slot.wake(stops)
                return try answer.get()
            }
            if !stops.isEmpty || loop.now >= deadline {
                leave(host, waiter)
                throw stops.isEmpty ? .timedOut : .interrupted
            }
        }
    }

    private func join(_ host: String, _ waiter: Waiter, _ timeToLive: Duration) -> Bool {
        if waiting[host] != nil {
            waiting[host]?.append(waiter)
            return true
        }
        let executor = loop.executor
        let key = LoopLocal(self, of: executor)
        let isAccepted = threads.submit(host) { answer in
            executor.mailbox.post { key.value.finish(host, answer, timeToLive) }
        }
        if isAccepted { waiting[host] = [waiter] }
        return isAccepted
    }

    private func leave(_ host: String, _ waiter: Waiter) {
        waiting[host]?.removeAll { $0 === waiter }
    }

    private func finish(_ host: String, _ answer: Answer, _ timeToLive: Duration) {
        if cache.count >= Self.entriesMax { cache.removeAll(keepingCapacity: true) }
        let lifetime: Duration
        switch answer {
        case .success: lifetime = timeToLive
        case .failure: lifetime = min(timeToLive, Self.negativeLifetime)
        }
        cache[host] = Entry(answer: answer, expiry: loop.deadline(in: lifetime))
        for waiter in waiting.removeValue(forKey: host) ?? [] {
            waiter.answer = answer
            waiter.slot.wake(.answered)
        }
    }

    /// Asks the system's resolver.
    ///
    /// Blocks.
    package static func ask(_ host: String) -> Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        // Safety: getaddrinfo fills `list`, which is freed below after it was copied.
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
        defer { if let list = unsafe list { unsafe freeaddrinfo(list) } }
        guard code == 0 else { return .failure(failure(for: code)) }
        var addresses: [IPAddress] = []
        var next = unsafe list
        while let info = unsafe next {
            if let address = unsafe Resolver.address(of: info), !addresses.contains(address) {
                addresses.append(address)
            }
            unsafe next = info.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.notFound) : .success(addresses)
    }

    private static func address(of info: UnsafePointer<addrinfo>) -> IPAddress? {
        var storage = sockaddr_storage()
        let length = unsafe Int(info.pointee.ai_addrlen)
        guard let source = unsafe info.pointee.ai_addr,
            length <= MemoryLayout<sockaddr_storage>.size
        else { return nil }
        // Safety: the list's entry has `ai_addrlen` readable bytes, which fit the storage.
        unsafe memcpy(&storage, source, length)
        return SocketAddress(storage)?.address
    }

    private static func failure(for code: Int32) -> ResolveFailure {
        switch code {
        case EAI_NONAME, Resolver.noData, Resolver.noAddressOfFamily: return .notFound
        default:
            // Safety: gai_strerror returns a static string.
            guard let text = unsafe gai_strerror(code) else { return .failed(reason: "") }
            return .failed(reason: unsafe String(cString: text))
        }
    }
}
