// Which redirects lupin follows, what it sends then, and why it leaves the others to the client.

import LupinCore
import LupinPolicy
import Testing

struct RedirectPolicyTests {
    /// One redirect, with what the decision hangs on.
    private struct Case {
        var status: UInt16 = 302
        var locations = ["/new"]
        var method = Method.get
        var from = "http://a.dev/old?x=1"
        var fields: [(String, String)] = []
        var visited: [String] = []
        var isBodyReplayable = true
        var secretFields: [String] = []
        var policy = RedirectPolicy()
        var form = RequestHead.TargetForm.origin
    }

    private func request(_ sample: Case) throws -> (head: RequestHead, origin: Origin) {
        let url = try URIReference(sample.from)
        let authority = try #require(url.authority)
        let parts = String(decoding: authority, as: UTF8.self).split(separator: ":")
        let port = parts.count > 1 ? UInt16(parts[1]) : nil
        let path = url.path + (url.query.map { [0x3F] + $0 } ?? [])
        var request = try #require(
            SampleRequest(
                sample.method,
                url.scheme == "https" ? .https : .http,
                host: String(parts[0]),
                port: port,
                path: String(decoding: path, as: UTF8.self),
                fields: sample.fields
            )
        )
        request.head.form = sample.form
        return (request.head, request.origin)
    }

    private func decide(_ change: (inout Case) throws -> Void) throws -> RedirectDecision {
        var sample = Case()
        try change(&sample)
        let (head, origin) = try request(sample)
        var response = ResponseHead(status: sample.status)
        for location in sample.locations { response.fields.add(name: "Location", value: location) }
        return sample.policy.decide(
            response: response,
            request: head,
            origin: origin,
            visited: sample.visited,
            isBodyReplayable: sample.isBodyReplayable,
            secretFields: sample.secretFields
        )
    }

    private func target(_ change: (inout Case) throws -> Void) throws -> RedirectTarget {
        let decision = try decide(change)
        guard case .follow(let target) = decision else {
            let nothing: RedirectTarget? = nil
            return try #require(nothing, "\(decision)")
        }
        return target
    }

    private func reason(_ change: (inout Case) throws -> Void) throws -> String {
        guard case .deliver(let reason) = try decide(change) else { return "followed" }
        return reason
    }

    // MARK: Where to

    @Test(arguments: [
        ("/new", "http://a.dev/new", false), ("new", "http://a.dev/new", false),
        ("?y", "http://a.dev/old?y", false), ("//b.dev", "http://b.dev/", true),
        ("https://a.dev/", "https://a.dev/", true), ("http://a.dev:80/y", "http://a.dev/y", false),
        ("http://A.DEV./y#frag", "http://a.dev/y", false),
        ("http://a.dev:8080", "http://a.dev:8080/", true),
        ("HTTP://a.dev:/z", "http://a.dev/z", false),
        ("http://[::1]:81?q", "http://[::1]:81/?q", true), ("http://[::1]/", "http://[::1]/", true),
        ("http://b\u{FC}cher.dev/\u{FC}", "http://xn--bcher-kva.dev/%C3%BC", true),
        ("/a b", "http://a.dev/a%20b", false), ("http://sub.a.dev/", "http://sub.a.dev/", true),
        ("http://a.dev?x", "http://a.dev/?x", false),
    ])
    func `Location leads here`(location: String, url: String, isCrossOrigin: Bool) throws {
        let target = try target { $0.locations = [location] }
        #expect(target.url == url)
        #expect(target.isCrossOrigin == isCrossOrigin)
        #expect(target.pathAndQuery.hasPrefix("/"))
    }

    @Test(arguments: [
        ("ftp://a.dev/", "it leads neither to http nor to https"),
        ("javascript:alert(1)", "it leads neither to http nor to https"),
        ("mailto:x@y", "it leads neither to http nor to https"), ("http:new", "Location is no URL"),
        ("http://u:p@b.dev/", "it would send credentials from a response"),
        ("//u@b.dev/", "it would send credentials from a response"),
        ("http:///x", "Location has no valid host and port"),
        ("http://:80/", "Location has no valid host and port"),
        ("http://b.dev:0/", "Location has no valid host and port"),
        ("http://b.dev:65536/", "Location has no valid host and port"),
        ("http://b.dev:99999999999999999999/", "Location has no valid host and port"),
        ("http://b.dev:8a/", "Location has no valid host and port"),
        ("http://::1/", "Location has no valid host and port"),
        ("http://[::1/", "Location has no valid host and port"),
        ("http://[::1]x:80/", "Location has no valid host and port"),
        ("http://b c/", "Location has no valid host and port"),
        ("http://b.dev\\x/", "Location holds a backslash"), ("", "Location is empty"),
        ("1:x", "Location is no URL"), ("/a\u{1}", "Location holds a control byte"),
        ("http://apple.com/", "followed"),
        ("http://www.apple.com/", "www.apple.com is denied by *.apple.com"),
        ("http://WWW.Apple.COM./", "www.apple.com is denied by *.apple.com"),
        ("http://127.1/", "127.0.0.1 is denied by 127.0.0.1"),
    ])
    func `a redirect that leads nowhere is the client's`(location: String, reason: String) throws {
        let found = try self.reason {
            $0.locations = [location]
            $0.policy.deny = [try HostPattern("*.apple.com"), try HostPattern("127.0.0.1")]
        }
        #expect(found == reason)
    }

    @Test func `one Location counts, and the same one twice is one`() throws {
        #expect(try reason { $0.locations = [] } == "there is no Location")
        #expect(try reason { $0.locations = ["/a", "/b"] } == "there are several Locations")
        #expect(try target { $0.locations = ["/a", "/a"] }.pathAndQuery == "/a")
        let long = "/" + String(repeating: "x", count: URIReference.bytesMax)
        #expect(try reason { $0.locations = [long] } == "Location is too long")
    }

    @Test func `https never becomes http`() throws {
        let found = try reason {
            $0.from = "https://a.dev/"
            $0.locations = ["http://a.dev/x"]
        }
        #expect(found == "it leads from https to http")
        #expect(
            try target {
                $0.from = "https://a.dev/"
                $0.locations = ["//a.dev/x"]
            }.url == "https://a.dev/x"
        )
    }

    // MARK: Method and body

    @Test(arguments: [
        (301, "GET", "GET", false), (301, "HEAD", "HEAD", false), (301, "POST", "GET", true),
        (301, "PUT", "PUT", false), (302, "POST", "GET", true), (302, "DELETE", "DELETE", false),
        (302, "PATCH", "PATCH", false), (303, "GET", "GET", true), (303, "HEAD", "HEAD", true),
        (303, "POST", "GET", true), (303, "PUT", "GET", true), (303, "PROPFIND", "GET", true),
        (303, "OPTIONS", "GET", true), (307, "POST", "POST", false), (307, "GET", "GET", false),
        (308, "PUT", "PUT", false), (308, "HEAD", "HEAD", false),
    ])
    func `the status says which method goes on`(
        status: Int,
        method: String,
        expected: String,
        dropsBody: Bool
    ) throws {
        let change = { (sample: inout Case) in
            sample.status = UInt16(status)
            sample.method = Method(method)
        }
        let target = try target(change)
        #expect(target.method.token == expected)
        #expect(target.dropsBody == dropsBody)
        // A body that is still needed and was not kept ends it.
        let unkept = try decide {
            change(&$0)
            $0.isBodyReplayable = false
        }
        #expect(
            unkept
                == (dropsBody ? .follow(target) : .deliver(reason: "the request body was not kept"))
        )
    }

    @Test(arguments: [200, 101, 300, 304, 305, 306, 309, 401, 500])
    func `no other status is followed`(status: Int) throws {
        #expect(try reason { $0.status = UInt16(status) } == "status \(status) is not followed")
        #expect(!RedirectPolicy.isRedirect(UInt16(status)))
    }

    @Test func `what is about a server, a tunnel or a change of protocols is not followed`() throws
    {
        let connect = try reason {
            $0.method = .connect
            $0.form = .authority
        }
        #expect(connect == "CONNECT is not followed")
        #expect(try reason { $0.method = .trace } == "TRACE is not followed")
        let asterisk = try reason {
            $0.method = .options
            $0.form = .asterisk
        }
        #expect(asterisk == "OPTIONS is not followed")
        let upgrade = [("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket")]
        #expect(try reason { $0.fields = upgrade } == "an upgrade is not followed")
        let obsolete = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c")]
        #expect(try target { $0.fields = obsolete }.pathAndQuery == "/new")
    }

    // MARK: Fields

    private static let fields = [
        ("Accept", "*/*"), ("Authorization", "Basic x"), ("cookie", "a=1"), ("Content-Type", "a/b"),
        ("Content-Length", "3"), ("COOKIE", "b=2"), ("X-Api-Key", "k"),
        ("Content-Encoding", "gzip"),
        ("Digest", "d"), ("Expect", "100-continue"), ("Transfer-Encoding", "chunked"),
        ("Proxy-Authorization", "Basic y"), ("Last-Modified", "x"), ("Content-Digest", "d"),
    ]

    private static let content = [
        "content-type", "content-length", "content-encoding", "digest", "expect",
        "transfer-encoding", "last-modified", "content-digest",
    ]

    @Test func `fields that describe a body stay behind with it`() throws {
        let target = try target {
            $0.method = .post
            $0.fields = Self.fields
        }
        #expect(target.droppedFields == Self.content)
        let kept = try self.target {
            $0.status = 307
            $0.method = .post
            $0.fields = Self.fields
        }
        #expect(kept.droppedFields.isEmpty)
    }

    @Test(arguments: [
        "http://b.dev/", "http://a.dev:81/", "https://a.dev/", "http://www.a.dev/",
    ])
    func `credentials go to no other origin`(location: String) throws {
        let target = try target {
            $0.status = 307
            $0.fields = Self.fields
            $0.locations = [location]
            $0.secretFields = ["x-API-key", "X-None"]
        }
        #expect(target.droppedFields == ["authorization", "cookie", "x-api-key"])
        let kept = try self.target {
            $0.status = 307
            $0.fields = Self.fields
            $0.locations = [location]
            $0.secretFields = ["X-Api-Key"]
            $0.policy.crossOrigin = .keepCredentials
        }
        #expect(kept.droppedFields.isEmpty)
    }

    @Test func `the next request is the last one, changed as decided`() throws {
        var sample = Case()
        sample.method = .post
        sample.fields = Self.fields
        sample.locations = ["https://b.dev/z?q#f"]
        var (head, _) = try request(sample)
        head.form = .absolute
        head.scheme = .http
        let fixed = sample
        let target = try target { $0 = fixed }
        target.apply(to: &head)
        #expect(head.method == .get)
        #expect(head.fields.text(head.methodRange) == "GET")
        #expect(head.pathText == "/z?q")
        #expect(head.scheme == .https)
        #expect(head.fields.text(head.authority) == "b.dev")
        let names = head.fields.pairs.map(\.name)
        #expect(names == ["Accept", "X-Api-Key", "Proxy-Authorization"])
    }

    // MARK: How often

    @Test func `a circle ends at the first request that was made already`() throws {
        #expect(try reason { $0.locations = ["/old?x=1#again"] } == "it leads in a circle")
        let visited = ["GET http://a.dev/new", "GET http://a.dev/b"]
        #expect(try reason { $0.visited = visited } == "it leads in a circle")
        #expect(try reason { $0.visited = ["POST http://a.dev/new"] } == "followed")
        let post = try reason {
            $0.method = .post
            $0.status = 303
            $0.locations = ["/old?x=1"]
        }
        #expect(post == "followed")
    }

    @Test func `other cookies make it another request`() throws {
        let sample = try #require(SampleRequest(host: "a.dev"))
        var head = ResponseHead(status: 302)
        head.fields.add(name: "Location", value: "/")
        func isFollowed(_ sent: String, _ next: String, _ visited: [String] = []) -> Bool {
            let decision = RedirectPolicy().decide(
                response: head,
                request: sample.head,
                origin: sample.origin,
                visited: visited,
                isBodyReplayable: true,
                sentCookies: sent,
                cookies: { _ in next }
            )
            if case .follow = decision { return true }
            return false
        }
        #expect(isFollowed("", "a=1"))
        #expect(isFollowed("a=1", "a=2"))
        #expect(!isFollowed("a=1", "a=1"))
        #expect(!isFollowed("a=2", "a=1", ["GET http://a.dev/ a=1"]))
        #expect(!isFollowed("", ""))
    }

    @Test func `no more redirects are followed than the maximum`() throws {
        let visited = (1...10).map { "GET http://a.dev/\($0)" }
        #expect(try reason { $0.visited = Array(visited.dropLast()) } == "followed")
        #expect(try reason { $0.visited = visited } == "the maximum of 10 is reached")
        let one = try reason {
            $0.visited = ["GET http://a.dev/1"]
            $0.policy.maxCount = 1
        }
        #expect(one == "the maximum of 1 is reached")
    }

    @Test func `a request and a target name the same place alike`() throws {
        let (head, origin) = try request(Case())
        #expect(RedirectPolicy.visit(head, to: origin) == "GET http://a.dev/old?x=1")
        var bare = Case()
        bare.from = "http://a.dev?x"
        let (other, same) = try request(bare)
        #expect(RedirectPolicy.visit(other, to: same) == "GET http://a.dev/?x")
        #expect(try target { $0.locations = ["http://a.dev?x"] }.visit == "GET http://a.dev/?x")
    }
}
