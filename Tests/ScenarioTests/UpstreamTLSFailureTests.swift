// TLS with an origin that comes to nothing: a 502 over our own TLS that says why.
import LupinCore
import LupinTestKit
import Testing

struct UpstreamTLSFailureTests {
    /// What an origin does instead of making TLS, and what the client is told.
    enum Trouble: CaseIterable { case speaksHTTP, hangsUp, resets, alerts, speaksOldTLS }

    @Test(arguments: Trouble.allCases)
    func `the client is told in words over TLS that holds`(trouble: Trouble) async throws {
        let rules = "upstream: {tls: {min: \"1.3\"}}\n" + Inside.rule
        try await Inside.run(rules) { inside in
            try inside.send()
            let far = try inside.origin.accept()
            var expected: (error: String, words: String)
            switch trouble {
            case .speaksHTTP:
                _ = try far.stream.bytes(1)
                try far.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                expected = ("tls_protocol_error", "doesn't speak TLS")
            case .hangsUp:
                _ = try far.stream.bytes(1)
                far.close()
                expected = ("tls_protocol_error", "broke in the TLS handshake")
            case .resets:
                _ = try far.stream.bytes(1)
                far.reset()
                expected = ("tls_protocol_error", "broke in the TLS handshake")
            case .alerts:
                _ = try far.stream.bytes(1)
                try far.send([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])
                expected = ("tls_alert_received", "handshake_failure")
            case .speaksOldTLS:
                var server = try inside.proxy.authority.server("origin.test")
                server.maximum = .tls12
                #expect(throws: (any Error).self) { try far.secure(server) }
                expected = ("tls_protocol_error", "no TLS version in common")
            }
            let response = try inside.client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=\(expected.error)") == true)
            #expect(response["Proxy-Status"]?.contains(expected.words) == true)
            #expect(response.bodyText.contains("origin.test"))
            let record = try inside.proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == expected.error)
            #expect(record["mode"] == "intercept")
            // lupin's TLS with the client goes on.
            #expect(response["Connection"] == nil)
        }
    }

    @Test(arguments: [42, 46, 48, 49, 113, 112] as [UInt8], ["origin.test", "127.0.0.1"])
    func `who is asked for no certificate is not told that his was rejected`(
        alert: UInt8,
        host: String
    ) async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", "https://\(origin.authority(host))/")
            let far = try origin.accept()
            _ = try far.stream.bytes(1)
            try far.send([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, alert])
            let response = try client.response()
            #expect(response.status == 502)
            let said = response.bodyText
            #expect(!said.contains("certificate with") && !said.contains("client certificate"))
            if alert != 112 {
                #expect(said.contains("refused the connection (alert "), "\(said)")
            } else {
                let words = host == "127.0.0.1" ? "none was sent" : "does not know the name"
                #expect(said.contains(words), "\(said)")
            }
            let record = try proxy.record()
            #expect(record["error.type"] == "tls_alert_received")
        }
    }

    @Test(arguments: ["", "cache: standard"])
    func `what ends TLS behind a head is told as what it is`(keys: String) async throws {
        let match = "match: {host: origin.test}, intercept: true"
        let rules = "rules: [{\(match)\(keys.isEmpty ? "" : ", \(keys)")}]"
        try await Inside.run(rules) { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 30\r\n\r\n"
            try far.send(head + "abc")
            _ = try inside.client.stream.head()
            _ = try inside.client.stream.text(3)
            // A record that nobody has sealed.
            far.security?.truncate(behind: [0x17, 3, 3, 0, 32] + Array(repeating: 0, count: 32))
            _ = try inside.client.stream.untilEnd()
            let record = try inside.proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["error.type"] == "tls_protocol_error")
        }
    }

    @Test func `an origin that keeps silent in the handshake is a 504`() async throws {
        let clock = VirtualClock()
        try await Inside.run("timeouts: {tls: 5s}\n" + Inside.rule, clock: clock) { inside in
            try inside.send()
            // `safe` tries a second time.
            for _ in 0..<2 {
                let far = try inside.origin.accept()
                _ = try far.stream.bytes(1)
                try clock.advance(by: .milliseconds(4_900))
                #expect(!inside.client.stream.socket.hasUnread)
                try clock.advance(by: .milliseconds(200))
            }
            let response = try inside.client.response()
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("connection_timeout") == true)
            #expect(response["Proxy-Status"]?.contains("timeouts.tls") == true)
        }
    }

    @Test func `an origin that nobody plays is a 502 over TLS`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            origin.close()
            let client = try proxy.client().connectSecurely(authority)
            let response = try client.get("https://\(authority)/")
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("connection_refused") == true)
        }
    }

    @Test func `a client that leaves ends the handshake with the origin`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.origin.accept()
            _ = try far.stream.bytes(1)
            inside.client.close()
            _ = try far.waitForEnd()
            #expect(try inside.proxy.record()["outcome"] == "aborted")
        }
    }
}
