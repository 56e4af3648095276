// Responses for URLs that No-Vary-Search calls equivalent, on disk: found again, and only by those
// who may have them.
import Foundation
import LupinTestKit
import Testing

struct EquivalentURLOnDiskTests {
    private static let field = "No-Vary-Search: params=(\"utm\" \"token\")"
    private static let fields = ["Cache-Control: max-age=600", "ETag: \"v1\"", field]
    private static let keys = "cache: {no_vary_search: true}"
    private static let wish = "Cache-Control: only-if-cached"

    /// A folder in which the response for one URL lies.
    private func story(
        _ count: Int = 1000,
        _ path: String = "/a?x=1&utm=1",
        keys: String = keys,
        fields: [String] = fields
    ) async throws -> DiskStory {
        let story = try DiskStory(count, fields: fields)
        let url = story.origin.url(path)
        try await story.run(keys) { proxy in
            try proxy.client().get(url, "Authorization: Bearer a")
        }
        return story
    }

    private static let `public` = fields.map { $0 == fields[0] ? $0 + ", public" : $0 }

    @Test(arguments: [1000, 300_000])
    func `what is stored is found by equivalent URLs in another life`(count: Int) async throws {
        let story = try await story(count, fields: Self.public)
        let (origin, body) = (story.origin, story.range.body)
        try await story.run(Self.keys) { proxy in
            let client = try proxy.client()
            for path in ["/a?utm=2&x=1", "/a?x=1", "/a?x=1&utm=1"] {
                let hit = try client.get(origin.url(path))
                #expect(hit.body == body)
                #expect(hit.caching.contains(/^lupin; hit; ttl=\d+; detail=no-vary-search$/))
            }
            for path in ["/a?x=2", "/a", "/b?x=1"] {
                #expect(try client.get(origin.url(path), Self.wish).status == 504)
            }
        }
        try await story.run("cache: standard") { proxy in
            let client = try proxy.client()
            for path in ["/a?x=1&utm=1", "/a?x=1"] {
                #expect(try client.get(origin.url(path), Self.wish).status == 504)
            }
        }
        #expect(story.range.requests.count == 1)
    }

    @Test func `what a killed proxy leaves is found`() async throws {
        let story = try await story(fields: Self.public)
        let (origin, body) = (story.origin, story.range.body)
        let (path, copy) = (story.path, story.folder.path + "/copy")
        try await story.run(Self.keys) { proxy in
            let client = try proxy.client()
            try client.get(origin.url("/a?x=2&utm=1"))
            // The disk's thread does one after the other: what is asked for was written.
            #expect(try client.get(origin.url("/b"), Self.wish).status == 504)
            try FileManager.default.copyItem(atPath: path, toPath: copy)
        }
        let rules = story.rules(Self.keys).replacing("path: \(path)", with: "path: \(copy)")
        try await DiskStory.live(under: rules) { proxy in
            let client = try proxy.client()
            for i in 1...2 {
                let hit = try client.get(origin.url("/a?x=\(i)&utm=9"), Self.wish)
                #expect(hit.isHit)
                #expect(hit.body == body)
            }
        }
    }

    @Test func `several fields of one path are learnt again`() async throws {
        let story = try DiskStory(1000, fields: ["Cache-Control: max-age=600", Self.field])
        let other = RangeOrigin(
            1000,
            breaks: [],
            fields: ["Cache-Control: max-age=600", "No-Vary-Search: except=(\"id\")"]
        )
        let first = story.range
        let origin = try ScriptedOrigin { connection in
            // Each response on a connection of its own.
            first.requests.isEmpty ? first.serve(connection) : other.serve(connection)
        }
        defer { origin.stop() }
        try await story.run(Self.keys) { proxy in
            try proxy.client().get(origin.url("/a?x=1"), "Connection: close")
        }
        try await story.run(Self.keys) { proxy in
            try proxy.client().get(origin.url("/a?id=1&x=2"))
        }
        try await story.run(Self.keys) { proxy in
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a?id=1&x=7"), Self.wish).isHit)
            #expect(try client.get(origin.url("/a?x=1&utm=7"), Self.wish).isHit)
        }
        #expect(first.requests.count == 1)
        #expect(other.requests.count == 1)
    }

    @Test(arguments: ["POST", "PURGE"])
    func `what a URL would find is dropped in another life`(method: String) async throws {
        let story = try await story(fields: Self.public)
        let origin = story.origin
        try await story.run(Self.keys) { proxy in
            let client = try proxy.client()
            try client.send(method, origin.url("/a?x=2&utm=5"))
            try client.response(to: method)
        }
        #expect(try story.bodies().count == 1)
        try await story.run(Self.keys) { proxy in
            let client = try proxy.client()
            try client.send(method, origin.url("/a?utm=5&x=1"))
            let answer = try client.response(to: method)
            if method == "PURGE" { #expect(answer.bodyText.hasPrefix("lupin dropped 1 ")) }
            #expect(try client.get(origin.url("/a?x=1&utm=1"), Self.wish).status == 504)
        }
        #expect(try story.bodies().isEmpty)
    }

    @Test func `the admin interface finds what the disk has by equivalent URLs`() async throws {
        let story = try await story(fields: Self.public)
        let origin = story.origin
        let rules = ProxyFixture.adminSocket + story.rules(Self.keys)
        try await DiskStory.live(under: rules) { proxy in
            let path = "/v1/cache/responses?url=\(origin.url("/a"))?utm=5%26x="
            #expect(try proxy.admin("GET", path + "2").status == 404)
            let one = try proxy.adminJSON(path + "1")
            #expect(one["responses.0.tier"] == "disk")
            #expect(one["responses.0.url"] == origin.url("/a?x=1"))
            #expect(try proxy.admin("DELETE", path + "1").status == 200)
            #expect(try proxy.client().get(origin.url("/a?x=1"), Self.wish).status == 504)
        }
        #expect(try story.bodies().isEmpty)
    }

    @Test func `who has other credentials finds nothing in another life`() async throws {
        let keys = "cache: {mode: private, no_vary_search: true}"
        let story = try await story(keys: keys)
        let origin = story.origin
        try await story.run(keys) { proxy in
            let client = try proxy.client()
            let url = origin.url("/a?utm=2&x=1")
            #expect(try client.get(url, "Authorization: Bearer b", Self.wish).status == 504)
            #expect(try client.get(url, "Authorization: Bearer a", Self.wish).isHit)
        }
    }

    @Test func `a secret that the field ignores lies in no file`() async throws {
        let story = try await story(1000, "/a?x=1&token=hidden-value", fields: Self.public)
        #expect(try story.bodies().isEmpty)
        let names = try FileManager.default.subpathsOfDirectory(atPath: story.path)
        for name in names {
            let content = FileManager.default.contents(atPath: story.path + "/" + name) ?? Data()
            #expect(content.range(of: Data("hidden-value".utf8)) == nil, "\(name)")
        }
    }
}
