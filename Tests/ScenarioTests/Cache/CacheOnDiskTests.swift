// Stored responses on disk: they outlive the proxy, and whatever is wrong with a file is a miss.
import Foundation
import LupinTestKit
import Testing

/// A folder with stored responses, and an origin that outlives the proxies before it.
final class DiskStory {
    let folder: Folder
    let range: RangeOrigin
    let origin: ScriptedOrigin
    private let store: String

    /// `store` are further keys; bodies have `count` bytes, and those up to 64 KiB fit in memory.
    init(
        _ count: Int = 300_000,
        store: String = "disk_max_object: 64MiB",
        fields: [String] = ["Cache-Control: max-age=600", "ETag: \"v1\""],
        breaks: [Int?] = []
    ) throws {
        folder = try Folder()
        let range = RangeOrigin(count, breaks: breaks, fields: fields)
        self.range = range
        origin = try ScriptedOrigin { range.serve($0) }
        self.store = store
    }

    deinit { origin.stop() }

    var path: String { folder.path + "/store" }

    func rules(_ keys: String = "cache: standard") -> String {
        let size = "memory: 1MiB, max_object: 64KiB, disk: 64MiB"
        return everywhere(keys, "cache: {store: {\(size), path: \(path), \(store)}}")
    }

    /// One life of a proxy.
    func run(
        _ keys: String = "cache: standard",
        _ body: @Sendable @escaping (ProxyFixture) async throws -> Void
    ) async throws {
        try await Self.live(under: rules(keys), body)
    }

    /// One life of a proxy whose time stands still: a busy machine's disk is never too slow for it.
    static func live(
        under rules: String,
        _ body: @Sendable @escaping (ProxyFixture) async throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, clock: VirtualClock(), body)
    }

    /// A life in which one URL is asked for.
    func fetch(_ path: String = "/", _ fields: String...) async throws {
        let url = origin.url(path)
        try await run { proxy in
            let client = try proxy.client()
            try client.send("GET", url, fields)
            _ = try client.response()
        }
    }

    /// Every file of a body.
    func bodies() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        return names.map { path + "/" + $0 }.filter {
            let attributes = try? FileManager.default.attributesOfItem(atPath: $0)
            return (attributes?[.size] as? NSNumber)?.intValue == range.body.count
        }
    }
}

struct CacheOnDiskTests {
    @Test func `many that ask at once for what lies on disk find it`() async throws {
        let story = try DiskStory(100)
        try await story.fetch()
        let url = story.origin.url("/")
        try await story.run { proxy in
            let clients = try (0..<20).map { _ in try proxy.client() }
            for client in clients { try client.send("GET", url, ["Cache-Control: only-if-cached"]) }
            for client in clients { #expect(try client.response().status == 200) }
        }
    }

    @Test(arguments: [0, 1, 1000, 300_000, 3_000_000])
    func `what is stored outlives the proxy`(count: Int) async throws {
        let story = try DiskStory(count)
        try await story.fetch()
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            for _ in 0..<3 {
                let hit = try client.get(url)
                #expect(hit.isHit)
                #expect(hit.body == body)
                #expect(hit["ETag"] == "\"v1\"")
                #expect(hit["Age"] != nil)
            }
            let served = try proxy.records(3)
            #expect(served.allSatisfy { $0["http.response.body.size"] == "\(count)" })
        }
        #expect(story.range.requests.count == 1)
    }

    @Test func `ranges, conditions and HEAD are answered from a file`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            let part = try client.get(url, "Range: bytes=100000-299999")
            #expect(part.status == 206)
            #expect(part.body == Array(body[100_000...]))
            let several = try client.get(url, "Range: bytes=0-9, 200000-200009")
            #expect(several.status == 206)
            #expect(several.body.count > 20)
            #expect(try client.get(url, "If-None-Match: \"v1\"").status == 304)
            #expect(try client.get(url, "Range: bytes=300000-").status == 416)
            try client.send("HEAD", url)
            let head = try client.response(to: "HEAD")
            #expect(head["Content-Length"] == "300000")
            #expect(head.isHit)
        }
        #expect(story.range.requests.count == 1)
    }

    @Test func `what memory has forgotten is on disk`() async throws {
        let story = try DiskStory(15_000)
        let origin = story.origin
        let rules = story.rules().replacing("memory: 1MiB", with: "memory: 64KiB")
        try await DiskStory.live(under: rules) { proxy in
            let client = try proxy.client()
            for i in 0..<10 { try client.get(origin.url("/\(i)")) }
            for i in 0..<10 { #expect(try client.get(origin.url("/\(i)")).isHit) }
        }
        #expect(story.range.requests.count == 10)
    }

    @Test func `a 304 renews what lies on disk`() async throws {
        let story = try DiskStory(
            fields: ["Cache-Control: max-age=600", "Age: 1000", "ETag: \"v1\""]
        )
        try await story.fetch()
        let url = story.origin.url()
        let body = story.range.body
        let rules = story.rules()
        // The origin gives the whole again: what is stored is replaced.
        try await DiskStory.live(under: rules) { proxy in
            let again = try proxy.client().get(url)
            #expect(again.body == body)
            #expect(again.caching.hasPrefix("lupin; fwd=stale"))
        }
        #expect(story.range.requests.count == 2)
        #expect(story.range.requests[1]["If-None-Match"] == "\"v1\"")
        #expect(try story.bodies().count == 1)
    }

    @Test func `an unsafe method drops what lies on disk`() async throws {
        let story = try DiskStory()
        let url = story.origin.url()
        try await story.fetch()
        try await story.run { proxy in
            let client = try proxy.client()
            try client.send("DELETE", url)
            _ = try client.response()
        }
        #expect(try story.bodies().isEmpty)
        try await story.run { proxy in
            let wish = "Cache-Control: only-if-cached"
            let client = try proxy.client()
            #expect(try client.get(url, wish).status == 504)
        }
    }

    @Test func `a download that breaks off leaves nothing`() async throws {
        let story = try DiskStory(breaks: [200_000])
        let url = story.origin.url()
        try await story.run("cache: standard, retry: none") { proxy in
            let client = try proxy.client()
            try client.send("GET", url)
            _ = try client.stream.head()
            #expect(try client.stream.untilEnd().bytes.count == 200_000)
        }
        #expect(try story.bodies().isEmpty)
        let names = try FileManager.default.subpathsOfDirectory(atPath: story.path)
        #expect(names.filter { $0.hasPrefix("drafts/") } == [])
    }

    @Test func `what is too long for the disk is delivered and not stored`() async throws {
        let story = try DiskStory(300_000, store: "disk_max_object: 200KiB")
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let response = try proxy.client().get(url)
            #expect(response.body == body)
            #expect(response.caching == "lupin; fwd=uri-miss; detail=too-large")
        }
        #expect(try story.bodies().isEmpty)
    }

    @Test func `a damaged file is fetched anew`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let file = try #require(try story.bodies().first)
        var bytes = try #require(FileManager.default.contents(atPath: file))
        bytes[123_456] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            let response = try client.get(url)
            #expect(response.caching == "lupin; fwd=uri-miss; stored")
            #expect(response.body == body)
            #expect(try client.get(url).isHit)
        }
        #expect(story.range.requests.count == 2)
    }

    @Test func `a file that is gone is fetched anew`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        for file in try story.bodies() { try FileManager.default.removeItem(atPath: file) }
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            #expect(try client.get(url).body == body)
        }
        #expect(story.range.requests.count == 2)
    }

    @Test func `private responses are found by their owner again, and by nobody else`()
        async throws
    {
        let story = try DiskStory(fields: ["Cache-Control: private, max-age=600"])
        let url = story.origin.url()
        let keys = "cache: {mode: private}"
        try await story.run(keys) { proxy in
            try proxy.client().get(url, "Authorization: Bearer one-secret")
        }
        try await story.run(keys) { proxy in
            let client = try proxy.client()
            #expect(try client.get(url, "Authorization: Bearer one-secret").isHit)
            #expect(try !client.get(url, "Authorization: Bearer another").isHit)
        }
        let names = try FileManager.default.subpathsOfDirectory(atPath: story.path)
        for name in names {
            let content = FileManager.default.contents(atPath: story.path + "/" + name) ?? Data()
            #expect(content.range(of: Data("one-secret".utf8)) == nil, "\(name)")
        }
        let folder = try FileManager.default.attributesOfItem(atPath: story.path)
        #expect((folder[.posixPermissions] as? NSNumber)?.int16Value == 0o700)
    }

    @Test(arguments: ["/?access_token=hidden-value", "/?a=1&api_key=hidden-value"])
    func `a URL with a secret in it is kept in memory only`(path: String) async throws {
        let story = try DiskStory(1000)
        let url = story.origin.url(path)
        try await story.run { proxy in
            let client = try proxy.client()
            try client.get(url)
            #expect(try client.get(url).isHit)
        }
        #expect(try story.bodies().isEmpty)
    }

    @Test func `cookies are kept in memory only`() async throws {
        let fields = ["Cache-Control: private, max-age=600", "Set-Cookie: id=hidden-value"]
        let story = try DiskStory(1000, fields: fields)
        let url = story.origin.url()
        try await story.run("cache: {mode: private}") { proxy in
            let client = try proxy.client()
            try client.get(url)
            #expect(try client.get(url).isHit)
        }
        #expect(try story.bodies().isEmpty)
        let rules = story.rules("cache: {mode: private}")
        try await DiskStory.live(under: rules.replacing("memory: 1MiB", with: "memory: 0")) {
            proxy in
            let client = try proxy.client()
            for _ in 0..<2 {
                #expect(try client.get(url).caching == "lupin; fwd=uri-miss; detail=store-failed")
            }
        }
    }

    /// It is no error, as each command of `lupin exec` beside a lupin is such a second one.
    @Test func `a second lupin in the same folder goes on without the disk, and says so`()
        async throws
    {
        let story = try DiskStory(1000)
        let (url, rules) = (story.origin.url(), story.rules())
        try await story.run { first in
            try first.client().get(url)
            try await DiskStory.live(under: rules) { second in
                let client = try second.client()
                #expect(try !client.get(url).isHit)
                #expect(try client.get(url).isHit)
                let notices = second.diagnostics.notices
                #expect(notices.contains { $0.contains("cache on disk is off: ") })
                #expect(second.warnings.isEmpty)
            }
            #expect(try first.client().get(url).isHit)
        }
    }

    @Test func `without room in memory the disk is enough`() async throws {
        let story = try DiskStory(1000)
        let (url, body) = (story.origin.url(), story.range.body)
        let rules = story.rules().replacing("memory: 1MiB", with: "memory: 0")
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            for i in 0..<4 {
                let response = try client.get(url)
                #expect(response.isHit == (i > 0))
                #expect(response.body == body)
            }
        }
        #expect(story.range.requests.count == 1)
    }

    @Test func `what is invalidated while the disk is off does not come back with it`()
        async throws
    {
        let story = try DiskStory()
        let (url, rules) = (story.origin.url(), story.rules())
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.get(url)
            _ = try await proxy.reload(rules.replacing("disk: 64MiB", with: "disk: off"))
            try client.send("DELETE", url)
            _ = try client.response()
            _ = try await proxy.reload(rules)
            #expect(try client.get(url).caching == "lupin; fwd=uri-miss; stored")
        }
    }

    @Test func `lists are as long as numbers are large, and what is purged stays so`()
        async throws
    {
        let story = try DiskStory(1000)
        let url = story.origin.url()
        try await ProxyFixture.run(ProxyFixture.adminSocket + story.rules()) { proxy in
            let client = try proxy.client()
            try client.get(url)
            try client.get(url)
            let socket = ["--socket", proxy.adminPath]
            let list = try Lupin.run(["cache", "list", "--limit", "\(Int.max)"] + socket)
            #expect(list.output.contains(url))
            let purge = try Lupin.run(["cache", "purge", url] + socket)
            #expect(purge.output.hasPrefix("dropped 1 response, "))
            let wish = "Cache-Control: only-if-cached"
            #expect(try client.get(url, wish).status == 504)
        }
        #expect(try story.bodies().isEmpty)
    }

    @Test func `the disk comes and goes with a reload`() async throws {
        let story = try DiskStory()
        let (url, rules) = (story.origin.url(), story.rules())
        let off = rules.replacing("disk: 64MiB", with: "disk: off")
        try await DiskStory.live(under: off) { proxy in
            let client = try proxy.client()
            #expect(try client.get(url).caching == "lupin; fwd=uri-miss; detail=too-large")
            _ = try await proxy.reload(rules)
            #expect(try client.get(url).caching == "lupin; fwd=uri-miss; stored")
            #expect(try client.get(url).isHit)
            _ = try await proxy.reload(off)
            #expect(try client.get(url).caching == "lupin; fwd=uri-miss; detail=too-large")
            _ = try await proxy.reload(rules)
            #expect(try client.get(url).isHit)
        }
    }
}
