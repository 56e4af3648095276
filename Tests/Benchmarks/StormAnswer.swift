// Whether an answer in a storm is the right one: what was expected, and what came.
import LupinCore
import LupinWire

/// The rules file that an answer was made under.
struct StormVersion {
    let number: Int

    /// How a rules file says its number, so that no other text is taken for one.
    var text: String { "\(number)-\(RequestID(number: UInt64(number)))" }

    init(_ number: Int) { self.number = number }

    /// Reads a text; nil for one that was in no rules file.
    init?(_ text: String) {
        guard let number = Int(text.prefix { $0 != "-" }), number > 0 else { return nil }
        self.number = number
        guard self.text == text else { return nil }
    }
}

/// Names of the fields that origin and load tell each other, and what they say.
enum StormField {
    /// Set by the first rule of the file, and by the last one: they are never of two versions.
    static let version = "X-Version"
    static let versionAgain = "X-Version-Again"
    /// What credentials the origin got.
    static let credentials = "X-Credentials"
    static let key = "X-Api-Key"
    static let requestID = "X-Request-Id"

    /// What the origin says where it got both credentials, and where it got none.
    static let bothCredentials = "token, key"
    static let noCredentials = "none"

    /// How lupin's credentials begin.
    static let tokenStart = "storm-token-"
    static let keyStart = "storm-key-"
}

/// The answer to a request, as much of it as has come.
struct StormAnswer {
    let request: StormRequest
    /// Whether the origin speaks HTTP/2.
    private let isFromHTTP2: Bool
    /// The version of the rules; nil before the head and in lupin's own answers.
    private(set) var version: StormVersion?
    /// What lupin says has failed; nil in the origin's answers.
    private(set) var error: String?
    /// Bytes of the body that have come.
    private(set) var received = 0
    private(set) var hasHead = false
    private var hasInterim = false

    init(to request: StormRequest, _ kind: StormClients) {
        self.request = request
        isFromHTTP2 = kind.isToHTTP2
    }

    /// The client has what it wanted, and leaves.
    var isLeft: Bool {
        guard hasHead, let place = request.leavesAt else { return false }
        return received >= place
    }

    mutating func take(_ head: ParsedResponse) throws(StormFailure) {
        let status = Int(head.status)
        let length = head.contentLength
        let isInterim = head.isInterim
        let fields = head.takeHead().fields
        let id = "\(request.id)"
        if isInterim {
            guard status == 103, request.part.fault == .interim, !hasInterim, !hasHead,
                fields.value(of: StormField.requestID) == id
            else { throw failure("no interim response", "\(status) \(fields.pairs)") }
            hasInterim = true
            return
        }
        guard !hasHead else { throw failure("no second head", "\(status) \(fields.pairs)") }
        hasHead = true
        if let text = fields.value(of: .proxyStatus) {
            return try takeError(status, text)
        }
        guard status == 200 else { throw failure("200", "\(status) \(fields.pairs)") }
        try expect(id, fields.value(of: StormField.requestID), as: StormField.requestID)
        try expect("\"\(id)\"", fields.value(of: .etag), as: "ETag")
        let isGuarded = request.part.lane == .guarded
        try expect(
            isGuarded ? StormField.bothCredentials : StormField.noCredentials,
            fields.value(of: StormField.credentials),
            as: StormField.credentials
        )
        let text = fields.value(of: StormField.version)
        version = text.flatMap(StormVersion.init)
        guard version != nil else {
            throw failure("a version of the rules", text ?? "none")
        }
        try expect(
            text ?? "",
            fields.value(of: StormField.versionAgain),
            as: StormField.versionAgain
        )
        if let length, length != UInt64(request.bytes) {
            throw failure("Content-Length \(request.bytes)", "\(length)")
        }
        if request.part.fault == .interim, !hasInterim {
            throw failure("103 before the answer", "none")
        }
    }

    mutating func take(_ payload: Span<UInt8>) throws(StormFailure) {
        guard hasHead else { throw failure("a head", "a body") }
        defer { received += payload.count }
        guard error == nil else { return }
        guard received + payload.count <= request.bytes else {
            throw failure("\(request.bytes) bytes of body", "more")
        }
        guard NamedBody.isRight(payload, from: received, for: request.id) else {
            let text = String(decoding: (0..<payload.count).map { payload[$0] }, as: UTF8.self)
            throw failure("a body that names the request", "at \(received): \(text.prefix(160))")
        }
    }

    /// What became of the request when the answer ended as it should.
    func end() throws(StormFailure) -> StormOutcome {
        guard error == nil else { return .failed }
        guard received == request.bytes else {
            throw failure("\(request.bytes) bytes of body", "\(received), and a proper end")
        }
        return .answered
    }

    /// What became of the request when the answer ended too early, for a reason.
    func breakOff(_ reason: String) throws(StormFailure) -> StormOutcome {
        guard hasHead, error == nil, request.part.mayBeTruncated else {
            let place = hasHead ? "after \(received) bytes of body" : "before the head"
            throw failure("an answer to its end", "its end \(place): \(reason)")
        }
        return .truncated
    }

    func failure(_ expected: String, _ found: String) -> StormFailure {
        StormFailure("\(request.description): expected \(expected), came \(found)")
    }

    private mutating func takeError(_ status: Int, _ text: String) throws(StormFailure) {
        let start = "lupin; error="
        // What two connections in a row refuse, since both are going away, fails: nobody but a rule
        // has lupin try a third time.
        let isRefused =
            isFromHTTP2 && request.part.lane != .retried && text.contains("is going away")
        guard text.hasPrefix(start), status == 502 || status == 504, request.mayFail || isRefused
        else {
            throw failure("200", "\(status), Proxy-Status: \(text)")
        }
        error = String(text.dropFirst(start.count).prefix { $0 != ";" })
    }

    private func expect(
        _ expected: String,
        _ found: String?,
        as name: String
    ) throws(StormFailure) {
        guard found == expected else {
            throw failure("\(name): \(expected)", found ?? "none")
        }
    }
}
