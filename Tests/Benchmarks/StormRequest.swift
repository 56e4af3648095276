// Which requests a storm sends: each follows from the storm's seed and its own number.
import LupinCore
import LupinWire

/// The numbers that a seed gives (splitmix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// One request of a storm.
struct StormRequest {
    let number: Int
    let id: RequestID
    let part: StormPart
    /// Length of the answer's body.
    let bytes: Int
    /// Length of the request's body, which is a POST then; 0 for a GET.
    private(set) var uploadBytes: Int
    /// The client leaves once it has so much of the answer's body; nil if it stays.
    let leavesAt: Int?

    /// Lengths of bodies, the usual ones more often than the rest.
    private static let lengths = [64, 1024, 1024, 1024, 1024, 4096, 16 << 10, 64 << 10]
    /// Most who leave do so while the origin pauses: a short answer is over at once.
    private static let faultsToLeave: [StormFault] = [.pause, .pause, .slow, .none]
    /// The origin takes a request as a whole.
    private static let uploadBytesMax = 8 << 10

    /// The request that has this number among those of the seed.
    init(_ number: Int, seed: UInt64) {
        var numbers = SeededNumbers(seed &+ UInt64(number) &* 0xD134_2543_DE82_EF95)
        self.number = number
        id = Self.id(of: number, seed: seed)
        let lane = StormLane.allCases.randomElement(using: &numbers) ?? .plain
        let leaves = Int.random(in: 0..<15, using: &numbers) == 0
        let faults = leaves ? Self.faultsToLeave : lane.faults
        part = StormPart(lane, faults.randomElement(using: &numbers) ?? .none)
        bytes = Self.lengths.randomElement(using: &numbers) ?? 1024
        let isUpload = lane != .guarded && Int.random(in: 0..<8, using: &numbers) == 0
        let length = Self.lengths.randomElement(using: &numbers) ?? 1024
        uploadBytes = isUpload ? min(length, Self.uploadBytesMax) : 0
        let place = Int.random(in: 0..<bytes, using: &numbers)
        leavesAt = leaves ? place : nil
    }

    /// A plain request, with nothing out of the way.
    init(plain number: Int, seed: UInt64) {
        self.number = number
        id = Self.id(of: number, seed: seed)
        part = StormPart(.plain, .none)
        bytes = 1024
        uploadBytes = 0
        leavesAt = nil
    }

    /// Storms of different seeds, which are below 2^32, have no ID in common.
    static func id(of number: Int, seed: UInt64) -> RequestID {
        RequestID(number: seed << 32 | UInt64(number))
    }

    /// The same as a GET.
    var withoutBody: StormRequest {
        var request = self
        request.uploadBytes = 0
        return request
    }

    /// The client may leave before the head comes, which is late.
    ///
    /// Only where the proxy is sure to have the request then: by HTTP/2.
    var leavesEarly: Bool { leavesAt != nil && part.fault == .slow }

    var isUpload: Bool { uploadBytes > 0 }
    var mayFail: Bool { part.mayFail(isUpload: isUpload) }
    var method: Method { isUpload ? .post : .get }

    // MARK: Texts

    var pathAndQuery: String { "\(part.path)\(id)/\(bytes)?page=\(id)" }

    private var fields: [(name: String, value: String)] {
        [
            (name: "User-Agent", value: "lupin-bench"), (name: "X-Request-Id", value: "\(id)"),
            (name: "Cookie", value: "theme=dark; visit=\(id)"),
        ]
    }

    /// The whole request in HTTP/1.1; `prefix` stands before the path.
    func text(to authority: String, prefix: String, _ body: VariedText?) -> [UInt8] {
        var lines = "\(method.token) \(prefix)\(pathAndQuery) HTTP/1.1\r\nHost: \(authority)\r\n"
        for field in fields { lines += "\(field.name): \(field.value)\r\n" }
        if isUpload { lines += "Content-Length: \(uploadBytes)\r\n" }
        var text = Array((lines + "\r\n").utf8)
        body?.append(to: &text, for: ExchangeIDs(request: id, url: id))
        return text
    }

    /// The head in HTTP/2.
    var head: RequestHead {
        var head = RequestHead()
        head.pathAndQuery = head.fields.store(pathAndQuery)
        for field in fields { head.fields.add(name: field.name, value: field.value) }
        return head
    }

    /// What a failure says of the request.
    var description: String {
        let leaving = leavesAt.map { ", leaves at \($0)" } ?? ""
        let asked = "\(method.token) \(pathAndQuery), \(uploadBytes) bytes up"
        return "request \(number) (\(asked)\(leaving))"
    }
}
