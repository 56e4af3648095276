// Basic and Digest for an origin: at once or when it asks, and what a wrong password comes to.
import LupinCore
import LupinTLS
import LupinTestKit
import Synchronization
import Testing

struct BasicTokenTests {
    private static let me = "Basic bWU6cHc="

    private func rules(_ more: String) -> String {
        """
        tokens: {me: {basic: {user: me, password: pw\(more)}}}
        rules: [{match: {path: /**}, request: [{auth: me}]}]
        """
    }

    private func choosyOrigin(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                if request["authorization"] == Self.me {
                    try connection.reply(body: request.bodyText)
                } else {
                    try connection.reply(401, #"WWW-Authenticate: Basic realm="x""#, body: "no")
                }
            }
        }
    }

    @Test func `preemptive credentials go out at once`() async throws {
        try await ProxyFixture.run(rules(", preemptive: true")) { proxy in
            let origin = try choosyOrigin(proxy)
            #expect(try proxy.client().get(origin.url()).status == 200)
            #expect(try proxy.record().count("attempts") == 1)
        }
    }

    @Test func `others wait for the challenge, and it is remembered`() async throws {
        try await ProxyFixture.run(rules(", preemptive: false")) { proxy in
            let origin = try choosyOrigin(proxy)
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "ping")
            #expect(try client.response(to: "POST").bodyText == "ping")
            #expect(try client.get(origin.url()).status == 200)
            let records = try proxy.records(2)
            #expect(records[0].count("attempts") == 2)
            #expect(records[0]["attempts.0.reason"] == "basic challenge")
            #expect(records[1].count("attempts") == 1)
        }
    }

    @Test func `the client's own credentials go nowhere, asked or unasked`() async throws {
        for more in [", preemptive: true", ", preemptive: false"] {
            try await ProxyFixture.run(rules(more)) { proxy in
                let origin = try choosyOrigin(proxy)
                let client = try proxy.client()
                #expect(try client.get(origin.url(), "Authorization: Basic bWluZQ==").status == 200)
                #expect(!origin.receivedText.contains("bWluZQ=="))
            }
        }
    }

    @Test func `a wrong password is the client's to see, once and again`() async throws {
        for more in [", preemptive: true", ", preemptive: false"] {
            try await ProxyFixture.run(rules(more)) { proxy in
                let origin = try proxy.origin(
                    answering: head(
                        "HTTP/1.1 401 No",
                        "WWW-Authenticate: Basic realm=x",
                        "Content-Length: 2"
                    ) + "no"
                )
                let client = try proxy.client()
                for _ in 0..<2 {
                    let response = try client.get(origin.url())
                    #expect(response.status == 401)
                    #expect(response.bodyText == "no")
                }
                let counts = try proxy.records(2).map { $0.count("attempts") }
                #expect(counts == (more.hasSuffix("true") ? [1, 1] : [2, 1]))
            }
        }
    }
}

/// A server that verifies Digest (RFC 7616) strictly: every nonce count once, in order.
private final class DigestServer: Sendable {
    private struct State {
        var nonces = 1
        var counts: [String: Int] = [:]
        var seen: [String] = []
    }

    let algorithm: String
    let user: String
    let password: String
    /// `auth` or `auth-int`.
    let quality: String
    private let state = Mutex(State())

    init(
        _ algorithm: String,
        user: String = "me",
        password: String = "pw",
        quality: String = "auth"
    ) {
        self.algorithm = algorithm
        self.quality = quality
        self.user = user
        self.password = password
    }

    /// `nonce/count` of every right answer.
    var seen: [String] { state.withLock { $0.seen } }
    /// Lets no nonce so far be good any more.
    func forget() { state.withLock { $0.nonces += 1 } }

    private func hex(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let digest =
            switch algorithm {
            case "MD5": MessageDigest.md5(bytes.span)
            case "SHA-256": MessageDigest.sha256(bytes.span)
            default: MessageDigest.sha512By256(bytes.span)
            }
        return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// nil when the answer is right, else the challenge.
    func refusal(of request: ScriptedMessage) -> String? {
        state.withLock { state in
            let nonce = "nonce\(state.nonces)"
            let challenge =
                #"Digest realm="r", nonce="\#(nonce)", qop="\#(quality)", algorithm=\#(algorithm)"#
            guard let field = request["authorization"], field.hasPrefix("Digest ") else {
                return challenge
            }
            let found = AuthenticationChallenge.parameters(in: String(field.dropFirst(7)))
            guard found["nonce"] == nonce else { return challenge + ", stale=true" }
            let secret = hex("\(user):r:\(password)")
            let (count, cnonce) = (found["nc"] ?? "", found["cnonce"] ?? "")
            let content = quality == "auth-int" ? ":\(hex(request.bodyText))" : ""
            let action = hex("\(request.method):\(request.target)\(content)")
            let due = hex("\(secret):\(nonce):\(count):\(cnonce):\(quality):\(action)")
            guard found["response"] == due, found["uri"] == request.target,
                let number = Int(count, radix: 16), number > state.counts[nonce] ?? 0
            else { return challenge }
            state.counts[nonce] = number
            state.seen.append("\(nonce)/\(number)")
            return nil
        }
    }

    func serve(_ connection: OriginConnection) throws {
        while let request = try connection.nextRequest() {
            if let challenge = refusal(of: request) {
                try connection.reply(401, "WWW-Authenticate: \(challenge)", body: "no")
            } else {
                try connection.reply(body: "in")
            }
        }
    }
}

struct DigestTokenTests {
    private let rules = """
        tokens: {me: {digest: {user: me, password: pw}}}
        rules: [{match: {path: /**}, request: [{auth: me}]}]
        """

    @Test(arguments: ["MD5", "SHA-256", "SHA-512-256"])
    func `a challenge is answered, and the next requests count on`(_ algorithm: String)
        async throws
    {
        let server = DigestServer(algorithm)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            let clients = [try proxy.client(), try proxy.client()]
            #expect(try clients[0].get(origin.url("/a?b=c%20d")).bodyText == "in")
            #expect(try clients[1].get(origin.url("/b")).bodyText == "in")
            #expect(try clients[0].get(origin.url("/c")).bodyText == "in")
            #expect(server.seen == ["nonce1/1", "nonce1/2", "nonce1/3"])
            let records = try proxy.records(3)
            #expect(records.map { $0.count("attempts") } == [2, 1, 1])
            #expect(records[0]["attempts.0.reason"] == "digest challenge")
        }
    }

    @Test func `where the server wants the content protected it is`() async throws {
        let server = DigestServer("SHA-256", quality: "auth-int")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a")).bodyText == "in")
            #expect(try client.get(origin.url("/b")).bodyText == "in")
            // Its content is known once an attempt has sent it.
            try client.send("POST", origin.url("/c"), body: "hello")
            #expect(try client.response().bodyText == "in")
            #expect(server.seen == ["nonce1/1", "nonce1/2", "nonce1/3"])
        }
    }

    @Test func `where its content can't be known the record says why`() async throws {
        let server = DigestServer("MD5", quality: "auth-int")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            let client = try proxy.client()
            try client.send("POST", origin.url("/c"), body: String(repeating: "x", count: 300_000))
            #expect(try client.response().status == 401)
            let reason = try proxy.record()["attempts.0.reason"] ?? ""
            #expect(reason.contains("auth-int") || reason == "the body was not kept")
        }
    }

    @Test(arguments: [
        "", "cache: {use: standard}, ", "resume: true, ", "cache: {use: standard}, resume: true, ",
    ])
    func `every attempt is signed once, though no connection is idle`(keys: String) async throws {
        let server = DigestServer("SHA-256")
        let counts = Mutex<[Substring]>([])
        let file = rules.replacing("request:", with: keys + "request:")
        try await ProxyFixture.run(file) { proxy in
            let origin = try proxy.origin { connection in
                guard let request = try connection.nextRequest() else { return }
                if let challenge = server.refusal(of: request) {
                    try connection.reply(401, "WWW-Authenticate: \(challenge)", "Connection: close")
                } else {
                    let field = request["authorization"] ?? ""
                    let count = field.split(separator: "nc=").last?.prefix(8) ?? ""
                    counts.withLock { $0.append(count) }
                    try connection.reply(200, "Connection: close", body: "in")
                }
                connection.close()
            }
            let client = try proxy.client()
            for path in ["/a", "/b", "/c", "/d"] {
                #expect(try client.get(origin.url(path)).bodyText == "in")
            }
        }
        #expect(counts.withLock { $0 } == ["00000001", "00000002", "00000003", "00000004"])
    }

    @Test func `two connections at once have counts of their own`() async throws {
        let server = DigestServer("SHA-256")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            #expect(try proxy.client().get(origin.url("/a")).bodyText == "in")
            let played = try PlayedOrigin()
            let clients = [try proxy.client(), try proxy.client()]
            // The challenge of the played origin comes first, on one connection.
            try clients[0].send("GET", played.url("/0"))
            let first = try played.accept()
            let challenge = try #require(server.refusal(of: try first.request()))
            try first.reply(401, "WWW-Authenticate: \(challenge)", body: "no")
            var fields = [try first.request()["authorization"]]
            try clients[1].send("GET", played.url("/1"))
            let second = try played.accept()
            fields.append(try second.request()["authorization"])
            try second.reply(body: "1")
            try first.reply(body: "0")
            for client in clients { #expect(try client.response().status == 200) }
            #expect(fields[0]?.contains("nc=00000001") == true)
            #expect(fields[1]?.contains("nc=00000002") == true)
        }
    }

    @Test func `a stale nonce is replaced and the request repeated`() async throws {
        let server = DigestServer("SHA-256")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a")).bodyText == "in")
            server.forget()
            #expect(try client.get(origin.url("/b")).bodyText == "in")
            #expect(server.seen == ["nonce1/1", "nonce2/1"])
        }
    }

    @Test func `a wrong password is the client's 401`() async throws {
        let server = DigestServer("MD5", password: "other")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { try server.serve($0) }
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url("/a"))
                #expect(response.status == 401)
                #expect(response.bodyText == "no")
            }
            #expect(try proxy.records(2).map { $0.count("attempts") } == [2, 1])
        }
    }

    @Test func `a slow answer to a digest is not held back`() async throws {
        let server = DigestServer("MD5")
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/events"))
            let connection = try origin.accept()
            let challenge = try #require(server.refusal(of: try connection.request()))
            try connection.reply(401, "WWW-Authenticate: \(challenge)", body: "no")
            #expect(server.refusal(of: try connection.request()) == nil)
            try connection.send(
                head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "5\r\nfirst\r\n"
            )
            // Nothing more comes, and no time passes.
            #expect(try client.stream.head()?.status == 200)
            #expect(try client.stream.line() == "5")
            #expect(try client.stream.line() == "first")
            try connection.send("0\r\n\r\n")
        }
    }
}
