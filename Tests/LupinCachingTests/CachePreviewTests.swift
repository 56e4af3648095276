// What is told of a cache policy for one request: whose responses, whether any answers, how long.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct CachePreviewTests {
    private func preview(
        _ policy: CachePolicy = .standard,
        _ method: Method = .get,
        _ pairs: CacheFields = [],
        hasContent: Bool = false,
        attachments: [Attached] = [],
        user: String? = nil,
        isUserKnown: Bool = true
    ) -> CachePreview {
        CachePreview(
            policy,
            of: get(pairs, method: method),
            hasContent: hasContent,
            attachments: Attachments(attachments),
            user: user,
            isUserKnown: isUserKnown
        )
    }

    @Test func `standard is told in full`() {
        let preview = preview()
        #expect(
            preview.lines == [
                "shared by all users", "may be answered from the cache",
                "its response is stored where it allows that",
                "fresh as long as the origin says; else 10% of the time since Last-Modified, "
                    + "at most 24h",
                "stale only as far as the origin grants it",
                "identical requests wait while it is fetched",
            ]
        )
        #expect(preview.bypass == nil && preview.refusal == nil && preview.partition.isEmpty)
    }

    @Test func `who shares depends on the user, or on cookies where it is not known`() {
        let policy = CachePolicy.changed { $0.mode = .private }
        let known = preview(policy, .get, [("Cookie", "a=b")])
        #expect(known.partition == [.user(nil)])
        let unknown = preview(policy, .get, [("Cookie", "a=b")], isUserKnown: false)
        #expect(unknown.partition == [.user(nil), .cookie])
        #expect(
            unknown.lines[0]
                == "private: for each user alone, apart by its Cookie, since its user is not known"
        )
    }

    @Test func `a PURGE is told as what it is`() {
        let preview = preview(.changed { $0.ttl = .seconds(60) }, .purge)
        #expect(
            preview.lines == [
                "what is stored of the URL is dropped, the client's and the one that steps make "
                    + "of it, for everybody",
                "only for the user that lupin runs as and root, on this machine; others get 403",
            ]
        )
    }

    @Test func `what overrides the origin is told first`() {
        let policy = CachePolicy.changed {
            $0.ttl = .seconds(3600)
            $0.ignored = [.private, .cookies]
            $0.staleIfError = .seconds(86400)
            $0.staleWhileRevalidate = .seconds(30)
            $0.isCollapsing = false
            $0.obeysNoVarySearch = true
            $0.modify = [.remove(pattern: "server"), .set(name: "X-A", value: Template("1"))]
        }
        #expect(
            preview(policy).lines == [
                "OVERRIDES the origin: ttl 1h, ignore private, ignore cookies",
                "shared by all users", "may be answered from the cache",
                "its response is stored where it allows that",
                "a response that sets cookies is stored without them",
                "fresh for 1h, whatever the origin says",
                "stale for 30s while it is validated, for 1d in place of an error, or longer "
                    + "where the origin grants it",
                "one response for all URLs that its No-Vary-Search calls equivalent",
                "changed before it is stored: remove server, set x-a",
            ]
        )
    }

    @Test func `whose responses they are is told`() {
        let credentials: CacheFields = [("Authorization", "Bearer x")]
        func line(_ preview: CachePreview) -> String? { preview.lines.first }
        #expect(line(preview(.privateMode)) == "private: for each user alone")
        #expect(line(preview(.privateMode, user: "ann")) == "private: for user ann alone")
        #expect(
            line(preview(.privateMode, .get, credentials))
                == "private: for each user alone, apart by its Authorization"
        )
        #expect(
            line(preview(.privateMode, .get, credentials, attachments: [.token("a")]))
                == "private: for each user alone, apart by its Authorization and token a"
        )
        #expect(
            line(preview(attachments: [.token("a")])) == "shared by all users, apart by token a"
        )
        #expect(preview(.standard, .get, credentials).partition.isEmpty)
        let parts = preview(.privateMode, .get, credentials, attachments: [.token("a")]).partition
        #expect(parts.map(\.text) == ["user", "authorization", "token a"])
    }

    @Test(
        arguments: [
            ([("Authorization", "x")], [], true), ([], [.token("a")], true), ([], [], false),
        ] as [(CacheFields, [Attached], Bool)]
    )
    func `a shared cache needs the origin's word for authenticated requests`(
        pairs: CacheFields,
        attachments: [Attached],
        isAuthenticated: Bool
    ) {
        let shared = preview(.standard, .get, pairs, attachments: attachments)
        let line =
            "its response is stored only with public, must-revalidate or s-maxage: the "
            + "request is authenticated (RFC 9111 §3.5)"
        #expect(shared.lines.contains(line) == isAuthenticated)
        #expect(shared.isAuthenticated == isAuthenticated)
        #expect(!preview(.privateMode, .get, pairs, attachments: attachments).lines.contains(line))
    }

    @Test(
        arguments: [
            (Method.post, [], false, BypassReason.method, NoStoreReason.method),
            (.head, [], false, nil, .method),
            (.query, [], true, nil, nil),
            (.get, [], true, .content, .requestContent),
            (.get, [("Cache-Control", "no-store")], false, .requestNoStore, .requestNoStore),
            (.get, [("If-Match", "\"a\"")], false, .precondition, nil),
            (.get, [("Upgrade", "x"), ("Connection", "upgrade")], false, .upgrade, nil),
            (.get, [], false, nil, nil),
        ] as [(Method, CacheFields, Bool, BypassReason?, NoStoreReason?)]
    )
    func `what a request rules out is told by the names of the reasons`(
        method: Method,
        pairs: CacheFields,
        hasContent: Bool,
        bypass: BypassReason?,
        refusal: NoStoreReason?
    ) {
        let preview = preview(.standard, method, pairs, hasContent: hasContent)
        #expect(preview.bypass == bypass)
        #expect(preview.refusal == refusal)
        let text = preview.lines.joined(separator: "\n")
        if let bypass {
            let line = "never answered from the cache: \(bypass.rawValue) (\(bypass.sentence))"
            #expect(text.contains(line))
        }
        if let refusal {
            #expect(text.contains("its response is not stored: \(refusal.token) ("))
        } else {
            #expect(text.contains("fresh as long as the origin says"))
        }
    }

    @Test(arguments: [
        ("no-cache", ", once the origin has validated it (no-cache)"),
        ("max-age=60", ", if it is no older than 1m"), ("max-age=0", ", if it is no older than 0s"),
        ("min-fresh=5", ", if it stays fresh for 5s"), ("max-stale", ", though it be stale"),
        ("max-stale=90", ", though it be stale for no more than 90s"),
        ("only-if-cached", ", or with 504 (only-if-cached)"),
        ("max-age=99999999999999999999", ", if it is no older than 2147483648s"),
    ])
    func `what the client asks of caches is told`(directives: String, ending: String) {
        let lines = preview(.standard, .get, [("Cache-Control", directives)]).lines
        #expect(lines.contains("may be answered from the cache\(ending)"), "\(lines)")
    }

    @Test func `ranges, cookies and unsafe methods have lines of their own`() {
        let range = "a range: parts that are stored answer it, and a 206 is stored as a part"
        #expect(preview(.standard, .get, [("Range", "bytes=0-9")]).lines.contains(range))
        #expect(!preview().lines.contains(range))
        let cookie =
            "it carries Cookie: a response that sets one is not stored unless it is public"
        #expect(preview(.standard, .get, [("Cookie", "a=b")]).lines.contains(cookie))
        #expect(!preview(.privateMode, .get, [("Cookie", "a=b")]).lines.contains(cookie))
        let stale = "if it succeeds, what is stored under its URL is out of date"
        #expect(preview(.standard, .post).lines.last == stale)
        #expect(!preview(.standard, .head).lines.contains(stale))
        let both = preview(.standard, .post, [("Cache-Control", "only-if-cached")]).lines
        #expect(both.contains { $0.hasSuffix("only-if-cached asks for nothing else: 504") })
    }
}
