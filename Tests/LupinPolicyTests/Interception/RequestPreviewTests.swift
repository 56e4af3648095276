// What a request becomes, with placeholders: every line that changes, and no secret in any of them.

import LupinCore
import LupinPolicy
import Testing

@Suite struct RequestPreviewTests {
    private static let redactor = Redactor(
        settings: .init(),
        secrets: ["hidden-in-the-file"],
        digest: { _ in 0 }
    )

    private func preview(
        _ steps: [RequestStep],
        to request: SampleRequest?,
        labels: [String] = [],
        tokens: [TokenDefinition] = [],
        parent: String? = nil,
        tellsVia: Bool = false,
        trace: Bool? = nil
    ) throws -> RequestPreview {
        let request = try #require(request)
        let rule = Rule.named("r") { rule in
            rule.steps = steps
            rule.flags[.trace] = trace
        }.labellingSecrets(labels)
        let rules = RuleSet([rule])
        var upstream = UpstreamSettings()
        upstream.via = tellsVia
        upstream.noProxy = []
        if let parent { upstream.proxy = .parent(try ParentProxy(url: parent)) }
        return RequestPreview(
            of: request.head,
            at: request.origin,
            plan: rules.plan(for: request.subject),
            rules: rules,
            tokens: tokens,
            labels: labels,
            upstream: upstream,
            redactor: Self.redactor
        )
    }

    private func text(_ preview: RequestPreview) -> String {
        preview.lines.map { line in
            switch line {
            case .same(let text): "  \(text)"
            case .removed(let text): "- \(text)"
            case .added(let text): "+ \(text)"
            }
        }.joined(separator: "\n")
    }

    private func token(_ name: String, _ source: TokenSource) -> TokenDefinition {
        TokenDefinition(name: name, line: 1, source: source)
    }

    @Test(arguments: [
        ("Incremental", "?1", "Incremental asks for the body piece by piece"),
        ("Content-Type", "application/grpc", "a body of application/grpc has no end to wait for"),
        ("Content-Length", "2000000", "the body is longer than 1 MiB"),
        ("Content-Encoding", "xz", "the body is coded with xz, which lupin can't undo"),
    ])
    func `a body step is told as the record tells it`(name: String, value: String, reason: String)
        throws
    {
        let edit = RequestStep.edit(.replace(try BodyPattern("a"), with: "b"))
        let usual = try preview([edit], to: SampleRequest(fields: [("Host", "x.dev")]))
        #expect(usual.steps.dropped.isEmpty && usual.notes.count == 1)
        let fields = [("Host", "x.dev"), (name, value)]
        let special = try preview([edit], to: SampleRequest(fields: fields))
        #expect(special.steps.notes.last?.hasSuffix(" (dropped: \(reason))") == true)
        #expect(special.notes.isEmpty)
    }

    @Test func `nothing changes without steps`() throws {
        let preview = try preview([], to: SampleRequest(fields: [("Host", "x.dev"), ("A", "b")]))
        #expect(text(preview) == "  GET http://x.dev/\n  Host: x.dev\n  A: b")
        #expect(preview.problem == nil && preview.notes.isEmpty)
    }

    @Test func `every changed line is told, the target and its Host too`() throws {
        var url = URLStep()
        url.host = Host("y.dev")
        url.port = 8080
        let preview = try preview(
            [
                .remove(pattern: "x-debug-*"), .set(name: "X-Env", value: Template("dev")),
                .set(name: "X-Id", value: Template([.id])), .url(url),
            ],
            to: SampleRequest(
                path: "/a/../b",
                fields: [("Host", "x.dev"), ("X-Debug-A", "1"), ("Accept", "c")]
            ),
            tellsVia: true
        )
        #expect(
            text(preview) == """
                - GET http://x.dev/a/../b
                - Host: x.dev
                - X-Debug-A: 1
                + GET http://y.dev:8080/b
                + Host: y.dev:8080
                  Accept: c
                + X-Env: dev
                + X-Id: <id>
                + Via: 1.1 lupin-<run>
                """
        )
        #expect(preview.origin.hostAndPort == "y.dev:8080")
    }

    @Test(arguments: [
        (nil, true), ("http://127.0.0.1:81", true), ("http://10.9.9.9:81", false),
        ("https://p.corp", false),
    ])
    func `a token for this machine goes by no parent elsewhere`(parent: String?, may: Bool) throws {
        for host in ["127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"] {
            let preview = try preview(
                [.auth(token: "me")],
                to: SampleRequest(host: host),
                tokens: [token("me", .bearer(SecretText("v4ult")))],
                parent: parent
            )
            #expect((preview.problem == nil) == may)
            if !may {
                #expect(preview.problem?.contains("list the host in upstream.no_proxy") == true)
            }
        }
    }

    @Test func `labels stand for secrets, in fields and in the query`() throws {
        let preview = try preview(
            [
                .set(
                    name: "Authorization",
                    value: Template([.text("Bearer "), .secret("s3cret")])
                ),
                .set(name: "X-Two", value: Template([.secret("two"), .token("vault")])),
                .query(set: [("key", Template([.secret("three")]))], remove: []),
            ],
            to: SampleRequest(path: "/?code=geheim", fields: [("Host", "x.dev")]),
            labels: ["<secret A>", "<file b/c>", "<secret C>"],
            tokens: [token("vault", .bearer(SecretText("v4ult")))]
        )
        #expect(
            text(preview) == """
                - GET http://x.dev/?code=REDACTED
                + GET http://x.dev/?code=REDACTED&key=<secret C>
                  Host: x.dev
                + Authorization: Bearer <secret A>
                + X-Two: <file b/c><token vault>
                """
        )
    }

    @Test func `hidden fields and secrets of the file show no value`() throws {
        let preview = try preview(
            [.set(name: "Authorization", value: Template("Bearer from-the-file"))],
            to: SampleRequest(
                fields: [
                    ("Host", "x.dev"), ("Cookie", "a=b"), ("Authorization", "Basic abc"),
                    ("X-Any", "hidden-in-the-file"),
                ]
            )
        )
        #expect(
            text(preview) == """
                  GET http://x.dev/
                  Host: x.dev
                  Cookie: REDACTED
                - Authorization: REDACTED
                + Authorization: REDACTED
                  X-Any: REDACTED
                """
        )
    }

    @Test func `tokens are attached by name, and those that wait for a challenge are noted`() throws
    {
        let basic = TokenSource.basic(
            user: SecretText("u"),
            password: SecretText("p"),
            preemptive: false
        )
        let tokens = [token("gh", .bearer(SecretText("ghp"))), token("old", basic)]
        let now = try preview(
            [.auth(token: "gh")],
            to: SampleRequest(.get, .https, fields: [("Host", "x.dev")]),
            tokens: tokens
        )
        #expect(text(now).hasSuffix("+ Authorization: Bearer <token gh>"))
        #expect(now.steps.applied == ["auth gh"])
        let later = try preview(
            [.auth(token: "old")],
            to: SampleRequest(.get, .https, fields: [("Host", "x.dev")]),
            tokens: tokens
        )
        #expect(later.lines.count == 2)
        #expect(later.notes == ["Authorization of token old is sent once the server asks"])
    }

    @Test func `a token that would go astray or in clear is refused`() throws {
        let tokens = [token("gh", .bearer(SecretText("ghp")))]
        let clear = try preview([.auth(token: "gh")], to: SampleRequest(), tokens: tokens)
        #expect(clear.problem?.contains("in clear") == true)
    }

    @Test func `a line end from the client stops the request`() throws {
        let request = SampleRequest(fields: [("Host", "x.dev"), ("A", "b\nc")])
        let preview = try preview([.set(name: "B", value: Template([.header("a")]))], to: request)
        #expect(preview.problem?.contains("set b") == true)
    }

    @Test func `a step whose field is missing is dropped`() throws {
        let preview = try preview(
            [.set(name: "B", value: Template([.header("a")])), .delay(.seconds(2))],
            to: SampleRequest(fields: [("Host", "x.dev")])
        )
        #expect(preview.steps.dropped.map(\.step) == ["set b"])
        #expect(preview.notes == ["every attempt waits 2s before it is sent"])
    }

    @Test func `what becomes of a trace is told`() throws {
        let request = SampleRequest()
        let on = try preview([], to: request, trace: true)
        #expect(on.notes == ["traceparent names lupin's span, where telemetry exports traces"])
        let off = try preview([], to: request, trace: false)
        #expect(off.notes == ["it is not traced, and traceparent passes untouched"])
        #expect(try preview([], to: request).notes.isEmpty)
    }
}
