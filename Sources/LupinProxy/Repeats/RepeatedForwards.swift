// Requests that are, byte for byte, like one that was forwarded a moment ago.
import LupinCore
import LupinIO
import LupinTLS
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
    let head: RepeatedHead
    /// The same, for one that came on a stream.
    let message: ParsedRequest?
    let digest: Int
    /// The response's head as it went out, with the Date that is due.
    private var answer: RepeatedAnswer
    /// Whether it has a Date that may change.
    private let isDated: Bool
    /// The same, as it goes out on streams; nil for one that does not.
    let answerMessage: PreparedHead?
    /// The response's head as it came last.
    private var response: [UInt8]
    /// The place of its only Date; nil where there is none.
    private let dateInResponse: Range<Int>?
    /// Where the pool keeps the connections that its streams go by.
    var shelf: StreamPool.Shelf?
    /// The number of the connection that was seen last to be like the one in the record.
    private var likeRecorded = 0
    /// When lupin's own Date was last written, in seconds since 1970; nil where it is the origin's.
    private var datedAt: Int64?
    /// The origin's Date, once it is another than that of the record.
    private(set) var date: String?
    /// The exchange as it ended; start, client and times are those of the last one.
    let record: RepeatedRecord
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
        let request: SentHead
        /// The response's head as it came.
        let response: KeptHead
        /// Bytes of the body behind it.
        let bodyBytes: Int
        /// The client said that the request is its last.
        let isLast: Bool
    }

    /// `fruitless` is how many before it were never used.
    init(
        _ known: Known,
        head: RepeatedHead,
        digest: Int,
        answer: RepeatedAnswer,
        _ record: RepeatedRecord,
        fruitless: Int
    ) {
        self.known = known
        self.head = head
        message = if case .message(let request) = head { request } else { nil }
        self.digest = digest
        self.answer = answer
        isDated = answer.isDated
        answerMessage = if case .message(let head) = answer { head } else { nil }
        self.record = record
        self.fruitless = fruitless
        response = known.response.bytes
        // One that went out as something else (folded, beside a second) is as fixed as the rest.
        dateInResponse = isDated ? known.response.date : nil
        let isOwn = record.copy.response?.fields.first(.date) == nil
        datedAt = isOwn ? .min : nil
    }

    // MARK: The response

    /// How long head and body are together.
    var responseBytes: Int { response.count + known.bodyBytes }

    /// Whether a response with all of that head is the same, but for its Date.
    func isHead(_ bytes: Span<UInt8>) -> Bool {
        bytes.count == response.count && agrees(with: bytes)
    }

    /// Whether a response that begins so may be the same, but for its Date.
    func agrees(with bytes: Span<UInt8>) -> Bool {
        let response = response
        let count = min(bytes.count, response.count)
        let known = response.span.extracting(first: count)
        guard let date = dateInResponse, count > date.lowerBound else { return known.begins(bytes) }
        guard known.extracting(first: date.lowerBound).begins(bytes) else { return false }
        let end = min(count, date.upperBound)
        if !known.extracting(date.lowerBound..<end).begins(bytes.extracting(date.lowerBound...)) {
            for i in date.lowerBound..<end where !HTTPDate.mayHold(bytes[i], for: known[i]) {
                return false
            }
        }
        return known.extracting(end...).begins(bytes.extracting(end...))
    }

    /// Gets the answer ready for a response with which it agrees.
    ///
    /// `second` is the current one, since 1970.
    func takeDate(of bytes: Span<UInt8>, second: Int64) {
        guard isDated else { return }
        if let datedAt {
            guard datedAt != second else { return }
            self.datedAt = second
            let text = HTTPDate.text(second)
            setAnswer(date: text.utf8Span.span)
            date = nil
        } else if let origins = dateInResponse {
            let new = bytes.extracting(origins)
            let response = response
            if response.span.extracting(origins).begins(new) { return }
            var changed: [UInt8] = []
            swap(&changed, &self.response)
            for i in 0..<origins.count { changed[origins.lowerBound + i] = new[i] }
            swap(&changed, &self.response)
            setAnswer(date: new)
            date = String(copying: new)
        }
    }

    private func setAnswer(date: Span<UInt8>) {
        var changed = RepeatedAnswer.bytes([], date: nil)
        swap(&changed, &answer)
        changed.set(date: date)
        swap(&changed, &answer)
    }

    /// Whether its record says of a connection to an origin under TLS what is true of this one.
    func isLikeRecorded(_ connection: UpstreamHTTP2) -> Bool {
        if connection.number == likeRecorded { return true }
        let secured = connection.secured
        let isAlike = record.withRecord {
            $0.trust == secured.trust && $0.attempts[0].tls == secured.filter.session.version
        }
        if isAlike { likeRecorded = connection.number }
        return isAlike
    }

    /// What goes out on HTTP/1.1.
    var answerBytes: [UInt8] { if case .bytes(let bytes, _) = answer { bytes } else { [] } }

    /// Notes that a request was answered by it.
    func noteUse() { isUsed = true }

    /// Whether an equal request of `client`, which goes past the cache for `pass`, is forwarded
    /// alike now.
    func holds(
        for client: Visitor,
        in resources: WorkerResources,
        _ pass: PassedStatus?
    ) -> Bool {
        record.holds(in: resources) && client.mayRepeat && known.pass == pass
    }
}

/// What of a client concerns requests that are like those of others; without its texts, whose
/// copies cost more than all that is done with them.
struct Visitor {
    let address: IPAddress
    let port: UInt16
    let isLocal: Bool
    /// Whether it may do what equal requests of others did: nobody has to ask who it is.
    let mayRepeat: Bool
}

extension Client {
    var visitor: Visitor {
        Visitor(
            address: address,
            port: port,
            isLocal: isLocal,
            mayRepeat: isAdmitted && user == nil
        )
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
    /// Bytes of the heads of one: each is there in several forms.
    private static let headBytesMax = 8 << 10

    /// What is known of a request with that head.
    func forward(_ head: Span<UInt8>, _ digest: Int) -> RepeatedForward? {
        let forwards = forwards
        guard let forward = forwards[digest] else { return nil }
        return forward.head.isSame(as: head) ? forward : nil
    }

    /// What is known of an equal request that came on a stream.
    func forward(_ request: ParsedRequest, _ digest: Int) -> RepeatedForward? {
        let forwards = forwards
        guard let forward = forwards[digest] else { return nil }
        guard let known = forward.message, request.hasHead(of: known) else { return nil }
        return forward
    }

    /// Whether it is worth while to look at responses to requests with that digest.
    func isWanted(_ digest: Int, now: UInt64) -> Bool {
        guard let end = useless[digest] else { return true }
        if now < end { return false }
        useless[digest] = nil
        return true
    }

    /// How many were made for that digest, the last ones in a row, and never used.
    func fruitless(_ digest: Int) -> Int {
        let forwards = forwards
        guard let former = forwards[digest] else { return 0 }
        return former.isUsed ? 0 : former.fruitless + 1
    }

    /// Keeps one instead of an older one with the same digest.
    func remember(_ forward: RepeatedForward, on loop: EventLoop) {
        let known = forward.known
        if forward.fruitless >= Self.fruitlessMax
            || known.request.count + known.response.bytes.count > Self.headBytesMax
        {
            return giveUp(forward.digest, on: loop)
        }
        change {
            if $0.count >= Self.forwardsMax { $0 = [:] }
            $0[forward.digest] = forward
        }
    }

    /// Whether one is there already that was made of the same response.
    func knows(_ response: KeptHead, _ digest: Int) -> Bool {
        let forwards = forwards
        return forwards[digest].map { $0.isHead(response.bytes.span) } ?? false
    }

    func forget(_ digest: Int) { change { $0[digest] = nil } }

    /// Looks at no response to requests with that digest for a while.
    func giveUp(_ digest: Int, on loop: EventLoop) {
        forget(digest)
        if useless.count >= Self.forwardsMax { useless = [:] }
        useless[digest] = loop.deadline(in: Self.uselessTime)
    }

    /// Moves what is known out and back, as who looks something up takes a copy: accesses that
    /// nothing can meet are not checked at run time.
    private func change(_ change: (inout [Int: RepeatedForward]) -> Void) {
        var forwards: [Int: RepeatedForward] = [:]
        swap(&forwards, &self.forwards)
        change(&forwards)
        swap(&forwards, &self.forwards)
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
    var sent: SentHead?
    /// The request was sent before there was an exchange.
    var underWay: ForwardUnderWay?
}

extension Exchange {
    /// What equal requests may be forwarded by; nil where more than their heads decide, or somebody
    /// wants to see every exchange.
    ///
    /// Its two heads are empty where nobody kept them.
    var knownForRepeats: RepeatedForward.Known? {
        guard isDelivered, enclosure == nil, downstream.mayPersist || downstream.isLastRequest,
            attempts.count == 1, attempts[0].isReused, attempts[0].decision == .deliver,
            request.method == .get, request.version != .http10, framing.isEmpty, !expectsContinue,
            wishes.upgrade == nil, client.user == nil, snapshot.repeatsRequests,
            resources.shared.interceptor == nil, stages == nil, !isObserved,
            logLevel == .exchange, !hasMoved, record.outcome == .ok,
            plan.map(\.leavesAlone) ?? true, plan?.cache == nil || passed != nil,
            // Time is looked at ten times a second only.
            min(waits.responseHeader, waits.total ?? .max) >= Self.repeatedPatience
        else { return nil }
        guard let target = notes.target, snapshot.isDirect, !isForOwner(at: target.origin),
            let upstream = upstream as? any RepeatingUpstream, mayRepeat(on: upstream, to: target),
            !needsVerdict(attempts[0].status),
            // The values in its line would be another response's.
            record.headers == .names || record.headers == .none,
            let bodyBytes = upstream.responseBody.knownLength,
            bodyBytes <= UInt64(min(Self.repeatedBodyMax, upstream.windowBytes)),
            bodyBytes == passedAtOnce
        else { return nil }
        return RepeatedForward.Known(
            target: target,
            pass: passed,
            request: notes.sent ?? .bytes([]),
            response: upstream.keptHead,
            bodyBytes: Int(bodyBytes),
            isLast: downstream.isLastRequest
        )
    }

    /// Whether equal requests may go by such a connection, too.
    private func mayRepeat(on upstream: any RepeatingUpstream, to target: KnownTarget) -> Bool {
        if let upstream = upstream as? UpstreamHTTP1 {
            return target.origin.scheme == .http && upstream.hop == target.directHop
                && upstream.mayPersist
        }
        // Only the lines of requests that came on streams leave room for the bytes of the stream.
        return target.origin.scheme == .https && upstream is UpstreamStream
            && downstream is DownstreamStream
    }

    /// Shorter timeouts are for exchanges, which keep them to the millisecond.
    private static let repeatedPatience: UInt64 = 1_000_000
    /// Head and body have to lie in one buffer.
    private static let repeatedBodyMax = InputBuffer.capacity / 2
}

extension Plan {
    /// Whether nothing is done to requests and responses, and nobody judges them or counts them.
    fileprivate var leavesAlone: Bool {
        isPassive && attachments.isEmpty && responseSteps.isEmpty && respond == nil
            && throttle == ThrottleSettings() && timeouts == TimeoutOverrides() && delay == nil
            && !judgesResponses && !countsAttempts && !resumes && hedge == nil && perTry == nil
            && proxy == nil && compress == nil && redirect == nil
    }
}
