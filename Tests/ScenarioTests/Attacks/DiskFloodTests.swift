// Uploads that fill the disk: `limits.replay_disk` bounds what is kept, and no upload fails for it.
import Foundation
import LupinCore
import LupinTestKit
import Testing

struct DiskFloodTests {
    /// 256 KiB of a body are kept in memory, and one user may have 512 KiB on the disk.
    private static let rules = everywhere(
        "retry: {use: standard, backoff: none, replay_spill: 1MiB}",
        "limits: {replay_disk: 1MiB}"
    )
    /// It takes more than half of a user's share.
    private static let fitting = LongBody.bytes(700_000)
    private static let tooLong = LongBody.bytes(900_000)

    /// Sends a PUT that the origin reads whole; returns the origin's connection.
    private func put(
        _ body: [UInt8],
        isChunked: Bool = false,
        from client: ScriptedClient,
        to origin: PlayedOrigin
    ) throws -> OriginConnection {
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
        try client.send("PUT", origin.url(), [framing])
        let sending = TestThread { try client.send(isChunked ? LongBody.chunked(body) : body) }
        let far = try origin.accept()
        #expect(try far.request().body == body)
        try sending.join()
        return far
    }

    @Test(arguments: [false, true])
    func `a body beyond a user's half streams, and the record says why it was not kept`(
        isChunked: Bool
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let far = try put(Self.tooLong, isChunked: isChunked, from: client, to: origin)
            try far.reply(503)
            #expect(try client.response(to: "PUT").status == 503)
            let record = try proxy.record()
            #expect(record["attempts.0.replayable"] == "0")
            #expect(record["attempts.0.unkept"] == "replay_disk")
            #expect(record["attempts.0.reason"] == "the body was not kept")
        }
    }

    @Test func `a body within it is sent again`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let first = try put(Self.fitting, from: client, to: origin)
            first.reset()
            let second = try origin.accept()
            #expect(try second.request().body == Self.fitting)
            try second.reply(body: "good")
            #expect(try client.response(to: "PUT").bodyText == "good")
            #expect(try proxy.record()["attempts.0.unkept"] == nil)
        }
    }

    /// Whose uploads fill the disk: a user of this machine, or clients that nobody knows.
    @Test(arguments: [LocalUsers.stranger, nil])
    func `who floods the disk takes nothing of the others`(flooder: UInt32?) async throws {
        let users = LocalUsers()
        try await ProxyFixture.run(Self.rules, identify: users.identify) { proxy in
            let origin = try PlayedOrigin()
            // The first one has the share; the others stream.
            let clients = try (0..<4).map { _ in try users.client(proxy, of: flooder) }
            let far = try clients.map { try put(Self.fitting, from: $0, to: origin) }
            let owner = try proxy.client()
            let own = try put(Self.fitting, from: owner, to: origin)
            own.reset()
            let again = try origin.accept()
            #expect(try again.request().body == Self.fitting)
            try again.reply(204)
            #expect(try owner.response(to: "PUT").status == 204)
            for (client, connection) in zip(clients, far) {
                try connection.reply(204)
                #expect(try client.response(to: "PUT").status == 204)
            }
            let unkept = try proxy.records(5).filter { $0["attempts.0.unkept"] == "replay_disk" }
            #expect(unkept.count == 3)
        }
    }

    @Test func `the share is free as soon as the answer is there`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let first = try proxy.client()
            let far = try put(Self.fitting, from: first, to: origin)
            // The exchange goes on for as long as the rest of the answer is awaited.
            try far.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
            try eventually("the answer's beginning") { first.stream.socket.hasUnread }
            let second = try proxy.client()
            let near = try put(Self.fitting, from: second, to: origin)
            near.reset()
            let again = try origin.accept()
            #expect(try again.request().body == Self.fitting)
            try again.reply(204)
            #expect(try second.response(to: "PUT").status == 204)
            try far.send("done.")
            #expect(try first.response(to: "PUT").bodyText == "half done.")
        }
    }

    @Test func `status and metrics tell how much is in use`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket + Self.rules) { proxy in
            func shown() throws -> String? {
                let status = try proxy.adminJSON("/v1/status")
                #expect(status["replay_disk.limit"] == "\(1 << 20)")
                let bytes = try #require(status["replay_disk.bytes"])
                let metrics = try proxy.admin("GET", "/v1/metrics").bodyText
                #expect(metrics.contains("\nlupin_replay_disk_bytes \(bytes)\n"))
                return bytes
            }
            #expect(try shown() == "0")
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let far = try put(Self.fitting, from: client, to: origin)
            #expect(try shown() != "0")
            try far.reply(204)
            #expect(try client.response(to: "PUT").status == 204)
            try eventually("a share that is free") { (try? shown()) == "0" }
        }
    }

    @Test func `without any space bodies are kept in memory alone`() async throws {
        let rules = everywhere(
            "retry: {use: standard, backoff: none, replay_spill: 1MiB}",
            "limits: {replay_disk: 0}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let long = try put(Self.fitting, from: client, to: origin)
            try long.reply(503, "Connection: close")
            #expect(try client.response(to: "PUT").status == 503)
            let short = LongBody.bytes(200_000)
            let first = try put(short, from: client, to: origin)
            first.reset()
            let second = try origin.accept()
            #expect(try second.request().body == short)
            try second.reply(204)
            #expect(try client.response(to: "PUT").status == 204)
        }
    }
}
