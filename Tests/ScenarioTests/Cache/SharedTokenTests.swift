// Several lupins share one rotating refresh token: each response of its server is used by all.
import Foundation
import LupinTestKit
import Synchronization
import Testing

/// A token server that takes each refresh token once.
private final class RotatingServer: Sendable {
    private struct State {
        var refreshToken = "seed-of-the-refresh-token"
        var issued = 0
        var refused = 0
    }

    private let state = Mutex(State())

    var issued: Int { state.withLock { $0.issued } }
    var refused: Int { state.withLock { $0.refused } }

    func serve(_ connection: OriginConnection, life: Int = 3600) throws {
        while let request = try connection.nextRequest() {
            let answer: String? = state.withLock { state in
                guard request.bodyText.contains("refresh_token=\(state.refreshToken)") else {
                    state.refused += 1
                    return nil
                }
                state.issued += 1
                state.refreshToken = "rotated-refresh-token-\(state.issued)"
                return """
                    {"access_token": "access-token-\(state.issued)", "token_type": "Bearer",
                    "expires_in": \(life), "refresh_token": "\(state.refreshToken)"}
                    """
            }
            if let answer {
                try connection.reply(200, "Content-Type: application/json", body: answer)
            } else {
                let error = "{\"error\": \"invalid_grant\"}"
                try connection.reply(400, "Content-Type: application/json", body: error)
            }
        }
    }
}

@Suite(.enabled(if: RedisServer.isInstalled, "needs Debian's redis-tools"))
struct SharedTokenTests {
    /// How often the token of ten machines expires; `LUPIN_TOKEN_ROUNDS=1000` is the long trial.
    private static let rounds =
        ProcessInfo.processInfo.environment["LUPIN_TOKEN_ROUNDS"].flatMap(Int.init) ?? 15

    private func rules(_ server: RedisServer, _ token: ScriptedOrigin) -> String {
        let shared =
            "url: \"\(server.url)\", key: \"0123456789abcdef0123456789abcdef\", timeout: 10s"
        let url = token.url("/token").replacingOccurrences(of: "127.0.0.1", with: "localhost")
        return """
            cache: {store: {shared: {\(shared)}}}
            tokens:
              acme:
                oauth2:
                  grant: refresh_token
                  url: "\(url)"
                  client: {id: lupin}
                  refresh_token: seed-of-the-refresh-token
                  share: true
                refresh: {window: none}
            rules: [{match: 127.0.0.1, request: [{auth: acme}]}]
            """
    }

    /// An API that refuses the tokens in `refused`, and tells which it got.
    private func api(
        _ proxy: ProxyFixture,
        refusing refused: Set<String> = []
    ) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                let token = request["Authorization"] ?? ""
                let isRefused = refused.contains(token)
                try connection.reply(isRefused ? 401 : 200, body: token)
            }
        }
    }

    @Test func `one machine refreshes, the others take what it got`() async throws {
        let server = try RedisServer()
        let rotating = RotatingServer()
        let token = try ScriptedOrigin { try rotating.serve($0) }
        defer { token.stop() }
        for _ in 0..<3 {
            try await ProxyFixture.run(rules(server, token), resolve: ProxyFixture.here) { proxy in
                let answer = try proxy.client().get(try api(proxy).url())
                #expect(answer.bodyText == "Bearer access-token-1")
            }
        }
        #expect(rotating.issued == 1 && rotating.refused == 0)
        // Nobody who reads the server learns a token.
        let key = try #require(try server.keys(":t").first)
        let stored = try server.ask("GET", key)
        #expect(!stored.contains("token") && !stored.contains("seed"))
    }

    @Test func `a refused token is refreshed from the last refresh token of all`() async throws {
        let server = try RedisServer()
        let rotating = RotatingServer()
        let token = try ScriptedOrigin { try rotating.serve($0) }
        defer { token.stop() }
        for number in 1...3 {
            let refused = Set((1..<number).map { "Bearer access-token-\($0)" })
            try await ProxyFixture.run(rules(server, token), resolve: ProxyFixture.here) { proxy in
                let answer = try proxy.client().get(try api(proxy, refusing: refused).url())
                #expect(answer.bodyText == "Bearer access-token-\(number)")
            }
        }
        #expect(rotating.issued == 3 && rotating.refused == 0)
    }

    @Test func `two machines that need a token at once refresh it once`() async throws {
        let server = try RedisServer()
        let rotating = RotatingServer()
        let token = try ScriptedOrigin { try rotating.serve($0) }
        defer { token.stop() }
        let rules = rules(server, token)
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { one in
            try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { other in
                let origin = try api(one)
                let clients = try [one.client(), other.client(), one.client(), other.client()]
                for client in clients { try client.send("GET", origin.url(), []) }
                for client in clients {
                    #expect(try client.response().bodyText == "Bearer access-token-1")
                }
            }
        }
        #expect(rotating.issued == 1 && rotating.refused == 0)
    }

    @Test func `ten machines refresh an expired token once, and no client gets a 401`() async throws
    {
        let server = try RedisServer()
        let rotating = RotatingServer()
        let token = try ScriptedOrigin { try rotating.serve($0) }
        defer { token.stop() }
        try await withMachines(10, rules(server, token)) { machines in
            // The API knows the token of the round alone.
            let valid = Mutex("")
            let origin = try machines[0].origin { connection in
                while let request = try connection.nextRequest() {
                    let sent = request["Authorization"] ?? ""
                    let isValid = valid.withLock { $0 == sent }
                    try connection.reply(isValid ? 200 : 401, body: sent)
                }
            }
            let clients = try machines.map { try $0.client() }
            for round in 1...Self.rounds {
                valid.withLock { $0 = "Bearer access-token-\(round)" }
                for client in clients { try client.send("GET", origin.url(), []) }
                let answers = try clients.map { try $0.response() }
                try #require(answers.allSatisfy { $0.status == 200 }, "round \(round)")
                try #require(rotating.issued == round && rotating.refused == 0)
            }
        }
    }

    /// Runs `body` with so many proxies that have the same rules.
    private func withMachines(
        _ count: Int,
        _ rules: String,
        _ machines: [ProxyFixture] = [],
        _ body: @Sendable @escaping ([ProxyFixture]) async throws -> Void
    ) async throws {
        guard machines.count < count else { return try await body(machines) }
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            try await withMachines(count, rules, machines + [proxy], body)
        }
    }

    @Test func `a store that is gone costs no token`() async throws {
        let server = try RedisServer()
        server.end()
        let rotating = RotatingServer()
        let token = try ScriptedOrigin { try rotating.serve($0) }
        defer { token.stop() }
        try await ProxyFixture.run(rules(server, token), resolve: ProxyFixture.here) { proxy in
            let answer = try proxy.client().get(try api(proxy).url())
            #expect(answer.bodyText == "Bearer access-token-1")
        }
    }
}
