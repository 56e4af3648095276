// Files of the store that somebody swaps: nothing outside is read, written or removed by way of it.
import Foundation
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct DiskRaceTests {
    private static let victim = "nobody's response, and it stays as it is"

    /// A folder with a file that lupin must leave alone, and what it looks like.
    private struct Outside {
        let folder: Folder
        let file: String

        init() throws {
            folder = try Folder()
            file = try folder.write("victim", DiskRaceTests.victim)
        }

        func expectUntouched(_ names: [String] = ["victim"]) throws {
            let found = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(found.sorted() == names.sorted())
            #expect(try String(contentsOfFile: file, encoding: .utf8) == DiskRaceTests.victim)
        }
    }

    private static func link(_ path: String, to target: String) throws {
        let manager = FileManager.default
        try? manager.removeItem(atPath: path)
        try manager.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    /// The one body of `count` bytes below a store.
    private static func body(in path: String, _ count: Int) throws -> String {
        let manager = FileManager.default
        let files = try manager.subpathsOfDirectory(atPath: path).map { "\(path)/\($0)" }
        let body = files.first {
            let size = try? manager.attributesOfItem(atPath: $0)[.size] as? NSNumber
            return size?.intValue == count
        }
        return try #require(body)
    }

    /// With nothing in memory, so that every hit is read.
    private static func diskAlone(_ story: DiskStory) -> String {
        story.rules().replacing("memory: 1MiB", with: "memory: 0")
    }

    @Test(arguments: [
        "lock", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal",
        "drafts", "bodies",
    ])
    func `a link in the place of a part of the store leads nowhere`(name: String) async throws {
        let (story, outside) = (try DiskStory(), try Outside())
        try FileManager.default.createDirectory(
            atPath: story.path,
            withIntermediateDirectories: true
        )
        let isFolder = name == "drafts" || name == "bodies"
        try Self.link("\(story.path)/\(name)", to: isFolder ? outside.folder.path : outside.file)
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            for _ in 0..<2 { #expect(try client.get(url).body == body) }
        }
        try outside.expectUntouched()
    }

    @Test(arguments: ["lock", "index.sqlite", "index.sqlite-wal", "drafts", "bodies"])
    func `nor does one that leads to nothing make it`(name: String) async throws {
        let (story, outside) = (try DiskStory(), try Outside())
        try FileManager.default.createDirectory(
            atPath: story.path,
            withIntermediateDirectories: true
        )
        try Self.link("\(story.path)/\(name)", to: "\(outside.folder.path)/made")
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            #expect(try client.get(url).body == body)
        }
        try outside.expectUntouched()
    }

    @Test(arguments: [0o777, 0o770, 0o1777, 0o755])
    func `a folder that others may write in is theirs no longer`(mode: Int) async throws {
        let story = try DiskStory(1000)
        try FileManager.default.createDirectory(
            atPath: story.path,
            withIntermediateDirectories: true
        )
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: story.path)
        try await story.fetch()
        let attributes = try FileManager.default.attributesOfItem(atPath: story.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }

    @Test(arguments: [false, true])
    func `a body that is a link is a miss`(isRunning: Bool) async throws {
        let (story, outside) = (try DiskStory(), try Outside())
        let (url, body, path) = (story.origin.url(), story.range.body, story.path)
        // As long as the body, so that its length says nothing.
        let evil = try outside.folder.write("evil", String(repeating: "e", count: body.count))
        if !isRunning {
            try await story.fetch()
            try Self.link(try Self.body(in: path, body.count), to: evil)
        }
        try await DiskStory.live(under: Self.diskAlone(story)) { proxy in
            let client = try proxy.client()
            if isRunning {
                try client.get(url)
                #expect(try client.get(url).isHit)
                try Self.link(try Self.body(in: path, body.count), to: evil)
            }
            let response = try client.get(url)
            #expect(response.body == body)
            #expect(!response.isHit)
            #expect(try client.get(url).body == body)
        }
        #expect(FileManager.default.contents(atPath: evil)?.count == body.count)
        try outside.expectUntouched(["victim", "evil"])
    }

    @Test func `a pipe in the place of a body is waited for by nobody`() async throws {
        let story = try DiskStory()
        try await story.fetch()
        let file = try #require(try story.bodies().first)
        try FileManager.default.removeItem(atPath: file)
        // Safety: the path is NUL-terminated for the call.
        #expect(unsafe mkfifo(file, 0o600) == 0)
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            #expect(try client.get(url).body == body)
        }
    }

    @Test(arguments: [0, 1, 150_000, 299_999])
    func `a body that was cut is a miss`(count: UInt64) async throws {
        let story = try DiskStory()
        try await story.fetch()
        let file = try #require(try story.bodies().first)
        try Self.cut(file, to: count)
        let (url, body) = (story.origin.url(), story.range.body)
        try await story.run { proxy in
            let client = try proxy.client()
            let response = try client.get(url)
            #expect(!response.isHit)
            #expect(response.body == body)
            #expect(try client.get(url).isHit)
        }
    }

    @Test(arguments: [0, 150_000])
    func `a body that is cut while lupin runs never passes for a whole one`(
        count: UInt64
    ) async throws {
        let story = try DiskStory()
        let (url, body, path) = (story.origin.url(), story.range.body, story.path)
        try await DiskStory.live(under: Self.diskAlone(story)) { proxy in
            try proxy.client().get(url)
            #expect(try proxy.client().get(url).isHit)
            try Self.cut(try Self.body(in: path, body.count), to: count)
            let client = try proxy.client()
            try client.send("GET", url, ["Connection: close"])
            let bytes = try client.stream.untilEnd().bytes
            #expect(bytes.count < body.count || bytes.suffix(body.count) == body[...])
            #expect(try proxy.client().get(url).body == body)
        }
    }

    private static func cut(_ file: String, to count: UInt64) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: count)
        try handle.close()
    }

    /// An origin whose bodies differ by their paths alone, and rules for a store in `folder`.
    static func twins(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                let letter = request.target.hasPrefix("/a") ? "a" : "b"
                try connection.reply(
                    200,
                    "Cache-Control: max-age=600",
                    body: String(repeating: letter, count: 100_000)
                )
            }
        }
    }

    /// Exchanges the two bodies of a store, which are as long as each other.
    static func swapBodies(_ path: String) throws {
        let manager = FileManager.default
        let files = try manager.subpathsOfDirectory(atPath: path).map { "\(path)/\($0)" }.filter {
            let size = try? manager.attributesOfItem(atPath: $0)[.size] as? NSNumber
            return size?.intValue == 100_000 && $0.contains("/bodies/")
        }
        try #require(files.count == 2)
        try manager.moveItem(atPath: files[0], toPath: "\(path)/spare")
        try manager.moveItem(atPath: files[1], toPath: files[0])
        try manager.moveItem(atPath: "\(path)/spare", toPath: files[1])
    }

    static func twinRules(_ folder: Folder) -> String {
        let size = "memory: 0, max_object: 64KiB, disk: 64MiB, disk_max_object: 64MiB"
        return everywhere(
            "cache: standard",
            "cache: {store: {\(size), path: \(folder.path)/store}}"
        )
    }

    @Test func `one entry's file is no other's after a start`() async throws {
        let folder = try Folder()
        let origin = PathBox()
        try await DiskStory.live(under: Self.twinRules(folder)) { proxy in
            let twins = try Self.twins(proxy)
            origin.set(twins.address.port)
            for path in ["/a", "/b"] { try proxy.client().get(twins.url(path)) }
        }
        try Self.swapBodies("\(folder.path)/store")
        try await DiskStory.live(under: Self.twinRules(folder)) { proxy in
            let port = origin.port
            for letter in ["a", "b"] {
                let url = "http://127.0.0.1:\(port)/\(letter)"
                let response = try proxy.client().get(url)
                // The origin is gone: what is left is a miss.
                #expect(response.status != 200 || response.bodyText.hasPrefix(letter))
            }
        }
    }

    @Test func `drafts that are moved away take nothing along`() async throws {
        let (story, outside) = (try DiskStory(), try Outside())
        let (origin, body, path) = (story.origin, story.range.body, story.path)
        let place = outside.folder.path
        try await DiskStory.live(under: Self.diskAlone(story)) { proxy in
            let client = try proxy.client()
            try client.get(origin.url("/1"))
            for name in ["drafts", "bodies"] {
                try FileManager.default.moveItem(
                    atPath: "\(path)/\(name)",
                    toPath: "\(path)/\(name).old"
                )
                try Self.link("\(path)/\(name)", to: place)
            }
            for i in 1...3 { #expect(try client.get(origin.url("/\(i)")).body == body) }
        }
        try outside.expectUntouched()
    }

    @Test func `a store that is moved away is followed, and not what takes its place`()
        async throws
    {
        let (story, outside) = (try DiskStory(), try Outside())
        let (origin, body, path) = (story.origin, story.range.body, story.path)
        let place = outside.folder.path
        try await DiskStory.live(under: Self.diskAlone(story)) { proxy in
            let client = try proxy.client()
            try client.get(origin.url("/1"))
            try FileManager.default.moveItem(atPath: path, toPath: "\(path).old")
            try Self.link(path, to: place)
            for i in 1...3 { #expect(try client.get(origin.url("/\(i)")).body == body) }
        }
        try outside.expectUntouched()
    }
}

/// Where an origin was.
private final class PathBox: Sendable {
    private let value = Atomic<UInt16>(0)

    var port: UInt16 { value.load(ordering: .relaxed) }
    func set(_ port: UInt16) { value.store(port, ordering: .relaxed) }
}
