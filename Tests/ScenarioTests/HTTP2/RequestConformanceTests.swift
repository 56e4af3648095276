// RFC 9113 §8.3.1, §8.5 and RFC 8441 §4: the pseudo-fields of requests, CONNECT among them.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let pseudoFields: [HTTP2Case] =
        [":method", ":scheme", ":path"].flatMap(required) + hostileTargets + soundTargets

    /// What a pseudo-field that every request has may not be.
    private static func required(_ name: String) -> [HTTP2Case] {
        [
            malformedHead("no \(name)") { $0.get.without(name) },
            malformedHead("\(name) twice") { $0.get + [name: $0.get[name] ?? ""] },
            malformedHead("\(name) of nothing") { $0.get.with(name, "") },
            malformedHead("\(name) behind regular fields") { target in
                target.get.without(name) + ["x": "y", name: target.get[name] ?? ""]
            },
            malformedHead("\(name) with LF") { $0.get.with(name, ($0.get[name] ?? "") + "\n") },
            malformedHead("\(name) with CRLF and more") { target in
                target.get.with(name, (target.get[name] ?? "") + " HTTP/1.1\r\nx: y\r\n")
            },
            malformedHead("\(name) with NUL") { $0.get.with(name, ($0.get[name] ?? "") + "\0") },
        ]
    }

    private static let hostileTargets: [HTTP2Case] = [
        malformedHead(":authority twice") { $0.get + [":authority": $0.authority] },
        malformedHead(":authority behind regular fields") { target in
            target.get.without(":authority") + ["x": "y", ":authority": target.authority]
        },
        malformedHead(":authority with CRLF and more") { target in
            target.get.with(":authority", target.authority + "\r\nx: y")
        },
        malformedHead("a pseudo-field that nobody has defined") { $0.get + [":unknown": "x"] },
        malformedHead("a pseudo-field of nothing but its colon") { $0.get + [":": "x"] },
        malformedHead("a pseudo-field of responses") { $0.get + [":status": "200"] },
        malformedHead("a pseudo-field in upper case") { target in
            target.get.without(":method") + [":METHOD": "GET"]
        },
        malformedHead(":path with a space") { $0.get.with(":path", "/a b") }.forLupinAlone,
        malformedHead(":path without a slash") { $0.get.with(":path", "a") },
        malformedHead(":path with a fragment") { $0.get.with(":path", "/#a") }.forLupinAlone,
        malformedHead(":path of * without OPTIONS") { $0.get.with(":path", "*") },
        malformedHead(":method with a space") { $0.get.with(":method", "GE T") },
        malformedHead(":method with a parenthesis") { $0.get.with(":method", "GE(T") },
        malformedHead(":scheme with a space") { $0.get.with(":scheme", "ht tp") },
        malformedHead("userinfo in :authority") { target in
            target.get.with(":authority", "user@" + target.authority)
        }.forLupinAlone,
        malformedHead("Host that is not :authority") { target in
            target.get + ["host": "other.test"]
        }.forLupinAlone,
        malformedHead("Host twice") { target in
            target.get.without(":authority")
                + ["host": target.authority, "host": "other.test"]
        }.forLupinAlone,
        malformedHead("neither :authority nor Host") { target in
            target.get.without(":authority")
        }.forLupinAlone,
    ]

    private static let soundTargets: [HTTP2Case] = [
        .fine("Host that is :authority", answered: 1) { target in
            [.headers(1, target.get + ["host": target.authority], end: true)]
        },
        .fine("Host without :authority", answered: 1) { target in
            let head = target.get.without(":authority") + ["host": target.authority]
            return [.headers(1, head, end: true)]
        },
        .fine("pseudo-fields in any order", answered: 1) { target in
            let head = HTTP2Fields(target.get.lines.reversed())
            return [.headers(1, head, end: true)]
        },
        .fine(":path with a query", answered: 1) { target in
            [.headers(1, target.head("GET", "/?a=b&c=%20"), end: true)]
        },
    ]

    static let connect: [HTTP2Case] = [
        malformedHead("CONNECT with :scheme and :path") { $0.head("CONNECT") }.forLupinAlone,
        malformedHead("CONNECT with :path") { target in
            .request("CONNECT", scheme: nil, authority: target.authority)
        },
        malformedHead("CONNECT with :scheme") { target in
            .request("CONNECT", scheme: target.scheme, authority: target.authority, path: nil)
        },
        malformedHead("CONNECT without :authority") { _ in
            .request("CONNECT", scheme: nil, path: nil)
        },
        malformedHead("CONNECT to a host without a port") { _ in
            .request("CONNECT", scheme: nil, authority: "origin.test", path: nil)
        }.forLupinAlone,
        malformedHead(":protocol without CONNECT") { target in
            target.get + [":protocol": "websocket"]
        },
        HTTP2Case("an extended CONNECT that the server has not offered") { target in
            let client = try target.client()
            if client.serverSetting(8) == 1 { return }
            let fields = target.head("CONNECT") + [":protocol": "websocket"]
            try client.frames.send(.headers(1, fields))
            try client.expectRefusal(on: 1)
        },
        HTTP2Case("an extended CONNECT without :path, where the server offers it") { target in
            let client = try target.client()
            let fields = target.head("CONNECT", nil) + [":protocol": "websocket"]
            try client.frames.send(.headers(1, fields))
            try client.expectRefusal(on: 1)
        },
        HTTP2Case("SETTINGS_ENABLE_CONNECT_PROTOCOL is 0 or 1") { target in
            let client = try target.client()
            guard (client.serverSetting(8) ?? 0) <= 1 else { throw SocketFailure("no boolean") }
        },
    ]
}

extension HTTP2Client {
    /// That there is no 2xx on `stream`, by whatever means.
    fileprivate func expectRefusal(on stream: UInt32) throws {
        let reaction = try frames.reaction(wanting: "a refusal", resetOf: stream) { event in
            guard case .fields(stream, let fields, _) = event else { return nil }
            guard let status = fields[":status"].flatMap({ Int($0) }), status >= 400 else {
                throw SocketFailure("CONNECT got \(fields.lines)")
            }
            return .reset(.protocolError)
        }
        if case .goAway(.internalError) = reaction { throw SocketFailure("\(reaction)") }
    }
}

struct RequestConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a request names its target once and at its beginning (8_3_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.pseudoFields)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `CONNECT names an authority, and a protocol at most where that is offered (8_5)`(
        route: HTTP2Route
    )
        async throws
    {
        try await route.play(HTTP2Case.connect)
    }

    @Test func `CONNECT makes a stream a tunnel to the origin (8_5)`() async throws {
        try await HTTP2Route.clear.run { makeTarget in
            let target = try makeTarget()
            let client = try target.client()
            let head = HTTP2Fields.request(
                "CONNECT",
                scheme: nil,
                authority: target.authority,
                path: nil
            )
            let tunnel = try client.open(head)
            let response = try client.frames.head(on: tunnel)
            #expect(response[":status"] == "200")
            #expect(response["content-length"] == nil)
            let request = "GET / HTTP/1.1\r\nHost: \(target.authority)\r\n\r\n"
            try client.frames.sendData(tunnel, Array(request.utf8), end: false)
            let start = try client.frames.bytes(of: tunnel, exactly: 15)
            #expect(String(decoding: start, as: UTF8.self) == "HTTP/1.1 200 OK")
            #expect(try client.request(target.get).status == 200)
            try client.frames.send(.resetStream(tunnel))
            try client.frames.expectAlive()
        }
    }
}
