// Bodies that are too long for memory: written while they come, and read along from the file.
import LupinTestKit
import Testing

struct DiskStreamTests {
    private static let count = 6_000_000

    private static func rules(_ folder: Folder) -> String {
        let size = "memory: 1MiB, max_object: 64KiB, disk: 64MiB, disk_max_object: 16MiB"
        let store = "{\(size), path: \(folder.path)/store}"
        return everywhere("cache: standard", "cache: {store: \(store)}")
    }

    @Test func `those who are behind read what was written`() async throws {
        let folder = try Folder()
        try await ProxyFixture.run(Self.rules(folder), clock: VirtualClock()) { proxy in
            let body = LongBody.bytes(Self.count)
            let origin = try PlayedOrigin()
            let leader = try proxy.client()
            try leader.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                    + "Content-Length: \(Self.count)\r\n\r\n"
            )
            try connection.send(Array(body.prefix(5_000_000)))
            _ = try leader.stream.head()
            #expect(try leader.stream.bytes(5_000_000) == Array(body.prefix(5_000_000)))
            // Four fifths of it are in no memory any more.
            var late: [ScriptedClient] = []
            for _ in 0..<3 {
                let client = try proxy.client()
                try client.send("GET", origin.url())
                _ = try client.stream.head()
                late.append(client)
            }
            for client in late {
                #expect(try client.stream.bytes(5_000_000) == Array(body.prefix(5_000_000)))
            }
            try connection.send(Array(body.dropFirst(5_000_000)))
            for client in [leader] + late {
                #expect(try client.stream.bytes(1_000_000) == Array(body.dropFirst(5_000_000)))
            }
            #expect(!origin.hasWaiting)
            let hit = try leader.get(origin.url())
            #expect(hit.isHit)
            #expect(hit.body == body)
        }
    }

    @Test func `a body of unknown length goes to the disk when it outgrows memory`() async throws {
        let folder = try Folder()
        try await ProxyFixture.run(Self.rules(folder), clock: VirtualClock()) { proxy in
            let body = LongBody.bytes(1_000_000)
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.send(
                        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                            + "Transfer-Encoding: chunked\r\n\r\nF4240\r\n"
                    )
                    try connection.send(body)
                    try connection.send("\r\n0\r\n\r\n")
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body == body)
            let hit = try client.get(origin.url())
            #expect(hit.isHit)
            #expect(hit.body == body)
            #expect(hit["Content-Length"] == "1000000")
        }
    }

    @Test func `inside an intercepted CONNECT a file goes out through TLS`() async throws {
        let folder = try Folder()
        try await Inside.run(Self.rules(folder), clock: VirtualClock()) { inside in
            let body = LongBody.bytes(1_000_000)
            try inside.send()
            let origin = try inside.accept()
            try origin.request()
            try origin.send(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n"
            )
            try origin.send(body)
            #expect(try inside.client.response().body == body)
            for _ in 0..<2 {
                try inside.send()
                let hit = try inside.client.response()
                #expect(hit.isHit)
                #expect(hit.body == body)
            }
        }
    }
}
