// What the origin of a storm does with a request, whatever it speaks.

/// A request of a storm as the origin got it.
struct StormVisit {
    let part: StormPart
    let id: RequestID
    /// Length of the answer's body.
    let bytes: Int
    /// What the rules have set; empty for nothing.
    let version: String
    let versionAgain: String
    let authorization: String
    let key: String

    /// Nil for a demand that is no storm's; `value` gives the request's fields by name.
    init?(_ demand: Demand, _ value: (String) -> String?) {
        guard let part = demand.storm, let id = demand.id else { return nil }
        self.part = part
        self.id = id
        bytes = demand.bytes
        version = value(StormField.version) ?? ""
        versionAgain = value(StormField.versionAgain) ?? ""
        authorization = value("Authorization") ?? ""
        key = value(StormField.key) ?? ""
    }

    /// What the answer says of the credentials.
    private var credentials: String {
        let hasToken = authorization.hasPrefix("Bearer \(StormField.tokenStart)")
        let hasKey = key.hasPrefix(StormField.keyStart)
        if hasToken, hasKey { return StormField.bothCredentials }
        if authorization.isEmpty, key.isEmpty { return StormField.noCredentials }
        return "token: \(hasToken), key: \(hasKey)"
    }

    /// The fields of the answer that tell how the request came.
    var echo: [(name: String, value: String)] {
        [
            (name: StormField.credentials, value: credentials),
            (name: StormField.version, value: version),
            (name: StormField.versionAgain, value: versionAgain),
        ]
    }
}

/// What an origin does with one request.
enum StormAct {
    /// A good answer.
    case answer
    /// 401: the credential is not valid any more.
    case refuse
    /// 503.
    case fail
    /// The end of the connection before the answer; `isReset` makes it a rough one.
    case vanish(isReset: Bool)
    /// The end in the middle of the head.
    case cutHead
    /// The end behind so many bytes of the body.
    case cutBody(Int)
    /// The answer after a pause.
    case delay(milliseconds: Int)
    /// A pause behind so many bytes of the body.
    case pause(Int, milliseconds: Int)
    /// The answer after an interim one.
    case hint
    /// The answer, in chunks.
    case chunk
    /// The answer, and the end of the connection; `isSaid` announces it.
    case leave(isSaid: Bool)
}

/// What all connections of an origin in a storm have in common.
final class StormOrigin {
    private var numbers: SeededNumbers
    /// Requests whose fault has happened.
    private var seen: Set<RequestID> = []
    /// The last credential that was declared invalid, and when.
    private var revoked: (authorization: String, at: UInt64)?

    /// Longer than a request ever waits: its second credential must not be invalid, too.
    private static let revocationSeconds: UInt64 = 5

    /// A connection of HTTP/2 ends as soon as everything is sent, without a look at the peer.
    let isAbrupt: Bool

    init(seed: UInt64, isAbrupt: Bool) {
        numbers = SeededNumbers(seed)
        self.isAbrupt = isAbrupt
    }

    /// What happens to a request; `now` is in microseconds of any clock.
    func act(on visit: StormVisit, now: UInt64) -> StormAct {
        if visit.part.lane == .guarded, isRefused(visit, now: now) { return .refuse }
        switch visit.part.fault {
        case .closed: return isFirst(visit) ? .vanish(isReset: false) : .answer
        case .reset: return isFirst(visit) ? .vanish(isReset: true) : .answer
        case .cutHead: return isFirst(visit) ? .cutHead : .answer
        case .cutBody: return isFirst(visit) ? .cutBody(place(in: visit)) : .answer
        case .unavailable: return isFirst(visit) ? .fail : .answer
        case .none, .revoked: return .answer
        case .slow: return .delay(milliseconds: milliseconds())
        case .pause: return .pause(place(in: visit), milliseconds: milliseconds())
        case .interim: return .hint
        case .chunked: return .chunk
        case .last: return .leave(isSaid: true)
        case .lastUnsaid: return .leave(isSaid: false)
        }
    }

    /// A number of the seed's.
    func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &numbers) }

    private func isFirst(_ visit: StormVisit) -> Bool { seen.insert(visit.id).inserted }
    private func place(in visit: StormVisit) -> Int { number(in: 0..<visit.bytes) }
    private func milliseconds() -> Int { number(in: 50..<200) }

    /// Whether its credential is not valid any more, by this request or an earlier one.
    private func isRefused(_ visit: StormVisit, now: UInt64) -> Bool {
        if let revoked, revoked.authorization == visit.authorization { return true }
        let next = revoked.map { $0.at + Self.revocationSeconds * 1_000_000 } ?? 0
        guard visit.part.fault == .revoked, now >= next else { return false }
        revoked = (visit.authorization, now)
        return true
    }
}
