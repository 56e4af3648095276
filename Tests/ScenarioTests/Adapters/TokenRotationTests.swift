// Refresh tokens that change with every use: kept on the disk, over restarts and side by side.
import Foundation
import LupinTestKit
import Testing

struct TokenRotationTests {
    static func rules(_ server: TokenServer, store: String?, seed: String = "seed") -> String {
        """
        tokens:
          me:
            oauth2:
              grant: refresh_token
              url: "\(server.url)"
              client: {id: cli}
              refresh_token: "\(seed)"
              \(store.map { "store: \($0)" } ?? "")
        rules:
          - {name: api, match: {path: /api/**}, request: [{auth: me}]}
        """
    }

    private func run(
        _ rules: String,
        files: [String: [UInt8]] = [:],
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) async throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, files: files) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["authorization"] ?? "none")
                }
            }
            try await body(proxy, origin)
        }
    }

    @Test func `the rotated token is in the store, for its owner only, and outlives the proxy`()
        async throws
    {
        let server = try TokenServer(life: 3600, rotates: true)
        defer { server.stop() }
        let folder = try Folder()
        let file = folder.path + "/store.json"
        let rules = Self.rules(server, store: file)
        try await run(rules) { proxy, origin in
            let answer = try proxy.client().get(origin.url("/api/a"))
            #expect(answer.bodyText == "Bearer t1")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.int16Value == 0o600)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains(#""refresh_token": "r1""#))
        #expect(text.contains(#""client_id": "cli""#))
        #expect(!text.contains("\"seed\": \"seed\""))
        try await run(rules) { proxy, origin in
            let answer = try proxy.client().get(origin.url("/api/a"))
            #expect(answer.bodyText == "Bearer t2")
        }
        let used = server.forms.map { $0.contains("refresh_token=seed") ? "seed" : "r1" }
        #expect(used == ["seed", "r1"])
        #expect(server.forms.allSatisfy { $0.contains("client_id=cli") })
    }

    @Test func `a new seed in the rules file is used instead of the store`() async throws {
        let server = try TokenServer(life: 3600, rotates: true)
        defer { server.stop() }
        let folder = try Folder()
        let file = folder.path + "/store.json"
        try await run(Self.rules(server, store: file)) { proxy, origin in
            let answer = try proxy.client().get(origin.url("/api/a"))
            #expect(answer.status == 200)
        }
        server.expect("fresh")
        try await run(Self.rules(server, store: file, seed: "fresh")) { proxy, origin in
            let answer = try proxy.client().get(origin.url("/api/a"))
            #expect(answer.bodyText == "Bearer t2")
        }
        #expect(server.forms[1].contains("refresh_token=fresh"))
    }

    @Test func `without a store the rotated token lives as long as the proxy`() async throws {
        let server = try TokenServer(life: 60, rotates: true)
        defer { server.stop() }
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(server, store: nil), clock: clock) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1", "t2", "t3"]))
            for _ in 0..<3 {
                #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
                try clock.advance(by: .seconds(61))
            }
            #expect(server.forms.map { $0.contains("refresh_token=seed") } == [true, false, false])
        }
    }

    @Test func `two proxies that share a store take turns`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, rotates: true, gate: gate)
        defer { server.stop() }
        let folder = try Folder()
        let rules = Self.rules(server, store: folder.path + "/store.json")
        try await run(rules) { first, origin in
            let client = try first.client()
            try client.send("GET", origin.url("/api/a"))
            #expect(server.asked.wait())
            let other = Bell()
            let second = Task {
                try await run(rules) { second, origin in
                    let client = try second.client()
                    try client.send("GET", origin.url("/api/a"))
                    try second.settle()
                    other.ring()
                    let answer = try client.response()
                    #expect(answer.bodyText == "Bearer t2")
                }
            }
            #expect(other.wait())
            // The second one has to wait for the first one's token.
            #expect(server.count == 1)
            gate.ring()
            #expect(try client.response().bodyText == "Bearer t1")
            #expect(server.asked.wait())
            gate.ring()
            try await second.value
            #expect(server.forms[1].contains("refresh_token=r1"))
        }
    }

    @Test func `two tokens with one store do not wait for each other for ever`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 3600, rotates: true, gate: gate)
        defer { server.stop() }
        let folder = try Folder()
        func token(_ name: String, _ scope: String) -> String {
            """
              \(name):
                oauth2:
                  {grant: refresh_token, url: "\(server.url)", client: {id: cli},
                   refresh_token: seed, store: \(folder.path)/s.json, scope: \(scope)}
            """
        }
        let rules = """
            tokens:
            \(token("one", "a"))
            \(token("two", "b"))
            rules:
              - {match: {path: /api/1}, request: [{auth: one}]}
              - {match: {path: /api/2}, request: [{auth: two}]}
            """
        try await run(rules) { proxy, origin in
            let clients = [try proxy.client(), try proxy.client()]
            try clients[0].send("GET", origin.url("/api/1"))
            #expect(server.asked.wait())
            try clients[1].send("GET", origin.url("/api/2"))
            try proxy.settle()
            gate.ring()
            #expect(try clients[0].response().bodyText == "Bearer t1")
            #expect(server.asked.wait())
            gate.ring()
            #expect(try clients[1].response().bodyText == "Bearer t2")
            #expect(server.forms[1].contains("refresh_token=r1"))
        }
    }

    @Test func `a secret file that changes does not start a second refresh`() async throws {
        let gate = Bell()
        let server = try TokenServer(life: 60, gate: gate)
        defer { server.stop() }
        let clock = VirtualClock()
        let rules = """
            tokens:
              me:
                oauth2:
                  grant: client_credentials
                  url: "\(server.url)"
                  client: {id: cli, secret: "${file:DIR/secret}"}
            rules:
              - {match: {path: /api/**}, request: [{auth: me}]}
            """
        let files = ["secret": Array("old".utf8)]
        try await ProxyFixture.run(rules, clock: clock, files: files) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1", "t2"]))
            gate.ring()
            #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            #expect(server.asked.wait())
            try proxy.replace("secret", with: "new")
            try clock.advance(by: .seconds(61))
            let clients = [try proxy.client(), try proxy.client()]
            for client in clients { try client.send("GET", origin.url("/api/a")) }
            #expect(server.asked.wait())
            try proxy.settle()
            gate.ring()
            gate.ring()
            for client in clients { #expect(try client.response().status == 200) }
            #expect(server.count == 2)
            #expect(server.requests[1]["authorization"] == "Basic Y2xpOm5ldw==")
        }
    }
}

extension ProxyFixture {
    /// Puts another file of this name into the test's directory, at once as a whole.
    func replace(_ name: String, with text: String, mode: Int16 = 0o600) throws {
        let path = "\(directory)/\(name)"
        let made = FileManager.default.createFile(
            atPath: path + ".new",
            contents: Data(text.utf8),
            attributes: [.posixPermissions: NSNumber(value: mode)]
        )
        #expect(made)
        // Safety: both paths are NUL-terminated for the call.
        guard unsafe rename(path + ".new", path) == 0 else {
            throw SocketFailure("cannot replace \(path)")
        }
    }
}
