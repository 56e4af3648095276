// A shelf of the store that is a link: what lies behind it is no body of the store's.
import Foundation
import LupinTestKit
import Testing

struct DiskLinkTests {
    /// A store with one body whose shelf has been moved outside, a link in its place.
    private struct Moved {
        let story: DiskStory
        let outside: Folder
        let shelf: String

        init(_ story: DiskStory) throws {
            self.story = story
            outside = try Folder()
            let body = try #require(try story.bodies().first)
            let path = (body as NSString).deletingLastPathComponent
            shelf = "\(outside.path)/shelf"
            let manager = FileManager.default
            try manager.moveItem(atPath: path, toPath: shelf)
            try manager.createSymbolicLink(atPath: path, withDestinationPath: shelf)
        }

        var names: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: shelf)) ?? []
        }
    }

    @Test func `a body on a shelf that is a link is a miss`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let moved = try Moved(story)
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let response = try proxy.client().get(url)
            #expect(response.body == body)
            #expect(response.caching == "lupin; fwd=uri-miss; stored")
        }
        #expect(moved.names.count == 1)
    }

    @Test func `dropping a response removes no file behind a link`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let moved = try Moved(story)
        let url = story.origin.url()
        try await story.run { proxy in
            let client = try proxy.client()
            try client.send("DELETE", url)
            _ = try client.response(to: "DELETE")
        }
        #expect(moved.names.count == 1)
    }

    @Test func `no body is put on a shelf that is a link`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let outside = try Folder()
        let shelves = "\(story.path)/bodies"
        let manager = FileManager.default
        for i in 0..<256 {
            let name = (i < 16 ? "0" : "") + String(i, radix: 16)
            try? manager.removeItem(atPath: "\(shelves)/\(name)")
            try manager.createSymbolicLink(
                atPath: "\(shelves)/\(name)",
                withDestinationPath: outside.path
            )
        }
        let (origin, body) = (story.origin, story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            for i in 0..<3 { #expect(try client.get(origin.url("/\(i)")).body == body) }
        }
        #expect(try manager.contentsOfDirectory(atPath: outside.path).isEmpty)
    }
}
