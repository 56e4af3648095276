// The server name inside a tunnel is asked of the rules as the CONNECT's target is.
import LupinTLS
import LupinTestKit
import Testing

struct TunnelNameTests {
    /// Only `origin.test`, whose address it may name as well.
    private static let list = """
        rules:
          - name: list
            match: {not: {host: [origin.test, "127.0.0.1"]}}
            respond: {status: 403}
        """

    /// Sends `hello` through a CONNECT to `origin.test`; the alert is nil where it arrives whole.
    private static func send(
        _ hello: [UInt8],
        _ rules: String = list,
        expecting alert: UInt8?,
        _ look: @Sendable @escaping (RecordLine) throws -> Void = { _ in }
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send(hello)
            if let alert {
                #expect(try client.stream.untilEnd().bytes == [21, 3, 3, 0, 2, 2, alert])
                #expect(try far.stream.untilEnd().bytes == [])
            } else {
                #expect(try far.stream.bytes(hello.count) == hello)
                far.close()
                client.close()
            }
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            if alert != nil {
                #expect(record["outcome"] == "denied")
                #expect(record["error.type"] == "tunnel_name_denied")
                #expect(record["url.domain"] == "origin.test")
                #expect(record["tunnel.sent"] == "0")
                #expect(record["tunnel.closed_by"] == "proxy")
                #expect(record["bytes.upstream_out"] == "0")
            }
            try look(record)
        }
    }

    @Test(arguments: [
        "origin.test", "ORIGIN.Test", "origin.test.", "127.0.0.1", "0x7f.1",
    ])
    func `a name that the list has goes through as it is`(name: String) async throws {
        try await Self.send(ScriptedHello(name: name).bytes, expecting: nil) { record in
            #expect(record["tunnel.sni"] == name)
        }
    }

    @Test(arguments: [
        "evil.test", "EVIL.test", "evil.test.", "xn--mnchen-3ya.test", "origin.test.evil.test",
        "10.1.2.3", "origin.test..", "a..origin.test", "%6Frigin.test", "[::1]", "*.origin.test",
        String(repeating: "a", count: 64) + ".origin.test", String(repeating: "a.", count: 127),
    ])
    func `any other is refused by an alert`(name: String) async throws {
        try await Self.send(ScriptedHello(name: name).bytes, expecting: 112) { record in
            #expect(record["tunnel.sni"] == name)
            #expect(record["error.detail"]?.contains("CONNECT named origin.test:") == true)
            #expect(record["error.detail"]?.contains("asks for \(name): ") == true)
        }
    }

    private static let own = (UInt16(0), ScriptedHello.list(of: [Array("origin.test".utf8)]))

    /// Names that cannot be read, and what only a lenient server would take.
    private static let unreadable: [[UInt8]] = [
        ScriptedHello(names: [[]]).bytes, ScriptedHello(names: []).bytes,
        ScriptedHello(names: [Array("origin.test".utf8), Array("evil.test".utf8)]).bytes,
        ScriptedHello(extensions: [own, own]).bytes,
        ScriptedHello(names: [Array("origin.test\0.evil.test".utf8)]).bytes,
        ScriptedHello(names: [Array("münchen.test".utf8)]).bytes,
        ScriptedHello(names: [[UInt8](repeating: 0x61, count: 256)]).bytes,
        ScriptedHello(extensions: [own, (21, [UInt8](repeating: 0, count: 65500))]).bytes,
        [22, 3, 3, 0, 0] + ScriptedHello(name: "origin.test").bytes,
        [21, 3, 3, 0, 2, 1, 90] + ScriptedHello(name: "origin.test").bytes,
        [20, 3, 3, 0, 1, 1] + ScriptedHello(name: "origin.test").bytes,
        [22, 4] + ScriptedHello(name: "origin.test").bytes.dropFirst(2),
    ]

    @Test(arguments: unreadable.indices)
    func `a hello that cannot be read is refused`(row: Int) async throws {
        try await Self.send(Self.unreadable[row], expecting: 50) { record in
            #expect(record["tunnel.sni"] == nil)
        }
    }

    @Test(arguments: unreadable.indices)
    func `where nothing is refused it goes through unchanged`(row: Int) async throws {
        try await Self.send(Self.unreadable[row], "", expecting: nil) { record in
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `a hello without a name is judged by the CONNECT alone`() async throws {
        try await Self.send(ScriptedHello().bytes, expecting: nil) { record in
            #expect(record["tunnel.sni"] == nil)
        }
    }

    @Test(arguments: [1, 7, 4096])
    func `pieces, small records and a long hello hide no name`(size: Int) async throws {
        for (name, alert) in [("origin.test", nil), ("evil.test", 112)] as [(String, UInt8?)] {
            var hello = ScriptedHello(name: name)
            // GREASE (RFC 8701), and padding.
            hello.extensions?.insert((0x3A3A, []), at: 0)
            let count = size == 1 ? 300 : 30000
            hello.extensions?.append((21, [UInt8](repeating: 0, count: count)))
            hello.recordBytes = size
            try await Self.send(hello.bytes, expecting: alert)
        }
    }

    /// What a client sends behind an allowed hello before it asks for another name.
    private static let between: [[UInt8]] = [
        [], [21, 3, 3, 0, 2, 2, 40], [21, 3, 3, 0, 2, 1, 0], [20, 3, 3, 0, 1, 1],
        [20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 3, 1, 2, 3], [22, 3, 3, 0, 0],
        [22, 3, 3, 0, 5, 16, 0, 0, 1, 0], [23, 3, 3, 0, 1, 0],
    ]

    @Test(arguments: between.indices, [false, true])
    func `a second hello is judged as the first, and may say the same`(
        row: Int,
        hasAnswer: Bool
    ) async throws {
        for (name, passes) in [("evil.test", false), ("origin.test", true)] {
            try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
                let origin = try PlayedOrigin()
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                let far = try origin.accept()
                let first = ScriptedHello(name: "origin.test").bytes
                let second = ScriptedHello(name: name).bytes
                if hasAnswer {
                    try client.send(first)
                    #expect(try far.stream.bytes(first.count) == first)
                    try far.send([22, 3, 3, 0, 4, 2, 0, 0, 0])
                    _ = try client.stream.bytes(9)
                    try client.send(Self.between[row] + second)
                } else {
                    try client.send(first + Self.between[row] + second)
                }
                let rest = Self.between[row] + second
                let all = hasAnswer ? rest : first + rest
                if passes {
                    #expect(try far.stream.bytes(all.count) == all)
                    client.close()
                    far.close()
                    #expect(try proxy.record()["outcome"] == "ok")
                } else {
                    let received = try far.stream.untilEnd().bytes
                    #expect(!String(decoding: received, as: UTF8.self).contains("evil"))
                    _ = try client.stream.untilEnd()
                    let record = try proxy.record()
                    #expect(record["outcome"] == "denied")
                    #expect(record["error.detail"]?.contains("asks for evil.test: ") == true)
                }
            }
        }
    }

    @Test func `what is no TLS behind a hello is refused under an allow list`() async throws {
        let bytes = ScriptedHello(name: "origin.test").bytes
        let request = Array(head("GET / HTTP/1.1", "Host: evil.test").utf8)
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send(bytes)
            #expect(try far.stream.bytes(bytes.count) == bytes)
            try client.send(request)
            #expect(try far.stream.untilEnd().bytes == [])
            _ = try client.stream.untilEnd()
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test func `a long upload behind a hello arrives as it was sent`() async throws {
        let hello = ScriptedHello(name: "origin.test").bytes
        let record: [UInt8] = [23, 3, 3, 0x40, 0] + [UInt8](repeating: 5, count: 16384)
        let all = hello + (0..<64).flatMap { _ in record }
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            for start in stride(from: 0, to: all.count, by: 50_000) {
                let piece = Array(all[start...].prefix(50_000))
                try client.send(piece)
                #expect(try far.stream.bytes(piece.count) == piece)
            }
        }
    }

    @Test func `access_deny_targets is asked, too`() async throws {
        let rules = "access: {deny_targets: [\"*.evil.test\"]}"
        try await Self.send(ScriptedHello(name: "a.EVIL.test").bytes, rules, expecting: 112)
        try await Self.send(ScriptedHello(name: "other.test").bytes, rules, expecting: nil)
        try await Self.send(ScriptedHello(names: [[]]).bytes, rules, expecting: 50)
    }

    @Test func `a rule that answers inside is not gone around`() async throws {
        let rules = """
            rules:
              - {match: {host: api.test, path: /v1}, respond: {status: 404}}
              - {match: {host: step.test}, request: [{set: {A: b}}]}
            """
        try await Self.send(ScriptedHello(name: "api.test").bytes, rules, expecting: 112)
        try await Self.send(ScriptedHello(name: "step.test").bytes, rules, expecting: nil)
    }

    @Test func `a hidden name is refused where the file says so`() async throws {
        var hello = ScriptedHello(name: "origin.test")
        hello.extensions?.append((0xFE0D, [0, 0, 1]))
        try await Self.send(hello.bytes, expecting: nil) { record in
            #expect(record["tunnel.ech"] == "1")
        }
        try await Self.send(hello.bytes, "access: {ech: refuse}", expecting: 40)
        let plain = ScriptedHello(name: "origin.test").bytes
        try await Self.send(plain, "access: {ech: refuse}", expecting: nil) { record in
            #expect(record["tunnel.ech"] == nil)
        }
    }
}
