// Requests that are, byte for byte, like one that was forwarded a moment ago.
import LupinCore
import LupinIO
import LupinWire

/// A request that went upstream, and the response to it, for requests that are equal.
///
/// What polls, checks health or loads a server asks for the same in the same words. What was worked
/// out for the first of two equal requests (target, plan, head upstream, record) holds for the
/// second, by the same rules; and so does what was worked out for its response, if that begins with
/// the same head, but for its Date. Everything else is an ordinary exchange, from wherever it began
/// to differ.
final class RepeatedForward {
    let known: Known
    /// The request's head as it came, and its digest.
    let head: [UInt8]
    let digest: Int
    let snapshot: Snapshot
    /// The response's head as it went out, with the Date that is due.
    private(set) var answer: [UInt8]
    /// The response's head as it came last.
    private var response: [UInt8]
    /// The places of the only Date in the two heads; nil where there is none.
    private let dateInResponse: Range<Int>?
    private let dateInAnswer: Range<Int>?
    /// When lupin's own Date was last written, in seconds since 1970; nil where it is the origin's.
    private var datedAt: Int64?
    /// The origin's Date, once it is another than that of the record.
    private(set) var date: String?
    /// The exchange as it ended; id, start, client and times are those of the last one.
    private var record: ExchangeRecord?
    /// The part of its line in the log that is the same for all.
    let line: [UInt8]
    /// Which secrets the line hides.
    let secrets: Int
    /// As history keeps it; nil where there is none.
    let entry: ExchangeHistory.Entry?
    /// Whether a request was answered by it.
    private(set) var isUsed = false
    /// How many before it were never used, since every response had a head of its own.
    fileprivate let fruitless: Int

    /// What an exchange knows of its request and response in the end.
    struct Known {
        let target: KnownTarget
        /// Why the request went past the cache; nil where no rule has one for it.
        let pass: PassedStatus?
        /// The request's head as it went upstream.
        let request: [UInt8]
        /// The response's head as it came.
        let response: [UInt8]
        /// Bytes of the body behind it.
        let bodyBytes: Int
    }

    init(
        _ known: Known,
        head: [UInt8],
        digest: Int,
        answer: [UInt8],
        _ record: ExchangeRecord,
        _ resources: WorkerResources,
        _ snapshot: Snapshot
    ) {
        self.known = known
        self.head = head
        self.digest = digest
        self.answer = answer
        response = known.response
        dateInResponse = HTTPDate.place(in: response.span)
        dateInAnswer = HTTPDate.place(in: answer.span)
        datedAt = record.response?.fields.first(.date) == nil ? .min : nil
        self.record = record
        self.snapshot = snapshot
        line = resources.sink.repeatedPart(of: record)
        secrets = resources.shared.secrets.current
        entry = resources.keepsHistory ? ExchangeHistory.Entry(record, changed: nil) : nil
        fruitless = resources.repeatedForwards.fruitless(digest)
    }

    /// Lends the record, which is moved and never copied: its copy costs more than its line.
    func withRecord(_ body: (inout ExchangeRecord) -> Void) {
        var lent: ExchangeRecord?
        swap(&lent, &record)
        guard var record = lent.take() else { return }
        body(&record)
        self.record = consume record
    }

    // MARK: The response

    /// How long head and body are together.
    var responseBytes: Int { response.count + known.bodyBytes }

    /// Whether a response that begins so may be the same, but for its Date.
    func agrees(with bytes: Span<UInt8>) -> Bool {
        let response = response
        let count = min(bytes.count, response.count)
        let known = response.span.extracting(first: count)
        guard let date = dateInResponse, count > date.lowerBound else { return known.begins(bytes) }
        guard known.extracting(first: date.lowerBound).begins(bytes) else { return false }
        let end = min(count, date.upperBound)
        if !known.extracting(date.lowerBound..<end).begins(bytes.extracting(date.lowerBound...)) {
            for i in date.lowerBound..<end where !HTTPDate.mayHold(bytes[i]) { return false }
        }
        return known.extracting(end...).begins(bytes.extracting(end...))
    }

    /// Gets the answer ready for a response with which it agrees.
    ///
    /// `second` is the current one, since 1970.
    func takeDate(of bytes: Span<UInt8>, second: Int64) {
        guard let place = dateInAnswer else { return }
        if let datedAt {
            guard datedAt != second else { return }
            self.datedAt = second
            let text = HTTPDate.text(second)
            write(text.utf8Span.span, at: place)
            date = nil
        } else if let origins = dateInResponse {
            let new = bytes.extracting(origins)
            if response.span.extracting(origins).begins(new) { return }
            for i in 0..<origins.count { response[origins.lowerBound + i] = new[i] }
            write(new, at: place)
        }
    }

    private func write(_ text: Span<UInt8>, at place: Range<Int>) {
        for i in 0..<min(text.count, place.count) { answer[place.lowerBound + i] = text[i] }
        date = String(copying: text)
    }

    /// Notes that a request was answered by it.
    func noteUse() { isUsed = true }

    /// A copy of the record.
    var copiedRecord: ExchangeRecord? { record }

    /// Whether an equal request of `client` is forwarded alike now.
    func holds(
        for client: borrowing Client,
        by snapshot: Snapshot,
        _ secrets: Int,
        isPassed: Bool
    ) -> Bool {
        self.snapshot === snapshot && self.secrets == secrets && client.isAdmitted
            && client.user == nil && (known.pass != nil) == isPassed
    }
}

/// What one worker remembers of such requests.
final class RepeatedForwards {
    private var forwards: [Int: RepeatedForward] = [:]
    /// Digests of heads that are not worth it, and until when.
    private var useless: [Int: UInt64] = [:]

    private static let forwardsMax = 512
    /// So many in a row may be of no use before that is enough.
    private static let fruitlessMax = 3
    private static let uselessTime = Duration.seconds(10)

    /// What is known of a request with that head.
    func forward(_ head: Span<UInt8>, _ digest: Int) -> RepeatedForward? {
        guard let forward = forwards[digest] else { return nil }
        let known = forward.head
        return known.span.begins(head) ? forward : nil
    }

    /// Whether it is worth while to look at responses to requests with that digest.
    func isWanted(_ digest: Int, now: UInt64) -> Bool {
        guard let end = useless[digest] else { return true }
        if now < end { return false }
        useless[digest] = nil
        return true
    }

    fileprivate func fruitless(_ digest: Int) -> Int {
        guard let former = forwards[digest] else { return 0 }
        return former.isUsed ? 0 : former.fruitless + 1
    }

    /// Keeps one instead of an older one with the same digest.
    func remember(_ forward: RepeatedForward, on loop: EventLoop) {
        if forward.fruitless >= Self.fruitlessMax {
            return giveUp(forward.digest, on: loop)
        }
        if forwards.count >= Self.forwardsMax { forwards = [:] }
        forwards[forward.digest] = forward
    }

    /// Whether one is there already that was made of the same response.
    func knows(_ response: [UInt8], _ digest: Int) -> Bool {
        let known = forwards[digest]
        return known.map { $0.agrees(with: response.span) } ?? false
    }

    func forget(_ digest: Int) { forwards[digest] = nil }

    /// Looks at no response to requests with that digest for a while.
    func giveUp(_ digest: Int, on loop: EventLoop) {
        forget(digest)
        if useless.count >= Self.forwardsMax { useless = [:] }
        useless[digest] = loop.deadline(in: Self.uselessTime)
    }

    /// Forgets everything: other rules hold.
    func forgetAll() {
        forwards = [:]
        useless = [:]
    }
}

/// What an exchange notes for requests that are equal to its own.
struct RepetitionNotes {
    enum Wanted {
        case none
        /// Whether they could be forwarded without an exchange.
        case answer
        /// And what it takes.
        case all
    }

    var wanted = Wanted.none
    /// Where the request went.
    var target: KnownTarget?
    /// Its head as it went upstream.
    var sent: [UInt8] = []
    /// The request was sent before there was an exchange.
    var underWay: ForwardUnderWay?
}

extension Exchange {
    /// What equal requests may be forwarded by; nil where more than their heads decide, or somebody
    /// wants to see every exchange.
    ///
    /// Its two heads are empty where nobody kept them.
    var knownForRepeats: RepeatedForward.Known? {
        guard isDelivered, enclosure == nil, downstream is DownstreamHTTP1, downstream.mayPersist,
            attempts.count == 1, attempts[0].isReused, attempts[0].decision == .deliver,
            request.method == .get, request.version == .http11, framing.isEmpty, !expectsContinue,
            wishes.upgrade == nil, client.user == nil, snapshot.repeatsRequests,
            resources.shared.interceptor == nil, stages == nil, !isObserved,
            logLevel == .exchange, !hasMoved, record.outcome == .ok,
            plan.map(\.leavesAlone) ?? true, plan?.cache == nil || passed != nil
        else { return nil }
        guard let target = notes.target, target.origin.scheme == .http, snapshot.isDirect,
            let upstream = upstream as? UpstreamHTTP1, upstream.hop == target.directHop,
            // The values in its line would be another response's.
            record.headers == .names || record.headers == .none,
            let bodyBytes = upstream.responseBody.knownLength,
            bodyBytes <= UInt64(Self.repeatedBodyMax), bodyBytes == passedAtOnce
        else { return nil }
        return RepeatedForward.Known(
            target: target,
            pass: passed,
            request: notes.sent,
            response: upstream.keptHead,
            bodyBytes: Int(bodyBytes)
        )
    }

    /// Head and body have to lie in one buffer.
    private static let repeatedBodyMax = InputBuffer.capacity / 2
}

extension Plan {
    /// Whether nothing is done to requests and responses, and nobody judges them or counts them.
    fileprivate var leavesAlone: Bool {
        isPassive && !injectsCredentials && responseSteps.isEmpty && respond == nil
            && throttle == ThrottleSettings() && timeouts == TimeoutOverrides() && delay == nil
            && !judgesResponses && !countsAttempts && !resumes && hedge == nil && perTry == nil
            && proxy == nil && compress == nil && redirect == nil
    }
}
