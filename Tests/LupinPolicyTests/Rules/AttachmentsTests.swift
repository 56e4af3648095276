// What lupin attaches to a request, and what follows from it for owners, stores and partitions.

import LupinCore
import LupinPolicy
import LupinTestKit
import Testing

struct AttachmentsTests {
    private static let files = CertificateFiles(certificate: "c.pem", key: "c.key")
    private static let parent = ParentProxy(host: Host(.v4(0x7F00_0001)), port: 3128)

    private static func identity(_ userinfo: String) -> ParentProxy {
        var proxy = parent
        proxy.userinfo = userinfo
        return proxy
    }

    /// Every kind, whether it is for the owner, what it makes of a response, whether it parts.
    private static let kinds: [(Attached, Attached.Gate, Attached.Storing, parts: Bool)] = [
        (.token("t"), .owner, .asAuthenticated, true),
        (.secret, .owner, .asAuthenticated, true),
        (.cookies(jar: "j"), .owner, .asAuthenticated, true),
        (.clientCertificate(files), .owner, .asAuthenticated, true),
        (.parentIdentity(identity("u:p")), .anybody, .asUsual, true),
        (.clientIdentity("Basic YTpi"), .anybody, .asUsual, true),
        (.privateResponses, .anybody, .asUsual, false),
        (.followedRedirect, .anybody, .never, false),
        (.connectionLogin, .anybody, .never, false),
    ]

    @Test(arguments: kinds.indices)
    func `each kind says whom it is for and what it makes of a response`(index: Int) {
        let (kind, gate, storing, parts) = Self.kinds[index]
        #expect(kind.gate == gate)
        let attachments = Attachments([kind])
        #expect(attachments.storing == storing)
        #expect(attachments.partition.isEmpty != parts)
    }

    private static let steps: [(String, @Sendable (inout Rule) -> Void, [Attached])] = [
        ("nothing", { $0.steps = [.set(name: "a", value: Template("b"))] }, []),
        ("auth", { $0.steps = [.auth(token: "t")] }, [.token("t")]),
        (
            "a token in a value",
            { $0.steps = [.query(set: [("q", Template([.token("t")]))], remove: [])] },
            [.token("t")]
        ),
        (
            "a secret in a value",
            { $0.steps = [.add(name: "a", value: Template([.text("x"), .secret("s")]))] },
            [.secret]
        ),
        (
            "a secret in the path",
            {
                var url = URLStep()
                url.path = .literal(Template([.secret("s")]))
                $0.steps = [.url(url)]
            }, [.secret]
        ),
        (
            "a secret in a response",
            { $0.responseSteps = [.set(name: "a", value: Template([.secret("s")]))] },
            [.secret]
        ),
        ("a jar", { $0.cookieJar = .some("j") }, [.cookies(jar: "j")]),
        ("a shared cache", { $0.cache = .some(.standard) }, []),
        (
            "a private cache",
            {
                var policy = CachePolicy.standard
                policy.mode = .private
                $0.cache = .some(policy)
            }, [.privateResponses]
        ),
    ]

    @Test(arguments: steps.indices)
    func `a plan attaches what its rules say`(index: Int) throws {
        let (key, change, expected) = Self.steps[index]
        let set = RuleSet([.named("r", try .host("x.dev"), change)])
        let request = try #require(SampleRequest(.get, .https, host: "x.dev"))
        let plan = set.plan(for: request.subject)
        #expect(plan.attachments == expected, "\(key)")
        #expect(plan.isForOwner == expected.contains { $0.gate == .owner }, "\(key)")
        let connect = try #require(SampleRequest(.connect, .https, host: "x.dev", path: ""))
        #expect(set.plan(for: connect.subject).attachments.isEmpty, "\(key)")
    }

    private func attachments(
        _ plan: Plan?,
        _ scheme: Scheme,
        by parent: ParentProxy? = nil,
        defaultCertificate: CertificateFiles? = files
    ) throws -> Attachments {
        Attachments(
            of: plan,
            defaultCertificate: defaultCertificate,
            at: Origin(scheme: scheme, host: try #require(Host("x.dev")), port: 1),
            by: parent,
            version: "v"
        )
    }

    @Test func `a certificate is attached where lupin speaks TLS`() throws {
        #expect(try attachments(nil, .https).all == [.clientCertificate(Self.files)])
        #expect(try attachments(nil, .http).isEmpty)
        let none = RuleSet([.named("r", Match()) { $0.clientCertificate = .some(nil) }])
        let request = try #require(SampleRequest(.get, .https, host: "x.dev"))
        let plan = none.plan(for: request.subject)
        #expect(try attachments(plan, .https).isEmpty)
        #expect(try !plan.isForOwner(at: origin(.https), isConnect: false, defaultCertificate: nil))
        #expect(
            try !plan.isForOwner(
                at: origin(.https),
                isConnect: false,
                defaultCertificate: Self.files
            )
        )
    }

    private func origin(_ scheme: Scheme) throws -> Origin {
        Origin(scheme: scheme, host: try #require(Host("x.dev")), port: 1)
    }

    @Test func `a certificate is for the owner unless the request is a blind CONNECT`() throws {
        func asks(_ scheme: Scheme, isConnect: Bool) throws -> Bool {
            Plan.isForOwner(
                at: try origin(scheme),
                isConnect: isConnect,
                defaultCertificate: Self.files
            )
        }
        #expect(try asks(.https, isConnect: false))
        #expect(try !asks(.https, isConnect: true))
        #expect(try !asks(.http, isConnect: false))
    }

    @Test func `only a parent that is told who asks parts what it brings`() throws {
        let open = try attachments(nil, .http, by: Self.parent)
        #expect(open.isEmpty)
        let one = try attachments(nil, .http, by: Self.identity("one:x"))
        let two = try attachments(nil, .http, by: Self.identity("two:x"))
        #expect(one.partition != two.partition)
        #expect(one.storing == .asUsual)
    }

    @Test func `other rules part what their secrets brought`() {
        let one = Attachments([.token("t")], version: "1")
        let two = Attachments([.token("t")], version: "2")
        #expect(one.partition != two.partition)
        // A certificate is its file, whatever the rules are.
        let shown = Attachments([.clientCertificate(Self.files)], version: "1")
        let again = Attachments([.clientCertificate(Self.files)], version: "2")
        #expect(shown.partition == again.partition)
    }
}
