// Which URLs an unsafe request makes out of date.

import LupinCaching
import LupinCore
import Testing

struct InvalidationTests {
    private func origin(_ host: String = "x.dev", port: UInt16 = 443) throws -> Origin {
        Origin(scheme: .https, host: try #require(Host(host)), port: port)
    }

    private func invalidated(
        _ method: Method,
        _ status: UInt16 = 200,
        _ pairs: CacheFields = []
    ) throws -> [String] {
        let target = InvalidatedTarget(origin: try origin(), pathAndQuery: "/a/b?c")
        let targets = Invalidation.targets(
            of: [target],
            method: method,
            response: reply(pairs, status: status)
        )
        #expect(try targets.allSatisfy { try $0.origin == origin() })
        return targets.map(\.pathAndQuery)
    }

    @Test func `methods that are not known to be safe invalidate`() throws {
        for method in [Method.post, .put, .delete, .patch, .other("M-SEARCH"), .other("get")] {
            #expect(try invalidated(method) == ["/a/b?c"])
        }
        for method in [Method.get, .head, .options, .trace, .query, .connect, .other("PROPFIND")] {
            #expect(try invalidated(method) == [])
        }
    }

    @Test(
        arguments: [
            (200, true), (201, true), (204, true), (302, true), (399, true), (400, false),
            (404, false),
            (500, false), (503, false), (199, false),
        ] as [(UInt16, Bool)]
    )
    func `errors invalidate nothing`(status: UInt16, isInvalidating: Bool) throws {
        #expect(try invalidated(.post, status).isEmpty == !isInvalidating)
    }

    @Test(
        arguments: [
            ("/x", "/x"), ("x?y#z", "/a/x?y"), ("https://x.dev/q", "/q"), ("//X.DEV:443/q", "/q"),
            ("https://x.dev", "/"), ("https://y.dev/q", nil), ("http://x.dev/q", nil),
            ("https://x.dev:8443/q", nil), ("https://u@x.dev/q", nil), ("", nil), ("ftp:/x", nil),
            ("/a/b?c", nil), ("https://x.dev:/q", "/q"),
        ] as [(String, String?)]
    )
    func `Location and Content-Location count at the same origin`(
        value: String,
        path: String?
    ) throws {
        let expected = ["/a/b?c"] + (path.map { [$0] } ?? [])
        #expect(try invalidated(.post, 201, [("Location", value)]) == expected)
        #expect(try invalidated(.put, 200, [("content-location", value)]) == expected)
    }

    @Test func `what the client asked for goes, and what was sent`() throws {
        let asked = InvalidatedTarget(origin: try origin(), pathAndQuery: "/a")
        let sent = InvalidatedTarget(origin: try origin("y.dev"), pathAndQuery: "/b")
        let response = reply([("Location", "/c")])
        let targets = Invalidation.targets(
            of: [asked, sent, asked],
            method: .post,
            response: response
        )
        #expect(
            targets.map { $0.origin.host.text + $0.pathAndQuery } == [
                "x.dev/a", "y.dev/b", "x.dev/c", "y.dev/c",
            ]
        )
    }
}
