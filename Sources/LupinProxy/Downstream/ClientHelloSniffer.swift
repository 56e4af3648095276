// The client's side of a tunnel: its first bytes are held until they are read, and judged.
import LupinCore
import LupinIO
import LupinTLS
import LupinUpstream
import LupinWire

/// What a client sends through a tunnel.
///
/// The server's bytes pass meanwhile, so a server that speaks first need not wait. A client that
/// speaks late is read all the same.
final class ClientHelloSniffer: BodySource {
    /// The decision about the first bytes.
    enum Verdict {
        case passes
        /// HTTP, where names are judged: no tunnel, since every request has a name of its own.
        case http
        case refused(TunnelRefusal)
    }

    /// nil while the bytes that decide have not come.
    private(set) var verdict: Verdict?
    /// What the TLS inside asks for; nil when there is none, or it can't be read.
    private(set) var hello: ClientHello?
    /// When bytes that have begun must have decided, in microseconds of the loop's clock.
    private(set) var deadline = UInt64.max

    private let source: any BodySource
    /// nil where no name is refused: then whatever can't be read passes.
    private let judge: ServerNamePolicy?
    /// Where the tunnel's task waits, for the deadline too.
    private let slot: ParkingSlot
    /// How long bytes that have begun may take to decide.
    private let timeout: UInt64
    /// The beginning of TLS, once it has come in pieces, and how much of it was passed on.
    private var held: [UInt8] = []
    private var passed = 0
    /// How many bytes were looked at and left in the source: what may be HTTP stays there.
    private var seen = 0
    /// Whether what came is neither TLS nor HTTP, and may pass only if the server spoke first.
    private var awaitsServer = false
    /// Whether a byte of the server's came while none of the client's had gone out.
    private var hasHeardServer = false
    /// Looks for another name behind the one that was judged.
    private var watch: RecordWatch?

    init(_ source: any BodySource, _ judge: ServerNamePolicy?, timeout: UInt64, slot: ParkingSlot) {
        self.source = source
        self.judge = judge
        self.timeout = timeout
        self.slot = slot
    }

    /// Whether the tunnel must end, or go on as something else.
    var isStopped: Bool {
        switch verdict {
        case .http, .refused: true
        case .passes, nil: false
        }
    }

    /// Notes what the TLS inside asks for.
    func note(in record: inout TunnelRecord) {
        guard let hello else { return }
        record.serverName = hello.serverName
        record.protocols = Array(hello.protocols.prefix(TunnelRecord.protocolsMax))
        record.offeredECH = hello.offersECH
    }

    /// Decides about bytes that have begun and are not complete at the deadline; returns true when
    /// it did.
    func giveUp() -> Bool {
        guard verdict == nil, slot.loop.now >= deadline else { return false }
        verdict =
            judge.map { judge in
                .refused(
                    awaitsServer
                        ? .unnamed(at: judge.origin)
                        : .unfinished(at: judge.origin, isTLS: !held.isEmpty)
                )
            } ?? .passes
        return true
    }

    /// Takes note that the server has spoken; returns true when that decided.
    func hearServer() -> Bool {
        guard verdict == nil else { return false }
        hasHeardServer = true
        if awaitsServer { verdict = .passes }
        return awaitsServer
    }

    // MARK: Looking

    /// Reads until there is a verdict; returns nil then.
    private func look() throws(LupinError) -> BodyProgress? {
        let inspector = Inspector(self)
        while verdict == nil {
            if awaitsServer { return .blocked }
            switch seen > 0 ? try source.pull(beyond: seen) : try source.pull() {
            case .blocked: return .blocked
            // What is incomplete now is neither TLS nor a request that names a host.
            case .end:
                if seen > 0 { passUnnamed() } else { verdict = .passes }
            case .payload: _ = try source.offer(to: inspector, keeping: nil)
            }
        }
        return nil
    }

    /// Looks at all the payload that the source has; returns how much of it was taken.
    fileprivate func inspect(_ payload: Span<UInt8>) -> Int {
        guard !payload.isEmpty else { return 0 }
        if deadline == .max { begin() }
        if !held.isEmpty {
            held.append(copying: payload)
            let held = held
            read(held.span)
            return payload.count
        }
        guard read(payload) else {
            seen = payload.count
            return 0
        }
        // TLS that is incomplete is held, since it may be longer than the source can be.
        guard verdict == nil else { return 0 }
        held.append(copying: payload)
        return payload.count
    }

    /// Sets the deadline; the task waits already, and nothing else may wake it.
    private func begin() {
        deadline = slot.loop.deadline(in: timeout)
        if deadline < slot.deadline { slot.extend(to: deadline) }
    }

    /// Decides about the first bytes if it can; returns false when they are no TLS so far.
    @discardableResult
    private func read(_ bytes: Span<UInt8>) -> Bool {
        switch ClientHello.parse(bytes) {
        case .hello(let hello):
            self.hello = hello
            verdict = judge?.refusal(of: hello).map { .refused($0) } ?? .passes
            if let judge, !isStopped { watch = RecordWatch(judge) }
        case .unreadable: refuseUnreadable()
        case .needsMore: if bytes.count > ClientHello.wireBytesMax { refuseUnreadable() }
        case .notTLS:
            guard judge != nil else {
                verdict = .passes
                return true
            }
            guard let isHTTP = RequestBeginning.mightBeThere(bytes) else { return false }
            guard !isHTTP else {
                verdict = .http
                return true
            }
            passUnnamed()
            return !awaitsServer
        }
        return true
    }

    /// Decides about what is neither TLS nor HTTP: a lenient server may find another name in it.
    ///
    /// Servers for HTTP and TLS wait for the client, so one that speaks first is none of them.
    private func passUnnamed() {
        awaitsServer = judge?.refusesUnnamed == true && !hasHeardServer
        if !awaitsServer { verdict = .passes }
    }

    private func refuseUnreadable() {
        verdict = judge.map { .refused(.unreadable(at: $0.origin)) } ?? .passes
    }

    // MARK: BodySource

    func pull() throws(LupinError) -> BodyProgress {
        if verdict == nil, let progress = try look() { return progress }
        if isStopped { throw .stoppedTunnel }
        awaitsServer = false
        return passed < held.count ? .payload : try source.pull()
    }

    var hasNews: Bool {
        (verdict != nil && (passed < held.count || awaitsServer)) || source.hasNews
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard let watch, !watch.isDone else { return try pass(to: sink, keeping: replay) }
        watch.sink = sink
        defer { watch.sink = nil }
        do throws(LupinError) {
            return try pass(to: watch, keeping: replay)
        } catch {
            if let refusal = watch.refusal { verdict = .refused(refusal) }
            throw error
        }
    }

    private func pass(
        to sink: any BodySink,
        keeping replay: BodyReplay?
    ) throws(LupinError) -> Offer {
        guard passed < held.count else { return try source.offer(to: sink, keeping: replay) }
        let taken = try sink.push(held, from: passed, isLast: false, keeping: replay)
        passed += taken
        let isAllTaken = passed == held.count
        if isAllTaken {
            self.held = []
            passed = 0
        }
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: false)
    }

    var trailers: FieldSection { source.trailers }
    var knownLength: UInt64? { source.knownLength }
    var isGathering: Bool { source.isGathering }
    var spliceable: UInt64 {
        let isLooking = verdict == nil || passed < held.count || watch?.isDone == false
        return isLooking ? 0 : source.spliceable
    }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        try source.splice(into: pipe, count)
    }
}

/// Shows an opening what its source has.
private final class Inspector: BodySink {
    private let opening: ClientHelloSniffer

    init(_ opening: ClientHelloSniffer) { self.opening = opening }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        opening.inspect(payload)
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool { true }
    func flush() throws(LupinError) -> Bool { true }
}

/// Stands before the sink of what a TLS client sends, and stops it before it names a host that is
/// refused.
private final class RecordWatch: BodySink {
    var sink: (any BodySink)?
    private(set) var refusal: TunnelRefusal?
    private let judge: ServerNamePolicy
    private var records = ClientRecords()
    /// Whether the hello that began it all has passed.
    private var hasBegun = false
    /// How many bytes were looked at that the sink had no room for.
    private var ahead = 0

    init(_ judge: ServerNamePolicy) { self.judge = judge }

    var isDone: Bool { records.isDone && refusal == nil }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        let isKnown = min(ahead, payload.count)
        for finding in records.follow(payload.extracting(isKnown..<payload.count)) {
            if refusal == nil { refusal = judged(finding) }
        }
        guard refusal == nil else { throw .stoppedTunnel }
        let taken = try sink?.push(payload, isLast: isLast) ?? 0
        ahead = max(ahead, payload.count) - taken
        return taken
    }

    private func judged(_ finding: ClientRecords.Finding) -> TunnelRefusal? {
        defer { hasBegun = true }
        switch finding {
        case .hello(let hello): return hasBegun ? judge.refusal(of: hello)?.unannounced : nil
        case .unreadable: return .unreadable(at: judge.origin).unannounced
        case .notTLS:
            return judge.refusesUnnamed ? .unreadable(at: judge.origin).unannounced : nil
        }
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        try sink?.finish(trailers: trailers) ?? true
    }

    func flush() throws(LupinError) -> Bool { try sink?.flush() ?? true }
}

extension LupinError {
    /// Stops the relay of a tunnel whose verdict says why.
    fileprivate static let stoppedTunnel = LupinError(
        .tunnelNameDenied,
        detail: "The tunnel was stopped."
    )
}
