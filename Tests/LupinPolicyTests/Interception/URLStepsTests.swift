// Where `url:` and `query:` steps send a request.

import LupinCore
import LupinPolicy
import Testing

@Suite struct URLStepsTests {
    private func apply(
        _ step: RequestStep?,
        to request: SampleRequest?
    ) throws -> (request: SampleRequest, steps: AppliedSteps) {
        var request = try #require(request)
        let original = request.head
        let steps = try RequestSteps.apply(
            step.map { [PlannedStep(rule: 0, step: $0)] } ?? [],
            to: &request.head,
            original: original,
            id: ExchangeID(high: 0, low: 0x1D1),
            origin: &request.origin
        )
        return (request, steps)
    }

    private func url(_ change: (inout URLStep) throws -> Void) rethrows -> RequestStep {
        var step = URLStep()
        try change(&step)
        return .url(step)
    }

    // MARK: Origin

    @Test(
        arguments: [
            (nil, "y.dev", nil, UInt16(8080), "http://y.dev:8080"),
            (.https, nil, nil, 8080, "https://x.dev:443"),
            (.http, nil, nil, 8080, "http://x.dev:8080"),
            (.https, nil, 8443, 80, "https://x.dev:8443"), (nil, nil, 81, 80, "http://x.dev:81"),
            (.https, "y.dev", nil, 80, "https://y.dev:443"),
            (nil, "[::1]", 1, 80, "http://[::1]:1"),
        ] as [(Scheme?, String?, UInt16?, UInt16, String)]
    )
    func `scheme, host and port change apart`(
        scheme: Scheme?,
        host: String?,
        port: UInt16?,
        from: UInt16,
        expected: String
    ) throws {
        let step = url {
            $0.scheme = scheme
            $0.host = host.flatMap { Host($0) }
            $0.port = port
        }
        let (request, steps) = try apply(step, to: SampleRequest(port: from, path: "/a?b"))
        #expect("\(request.origin.scheme.name)://\(request.origin.hostAndPort)" == expected)
        #expect(request.head.pathText == "/a?b")
        #expect(steps.isHostFromFile == (host != nil))
        let isChanged = expected != "http://x.dev:\(from)"
        #expect(steps.applied == (isChanged ? [step.summary] : []))
    }

    @Test func `an absolute-form target follows the origin`() throws {
        var request = try #require(SampleRequest(path: "/a"))
        request.head.form = .absolute
        request.head.scheme = .http
        request.head.authority = request.head.fields.store("x.dev")
        let (changed, _) = try apply(url { $0.host = Host("y.dev") }, to: request)
        #expect(changed.head.scheme == .http)
        #expect(changed.head.fields.text(changed.head.authority) == "y.dev")
        #expect(changed.head.pathText == "/a")
    }

    // MARK: Path

    @Test(arguments: [
        ("/v2/x", "/a/b?c=d", "/v2/x?c=d"), ("v2", "/a", "/v2"),
        ("/é x?#", "/a", "/%C3%A9%20x%3F%23"),
        ("/a%20b%2f%zz", "/a", "/a%20b%2F%25zz"), ("/x/../y", "/a?q", "/y?q"), ("", "/a?q", "/?q"),
        ("/v2", "", "/v2"),
    ])
    func `a literal path is encoded as needed and keeps the query`(
        path: String,
        target: String,
        expected: String
    ) throws {
        let step = url { $0.path = .literal(Template(path)) }
        let (request, steps) = try apply(step, to: SampleRequest(path: target))
        #expect(request.head.pathText == expected)
        #expect(steps.applied == ["url path"])
    }

    @Test func `what a field brings into a path stays in its segment`() throws {
        let step = url { $0.path = .literal(Template([.text("/a%20b/"), .header("X")])) }
        let (request, _) = try apply(step, to: SampleRequest(fields: [("X", "c/d?e%41 é")]))
        #expect(request.head.pathText == "/a%20b/c%2Fd%3Fe%2541%20%C3%A9")
    }

    @Test(arguments: [
        (#"/^\/api/"#, "/v2", "/api/x?y=/api", "/v2/x?y=/api", true),
        (#"/^\/api/"#, "/v2", "/%61pi/x", "/v2/x", true),
        (#"/^\/api/"#, "/v2", "/x/../api", "/v2", true),
        (#"/^\/api/"#, "/v2", "/other?q", "/other?q", false),
        (#"/^\/(\w+)\/(\w+)$/"#, "/$2/$1", "/a/b?q", "/b/a?q", true),
        (#"/^\//"#, "", "/a", "/a", false), (#"/b$/"#, "b c?", "/a/b", "/a/b%20c%3F", true),
        ("/a/*", "/z", "/a/b", "/z", true), ("/a", "/$0/$0", "/a%2fb", "/a%2fb", false),
    ])
    func `a rewrite sees the normal form`(
        pattern: String,
        replacement: String,
        target: String,
        expected: String,
        isApplied: Bool
    ) throws {
        let from = try ValuePattern(pattern)
        let step = url { $0.path = .rewrite(from: from, to: replacement) }
        let (request, steps) = try apply(step, to: SampleRequest(path: target))
        #expect(request.head.pathText == expected)
        #expect(steps.applied.isEmpty != isApplied)
    }

    @Test(arguments: [
        ("/%61/%c3?%61", false, "/%61/%c3?%61"), ("/%61/%c3?%61", true, "/a/%C3?%61"),
        ("/a/../%62?x/../y", false, "/b?x/../y"), ("/a?b", true, "/a?b"), ("", false, "/"),
    ])
    func `the original path is sent unless the URL changed or it has dot segments`(
        target: String,
        isChanged: Bool,
        expected: String
    ) throws {
        let step = isChanged ? url { $0.port = 81 } : nil
        let (request, _) = try apply(step, to: SampleRequest(path: target))
        #expect(request.head.pathText == expected)
    }

    // MARK: Query

    private static let queries: [(String, [(name: String, value: Template)], [String], String)] = [
        ("/a", [("t", Template("dev"))], [], "/a?t=dev"),
        ("/a?", [("t", Template("dev"))], [], "/a?t=dev"),
        ("", [("t", Template("dev"))], [], "/?t=dev"),
        ("/a?x=1&t=old&y=%c3+&t=2", [("t", Template("n"))], [], "/a?x=1&t=n&y=%c3+"),
        ("/a?%74=1", [("t", Template("n"))], [], "/a?t=n"),
        ("/a?x", [("a b", Template("c&d=é/"))], [], "/a?x&a%20b=c%26d%3D%C3%A9%2F"),
        (
            "/a?x&&y", [("t", Template([.header("X"), .id]))], [],
            "/a?x&&y&t=%25%2B000000000000000000000000000001d1"
        ),
        ("/a?debug=1&x=2", [], ["debug"], "/a?x=2"), ("/a?debug=1", [], ["debug"], "/a"),
        ("/a?de%62ug&x&debug", [], ["debug"], "/a?x"),
        ("/a?utm_a=1&x&utm_b", [], ["utm_*"], "/a?x"),
        ("/a?x=debug", [], ["debug"], "/a?x=debug"), ("/a?", [], ["debug"], "/a?"),
        ("/a?&", [], ["*"], "/a?&"), ("/a", [], ["*"], "/a"),
        ("/a?debug&x", [("debug", Template("0"))], ["*"], "/a?debug=0"),
        ("/a?t=n", [("t", Template("n"))], [], "/a?t=n"),
    ]

    @Test(arguments: queries.indices)
    func `a query step changes its parameters and no other byte`(index: Int) throws {
        let (target, set, remove, expected) = Self.queries[index]
        let sample = SampleRequest(path: target, fields: [("X", "%+")])
        let step = RequestStep.query(set: set, remove: remove)
        let (request, steps) = try apply(step, to: sample)
        #expect(request.head.pathText == expected)
        #expect(steps.applied.isEmpty == (target == expected))
    }

    @Test func `OPTIONS star has no path and no query`() throws {
        var request = try #require(SampleRequest(.options, path: ""))
        request.head.form = .asterisk
        let query = RequestStep.query(set: [(name: "t", value: Template("1"))], remove: [])
        for step in [query, url { $0.path = .literal(Template("/x")) }] {
            let (changed, steps) = try apply(step, to: request)
            #expect(changed.head.pathText == "*")
            #expect(steps.applied.isEmpty)
        }
    }
}
