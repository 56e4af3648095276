// What stories about credentials have in common: a token server, and an origin that is choosy.
import LupinTestKit
import Synchronization

/// A token server (RFC 6749) that issues `t1`, `t2` and so on.
final class TokenServer: Sendable {
    /// What it does with a request.
    struct Manners: Sendable {
        /// Seconds that a token lives; nil says nothing about it.
        var life: Int? = 3600
        /// A new refresh token, `r1`, `r2` and so on, with every token; the old one is dead then.
        var rotates = false
        /// Answers so instead of issuing anything.
        var refusal: (status: Int, body: String)?
        /// Rung for every answer that may go; nil answers at once.
        var gate: Bell?
    }

    fileprivate struct State {
        var manners: Manners
        var forms: [String] = []
        var fields: [ScriptedMessage] = []
        var issued = 0
        var refreshToken = "seed"
    }

    private let state: Mutex<State>
    private let scripted: Mutex<ScriptedOrigin?>
    /// Rung for every request that came.
    let asked = Bell()

    init(_ manners: Manners = Manners()) throws {
        state = Mutex(State(manners: manners))
        scripted = Mutex(nil)
        let origin = try ScriptedOrigin { [unowned self] connection in
            while let request = try connection.nextRequest() {
                try answer(request, connection)
            }
        }
        scripted.withLock { $0 = origin }
    }

    convenience init(life: Int?, rotates: Bool = false, gate: Bell? = nil) throws {
        try self.init(Manners(life: life, rotates: rotates, gate: gate))
    }

    private func answer(_ request: ScriptedMessage, _ connection: OriginConnection) throws {
        let manners = state.withLock { state in
            state.forms.append(request.bodyText)
            state.fields.append(request)
            return state.manners
        }
        asked.ring()
        if let gate = manners.gate { _ = gate.wait() }
        let (status, body) = state.withLock { $0.answer(to: request.bodyText) }
        try connection.reply(status, "Content-Type: application/json", body: body)
    }

    var authority: String { scripted.withLock { $0?.authority ?? "" } }
    var url: String { "http://\(authority)/token" }
    /// The forms of all requests.
    var forms: [String] { state.withLock { $0.forms } }
    /// The requests as they came.
    var requests: [ScriptedMessage] { state.withLock { $0.fields } }
    var count: Int { forms.count }
    /// Changes what it does from now on.
    func change(_ body: (inout Manners) -> Void) { state.withLock { body(&$0.manners) } }
    /// The refresh token that it takes.
    func expect(_ refreshToken: String) { state.withLock { $0.refreshToken = refreshToken } }
    var isStopped: Bool { scripted.withLock { $0 == nil } }

    func stop() {
        let origin = scripted.withLock { scripted in
            defer { scripted = nil }
            return scripted
        }
        origin?.stop()
    }
}

extension TokenServer.State {
    fileprivate mutating func answer(to form: String) -> (status: Int, body: String) {
        if let refusal = manners.refusal { return refusal }
        if form.contains("grant_type=refresh_token") {
            guard form.split(separator: "&").contains("refresh_token=\(refreshToken)") else {
                return (400, #"{"error":"invalid_grant"}"#)
            }
        }
        issued += 1
        var parts = [#""access_token":"t\#(issued)""#, #""token_type":"Bearer""#]
        if let life = manners.life { parts.append(#""expires_in":\#(life)"#) }
        if manners.rotates {
            refreshToken = "r\(issued)"
            parts.append(#""refresh_token":"\#(refreshToken)""#)
        }
        return (200, "{\(parts.joined(separator: ","))}")
    }
}

/// What an origin accepts, changed by the test while it runs.
final class Accepted: Sendable {
    private let tokens: Mutex<Set<String>>
    private let count = Mutex(0)

    init(_ tokens: Set<String>) { self.tokens = Mutex(tokens) }

    func set(_ next: Set<String>) { tokens.withLock { $0 = next } }

    /// Whether a request has one of the tokens; each asked is counted.
    func admits(_ request: ScriptedMessage) -> Bool {
        count.withLock { $0 += 1 }
        let value = request["authorization"] ?? ""
        return tokens.withLock { $0.contains(String(value.dropFirst("Bearer ".count))) }
    }

    /// Requests so far.
    var asked: Int { count.withLock { $0 } }
}

extension ProxyFixture {
    /// An origin that answers with the body of the request, or with 401 and `refusal`.
    func guardedOrigin(
        _ accepted: Accepted,
        refusal: String = "who are you?",
        atRefusal: @escaping @Sendable () throws -> Void = {}
    ) throws -> ScriptedOrigin {
        try origin { connection in
            while let request = try connection.nextRequest() {
                if accepted.admits(request) {
                    let body = request.body.isEmpty ? "welcome" : request.bodyText
                    try connection.reply(body: body)
                } else {
                    try atRefusal()
                    let challenge = #"WWW-Authenticate: Bearer error="invalid_token""#
                    try connection.reply(401, challenge, body: refusal)
                }
            }
        }
    }

    /// Sends the same GET on `count` connections at once, and reads the answers afterwards.
    func storm(_ count: Int, _ url: String) throws -> [ScriptedMessage] {
        let clients = try (0..<count).map { _ in try client() }
        for client in clients { try client.send("GET", url) }
        return try clients.map { try $0.response() }
    }
}
