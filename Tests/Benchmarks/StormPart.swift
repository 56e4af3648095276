// What a storm's request asks to go wrong, and which outcomes it then allows.
import LupinCore

/// What goes wrong with an answer, as the request's path asks for it.
///
/// What breaks a connection happens the first time an origin sees a request; when it is sent again,
/// it is answered well.
enum StormFault: String, CaseIterable, Codable {
    case none
    /// The connection ends before the answer.
    case closed
    /// The connection is reset before the answer.
    case reset
    /// The connection ends in the middle of the head.
    case cutHead = "cut-head"
    /// The connection ends in the middle of the body, whose Content-Length is not met.
    case cutBody = "cut-body"
    /// 503 the first time.
    case unavailable
    /// The answer comes after 50 to 200 ms.
    case slow
    /// So long a pause is in the middle of the body.
    case pause
    /// 103 comes first.
    case interim
    case chunked
    /// The answer says that the connection ends behind it.
    case last
    /// The connection ends behind the answer, which doesn't say so.
    case lastUnsaid = "last-unsaid"
    /// The credential that came is not valid any more: 401.
    case revoked
}

/// Which of the rules a request falls under.
enum StormLane: String, CaseIterable, Codable {
    /// Nothing is sent again that may have been processed.
    case plain
    /// What fails is sent again.
    case retried
    /// Gets lupin's credentials.
    case guarded

    /// What may be asked for, the usual more often than the rest.
    var faults: [StormFault] {
        let usual = [StormFault](repeating: .none, count: 20)
        let harmless: [StormFault] = [.slow, .pause, .interim, .chunked, .chunked, .last]
        return usual + harmless
            + {
                switch self {
                case .plain: [.closed, .reset, .cutHead, .cutBody, .cutBody, .lastUnsaid]
                case .retried: [.closed, .reset, .cutHead, .unavailable, .unavailable]
                case .guarded: [.revoked, .lastUnsaid]
                }
            }()
    }
}

/// The part of a storm that a request has, as its path says it: `/storm/LANE/FAULT/`.
struct StormPart: Hashable, Codable {
    var lane: StormLane
    var fault: StormFault

    static let folder = "/storm/"

    init(_ lane: StormLane, _ fault: StormFault) {
        self.lane = lane
        self.fault = fault
    }

    /// Reads a path, or the URL that ends with it; nil for one of another kind.
    init?(path: Span<UInt8>) {
        let words = String(copying: path).split(separator: "/")
        guard words.count >= 3, words[words.count - 3] == "storm",
            let lane = StormLane(rawValue: String(words[words.count - 2])),
            let fault = StormFault(rawValue: String(words[words.count - 1]))
        else { return nil }
        self.init(lane, fault)
    }

    var path: String { "\(Self.folder)\(lane.rawValue)/\(fault.rawValue)/" }

    /// Whether lupin may answer with an error of its own.
    func mayFail(isUpload: Bool) -> Bool {
        guard lane == .plain else { return false }
        switch fault {
        case .closed, .reset, .cutHead, .cutBody: return true
        // A connection kept for reuse may be over, and nobody knows what became of a POST then.
        default: return isUpload
        }
    }

    /// Whether the answer may end too early, visibly.
    var mayBeTruncated: Bool { fault == .cutBody }
}

/// What became of a request of a storm.
enum StormOutcome: String, CaseIterable, Codable {
    /// The answer that names it came, all of it.
    case answered
    /// lupin answered that something had failed.
    case failed
    /// The answer ended too early, and could be seen to.
    case truncated
    /// The client left in the middle of the answer.
    case left
}

/// What is wrong with lupin, or with the storm.
struct StormFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
