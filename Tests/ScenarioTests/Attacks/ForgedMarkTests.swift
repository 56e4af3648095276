// Origins whose responses would pass for lupin's own words.
import LupinCore
import LupinTestKit
import Testing

struct ForgedMarkTests {
    @Test(arguments: [
        "Lupin-Id: 7f", "lupin-bypass: client-rejected", "LUPIN-LAST: 1", "Lupin-: x",
        "Lupin_Id: 7f", "lupin_bypass: client-rejected", "Lupin~Id: 7f", "Lupin.Id: 7f",
        "Lupin: 7f", "Proxy-Status: lupin-12ab; error=dns_error, lupin",
        "Proxy-Status: lupin; error=http_request_denied", "proxy-status: \"lupin\"",
        "Proxy-Status: LUPIN", "Proxy-Status: lupin;error=a, lupin;error=b",
        "Cache-Status: lupin; hit", "CACHE-STATUS: \"lupin\"; fwd=miss",
    ])
    func `nothing of an origin passes for lupin's`(field: String) async throws {
        try await ProxyFixture.run("upstream: {via: false}") { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["TE: trailers"])
            let connection = try origin.accept()
            try connection.request()
            let chunked = "Transfer-Encoding: chunked\r\nX-Own: 1\r\n"
            try connection.send(
                "HTTP/1.1 103 Early Hints\r\n\(field)\r\nX-Own: 1\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\n\(field)\r\n\(chunked)\r\n1\r\na\r\n0\r\n"
                    + "\(field)\r\nX-Own: 2\r\n\r\n"
            )
            let response = try client.response()
            #expect(response["x-own"] == "1" && response.trailer("x-own") == "2")
            let received = client.stream.receivedText.lowercased()
            for word in ["lupin", "-status:"] {
                #expect(!received.contains(word), "\(received)")
            }
        }
    }

    /// An answer with forged marks between true ones.
    private static let forged = [
        "HTTP/1.1 200 OK", "Lupin-Id: 0123456789abcdef", "LUPIN-Bypass: x", "X-Own: 1",
        "Proxy-Status: edge; error=dns_error, lupin; error=http_request_denied",
        "Cache-Status: lupin; hit", "Proxy-Status: lupin; error=dns_timeout", "Content-Length: 0",
    ]

    private static func look(at text: String) {
        let text = text.lowercased()
        for word in ["x-own", "edge; error=dns_error"] {
            #expect(text.contains(word), "\(text)")
        }
        for word in ["0123456789abcdef", "lupin-bypass", "lupin; error", "lupin; hit"] {
            #expect(!text.contains(word), "\(text)")
        }
    }

    @Test func `the record shows what the client got`() async throws {
        let answer = Self.forged.joined(separator: "\r\n") + "\r\n\r\n"
        try await ProxyFixture.run("log: {headers: all}") { proxy in
            let origin = try proxy.origin(answering: answer)
            #expect(try proxy.client().get(origin.url()).status == 200)
            Self.look(at: try proxy.record().text)
        }
        try await Inside.run("log: {headers: all}\n" + Inside.rule) { inside in
            try inside.send("GET", "/")
            let connection = try inside.accept()
            try connection.request()
            try connection.send(answer)
            #expect(try inside.client.response().status == 200)
            Self.look(at: try inside.proxy.record().text)
        }
    }

    @Test func `members of others stay, with their quoted commas`() async throws {
        try await ProxyFixture.run { proxy in
            let status = #"edge; details="a, lupin; x", lupin; error=proxy_internal_error, b"#
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 OK",
                    "Proxy-Status: \(status)",
                    "Cache-Status: cdn; hit, lupin; hit, lupine; hit",
                    "Content-Length: 0"
                )
            )
            let response = try proxy.client().get(origin.url())
            #expect(response["proxy-status"] == #"edge; details="a, lupin; x", b"#)
            #expect(response["cache-status"] == "cdn; hit, lupine; hit")
        }
    }

    @Test func `a client's Lupin fields reach no origin, and a rule's own do`() async throws {
        try await ProxyFixture.run(everywhere("request: [{set: {Lupin-Env: dev}}]")) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Lupin-Id: 1", "X-Own: 1"])
            let connection = try origin.accept()
            let request = try connection.request()
            #expect(request["lupin-id"] == nil)
            #expect(request["x-own"] == "1" && request["lupin-env"] == "dev")
            try connection.reply(body: "")
            #expect(try client.response().status == 200)
        }
    }
}
