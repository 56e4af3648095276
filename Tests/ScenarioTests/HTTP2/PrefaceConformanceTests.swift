// RFC 9113 §3.4: how a connection of HTTP/2 begins, and what is none.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let preface: [HTTP2Case] = [
        HTTP2Case("SETTINGS answer the preface and are acknowledged") { target in
            let client = try target.client()
            try client.frames.expectSettingsAcknowledged()
            try client.expectService(target)
        },
        HTTP2Case("preface, SETTINGS and a request in one go") { target in
            let frames = try target.frames()
            try frames.begin(.settings(), target.get(1))
            guard try frames.message(on: 1).status == 200 else {
                throw SocketFailure("no answer")
            }
            try frames.expectAlive()
        },
        HTTP2Case("preface and SETTINGS byte by byte") { target in
            let frames = try target.frames()
            for byte in HTTP2Frame.preface { try frames.send(bytes: [byte]) }
            try frames.sendBytewise(.settings(.initialWindowSize(100)), target.get(1))
            guard try frames.message(on: 1).status == 200 else {
                throw SocketFailure("no answer")
            }
        },
        HTTP2Case("a request before the server's SETTINGS are acknowledged") { target in
            let client = try target.client(manners: .none)
            try client.frames.send(target.get(1))
            try client.expectAnswer(on: 1)
        },
        noPreface("words of no protocol", Array("INVALID CONNECTION PREFACE\r\n\r\n".utf8)),
        noPreface(
            "a preface whose end is another",
            Array("PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n".utf8) + HTTP2Frame.settings().bytes
        ),
        noPreface(
            "a preface that is cut by a frame",
            Array(HTTP2Frame.preface.dropLast(6)) + HTTP2Frame.settings().bytes
                + HTTP2Frame.settings().bytes
        ),
        notSettings("PING", .ping()),
        notSettings("WINDOW_UPDATE", .windowUpdate(0, 1)),
        notSettings("an acknowledgement of SETTINGS", .settingsAcknowledgement),
        notSettings("GOAWAY", .goAway()),
        notSettings("a frame that nobody has defined", .unknown()),
        HTTP2Case("HEADERS where the client's SETTINGS belong") { target in
            let frames = try target.frames()
            try frames.begin(target.get(1))
            try frames.expectConnectionError(.protocolError)
        }.reachingNobody,
    ]

    /// Octets that begin no HTTP/2: whatever is answered, it is not spoken.
    private static func noPreface(_ name: String, _ bytes: [UInt8]) -> HTTP2Case {
        HTTP2Case(name) { target in
            let client = try target.dial()
            try client.send(bytes)
            _ = try client.stream.untilEnd()
        }.reachingNobody
    }

    private static func notSettings(_ name: String, _ frame: HTTP2Frame) -> HTTP2Case {
        HTTP2Case("\(name) where the client's SETTINGS belong") { target in
            let frames = try target.frames()
            try frames.begin(frame)
            try frames.expectConnectionError(.protocolError)
        }
    }
}

struct PrefaceConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a connection begins with the preface and SETTINGS (3_4)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.preface)
    }
}
