// What each step does to a request, and what it leaves alone.

import LupinCore
import LupinPolicy
import Testing

@Suite struct RequestStepsTests {
    /// The request after the steps, with what became of them.
    private struct Outcome {
        var request: SampleRequest
        var steps: AppliedSteps

        var path: String { request.head.pathText }
    }

    private func apply(_ steps: RequestStep..., to request: SampleRequest?) throws -> Outcome {
        var request = try #require(request)
        let original = request.head
        let applied = try RequestSteps.apply(
            steps.map { PlannedStep(rule: 0, step: $0) },
            to: &request.head,
            original: original,
            id: ExchangeID(high: 0, low: 0x1D1),
            origin: &request.origin
        )
        return Outcome(request: request, steps: applied)
    }

    private static let sample = SampleRequest(
        path: "/a?b=c",
        fields: [
            ("Accept", "text/html"), ("X-Debug-A", "1"), ("Cookie", "a"), ("x-debug-b", "2"),
            ("cookie", "b"),
        ]
    )

    private static let header = Template([.text("<"), .header("accept"), .text(">"), .id])

    // MARK: Fields

    private static let fieldSteps: [(RequestStep, String, Bool)] = [
        (
            .set(name: "Cookie", value: Template("z")),
            "Accept: text/html\nX-Debug-A: 1\nCookie: z\nx-debug-b: 2", true
        ),
        (
            .set(name: "X-New", value: header),
            "Accept: text/html\nX-Debug-A: 1\nCookie: a\nx-debug-b: 2\ncookie: b"
                + "\nX-New: <text/html>000000000000000000000000000001d1", true
        ),
        (
            .add(name: "cookie", value: Template("c")),
            "Accept: text/html\nX-Debug-A: 1\nCookie: a\nx-debug-b: 2\ncookie: b\ncookie: c", true
        ),
        (
            .default(name: "accept", value: Template("*/*")),
            "Accept: text/html\nX-Debug-A: 1\nCookie: a\nx-debug-b: 2\ncookie: b", false
        ),
        (
            .default(name: "Accept-Language", value: Template("en")),
            "Accept: text/html\nX-Debug-A: 1\nCookie: a\nx-debug-b: 2\ncookie: b"
                + "\nAccept-Language: en", true
        ),
        (.remove(pattern: "x-debug-*"), "Accept: text/html\nCookie: a\ncookie: b", true),
        (.remove(pattern: "COOKIE"), "Accept: text/html\nX-Debug-A: 1\nx-debug-b: 2", true),
        (
            .remove(pattern: "x-none"),
            "Accept: text/html\nX-Debug-A: 1\nCookie: a\nx-debug-b: 2\ncookie: b", false
        ),
    ]

    @Test(arguments: fieldSteps.indices)
    func `a step changes the fields it names`(index: Int) throws {
        let (step, expected, isApplied) = Self.fieldSteps[index]
        let outcome = try apply(step, to: Self.sample)
        #expect(outcome.request.text == expected)
        #expect(outcome.steps.applied == (isApplied ? [step.summary] : []))
        #expect(outcome.steps.dropped.isEmpty)
        #expect(outcome.path == "/a?b=c")
    }

    @Test(arguments: [
        (#"/^(\S+).*/"#, "$1 (via lupin)", "curl/8 (via lupin)", true),
        ("curl*", "$0!", "curl/8 (x)!", true), ("curl/8 (x)", "wget", "wget", true),
        ("/^wget/", "x", "curl/8 (x)", false), ("/curl/", "curl", "curl/8 (x)", false),
    ])
    func `a rewrite replaces what matches`(
        pattern: String,
        replacement: String,
        expected: String,
        isApplied: Bool
    ) throws {
        let from = try ValuePattern(pattern)
        let outcome = try apply(
            .rewrite(name: "user-agent", from: from, to: replacement),
            to: SampleRequest(fields: [("User-Agent", "curl/8 (x)"), ("Accept", "curl/8 (x)")])
        )
        #expect(outcome.request.text == "User-Agent: \(expected)\nAccept: curl/8 (x)")
        #expect(outcome.steps.applied == (isApplied ? ["rewrite user-agent"] : []))
    }

    @Test func `a rewrite keeps bytes that are not UTF-8`() throws {
        var request = try #require(SampleRequest(fields: [("X", "a?c")]))
        let line = try #require(request.head.fields.lines.first)
        request.head.fields.storage[line.value.lowerBound + 1] = 0xE9
        let from = try ValuePattern("/c/")
        let outcome = try apply(.rewrite(name: "X", from: from, to: "d"), to: request)
        let fields = outcome.request.head.fields
        let value = try #require(fields.lines.first).value
        #expect(Array(fields.storage[value.range]) == [0x61, 0xE9, 0x64])
    }

    @Test func `steps neither see nor touch framing and hop-by-hop fields`() throws {
        var request = try #require(
            SampleRequest(fields: [
                ("Host", "x.dev"), ("Content-Length", "3"), ("Connection", "authorization"),
                ("Authorization", "theirs"), ("X", "1"),
            ])
        )
        request.head.fields.lines[2].isHopByHop = true
        request.head.fields.lines[3].isHopByHop = true
        let removed = try apply(.remove(pattern: "*"), to: request)
        #expect(
            removed.request.head.fields.pairs.map(\.name)
                == ["Host", "Content-Length", "Connection", "Authorization"]
        )
        // What the client named in Connection goes no further; the field a step sets does.
        for step in [
            RequestStep.default(name: "Authorization", value: Template("ours")),
            .set(name: "authorization", value: Template("ours")),
        ] {
            let outcome = try apply(step, to: request)
            let ours = try #require(outcome.request.head.fields.lines.last)
            #expect(ours.known == .authorization && !ours.isHopByHop)
            #expect(outcome.request.head.fields.lines.count == 6)
        }
    }

    @Test func `steps add up in order`() throws {
        let outcome = try apply(
            .set(name: "X", value: Template("1")),
            .remove(pattern: "x"),
            .default(name: "X", value: Template("2")),
            .add(name: "x", value: Template("3")),
            to: SampleRequest()
        )
        #expect(outcome.request.text == "X: 2\nx: 3")
        #expect(outcome.steps.applied == ["set x", "remove x", "default x", "add x"])
    }

    @Test func `a line that a step wrote can be sent as it lies`() throws {
        let outcome = try apply(.add(name: "X", value: Template("1")), to: Self.sample)
        let fields = outcome.request.head.fields
        let line = try #require(fields.lines.last)
        let text = fields.storage[line.name.lowerBound..<line.value.upperBound + 2]
        #expect(line.isContiguous)
        #expect(String(decoding: text, as: UTF8.self) == "X: 1\r\n")
    }

    // MARK: Interpolation

    @Test func `a missing field drops the step, and the others go on`() throws {
        let missing = Template([.text("a"), .header("X-Missing")])
        let outcome = try apply(
            .set(name: "Accept", value: missing),
            .add(name: "Y", value: Template("1")),
            .query(
                set: [(name: "q", value: Template("1")), (name: "r", value: missing)],
                remove: ["b"]
            ),
            to: Self.sample
        )
        #expect(outcome.steps.applied == ["add y"])
        #expect(outcome.steps.dropped.map(\.step) == ["set accept", "query q r b"])
        #expect(outcome.steps.dropped.first?.reason == "the request has no field X-Missing")
        #expect(outcome.request.head.fields.value(of: "Accept") == "text/html")
        #expect(outcome.path == "/a?b=c")
    }

    @Test func `a dropped url step changes nothing at all`() throws {
        var step = URLStep()
        step.host = Host("y.dev")
        step.path = .literal(Template([.header("X-Missing")]))
        let outcome = try apply(.url(step), to: Self.sample)
        #expect(outcome.request.origin.host.text == "x.dev")
        #expect(outcome.steps.applied.isEmpty && outcome.steps.dropped.count == 1)
        #expect(!outcome.steps.isHostFromFile)
    }

    @Test func `values come from the original request, whatever steps did before`() throws {
        let outcome = try apply(
            .remove(pattern: "accept"),
            .set(name: "X", value: Template([.header("Accept")])),
            to: Self.sample
        )
        #expect(outcome.request.head.fields.value(of: "X") == "text/html")
    }

    @Test(arguments: ["a\r\nB: c", "a\nb", "a\rb", "a\0b"])
    func `NUL, CR and LF after interpolation fail the request`(value: String) throws {
        var path = URLStep()
        path.path = .literal(Template(value))
        let from = try ValuePattern("text/html")
        for step in [
            RequestStep.set(name: "X", value: Template(value)),
            .add(name: "X", value: Template(value)),
            .default(name: "X", value: Template(value)),
            .rewrite(name: "accept", from: from, to: value),
            .query(set: [(name: "q", value: Template(value))], remove: []), .url(path),
        ] {
            #expect(throws: StepProblem(step: step.summary)) {
                _ = try apply(step, to: Self.sample)
            }
        }
    }
}
