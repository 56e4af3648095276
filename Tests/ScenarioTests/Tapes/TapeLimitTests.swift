// Tapes at their limits: what is too long is refused by a sentence, and nothing is half written.
import Foundation
import LupinCore
import LupinPolicy
import LupinProxy
import LupinRecords
import LupinStore
import LupinTestKit
import Testing

struct TapeLimitTests {
    private static let bodyBytesMax = 32 << 20

    // MARK: Playing

    @Test(arguments: [(0, "What differs:"), (1, "longer than a tape has any: 32 MiB")])
    func `a request's body is compared up to 32 MiB, and longer ones are refused`(
        extra: Int,
        words: String
    ) async throws {
        let text = """
            {"log":{"entries":[{"request":{"method":"POST","url":"http://a.test/x","headers":[],\
            "postData":{"mimeType":"text/plain","text":"short"}},\
            "response":{"status":200,"headers":[],"content":{"text":"taped"}}}]}}
            """
        var hooks = Hooks()
        let deck = TapeDeck(try Tape(Array(text.utf8).span, TapeSettings()))
        hooks.tape = deck
        try await ProxyFixture.run(hooks: hooks) { proxy in
            let client = try proxy.client()
            let length = Self.bodyBytesMax + extra
            try client.send(
                head("POST http://a.test/x HTTP/1.1", "Host: a.test", "Content-Length: \(length)")
            )
            let piece = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<32 { try client.send(piece) }
            // lupin may have answered before the last byte.
            if extra > 0 { try? client.send("a") }
            let answer = try client.response(to: "POST")
            #expect(answer.status == 502)
            #expect(answer.bodyText.contains(words), "\(answer.bodyText.prefix(400))")
            #expect(deck.misses == 1)
        }
    }

    @Test(.waitsForPrograms)
    func `a file that is longer than any tape is not read`() throws {
        let folder = try Folder()
        let tape = try folder.write("tape.har", "")
        // A hole: it takes no room on the disk.
        let file = try #require(FileHandle(forWritingAtPath: tape))
        try file.truncate(atOffset: UInt64(ArchiveReader.bytesMax) + 1)
        try file.close()
        let result = try Lupin.run(["exec", "--replay", tape, "--", "echo", "ran"])
        #expect(result.code == 1 && result.output == "")
        #expect(result.errors.contains(tape), "\(result.errors)")
        #expect(result.errors.contains("longer than 256 MiB"), "\(result.errors)")
    }

    // MARK: Recording

    @Test(.waitsForPrograms, arguments: [0, 1])
    func `a response's body is recorded up to 32 MiB, and a longer one ends the tape`(
        extra: Int
    ) throws {
        let length = Self.bodyBytesMax + extra
        let origin = try ScriptedOrigin { connection in
            try connection.request()
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: \(length)"))
            let piece = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<32 { try connection.send(piece) }
            if extra > 0 { try connection.send("a") }
        }
        defer { origin.stop() }
        let folder = try Folder()
        let rules = try folder.write("lupin.yaml", "lupin: 1\n")
        let tape = try folder.write("tape.har", "old")
        let script = "curl -s \(origin.url("/long")) | wc -c"
        let result = try Lupin.run(
            ["exec", "--all", "--rules", rules, "--record", tape, "--", "sh", "-c", script],
            environment: ["TMPDIR": folder.path, "PATH": "/usr/bin:/bin", "HOME": folder.path]
        )
        // The command itself gets every byte.
        #expect(result.output.trimmingCharacters(in: .whitespacesAndNewlines) == "\(length)")
        let written = try FileManager.default.attributesOfItem(atPath: tape)[.size] as? Int ?? 0
        if extra == 0 {
            #expect(result.code == 0, "\(result.errors)")
            #expect(written > length)
        } else {
            #expect(result.code == 1)
            let place = "the body of the response for \(origin.url("/long"))"
            #expect(result.errors.contains("\(place) is longer than 32 MiB"), "\(result.errors)")
            #expect(written == 3)
        }
    }

    @Test func `a tape that would be too long is not made`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 X", "Content-Length: 2") + "ok"
            )
            try proxy.client().get(origin.url("/one"))
            let id = try #require(try proxy.captured()["record.id"])
            let line = try proxy.admin("GET", "/v1/exchanges?format=lines").bodyText
                .trimmingCharacters(in: .newlines)
            var response = ResponseHead(status: 200)
            response.fields.add(name: "Content-Type", value: "text/plain")
            let redactor = Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
            let heads = PackedHeads(
                request: RequestHead(),
                sent: nil,
                received: nil,
                response: response
            ).bytes(redactor)
            let folder = "\(proxy.directory)/recorded"
            let file = try CaptureFile(folder: folder)
            for number in 1...4 as ClosedRange<Int64> {
                let own = ExchangeID(high: UInt64(number), low: 0)
                var row = CapturedExchange(number: number, id: own, start: number)
                (row.method, row.status) = ("GET", 200)
                row.line = Array(line.replacing(id, with: own.text).utf8)
                row.heads = heads
                var body = CapturedBody(side: CapturedSide.response.rawValue)
                (body.bytes, body.kept, body.type) = (300_000, 300_000, "text/plain")
                var batch = CaptureBatch()
                batch.exchanges = [row]
                batch.bodies = [(number, body)]
                batch.pieces = [
                    CaptureBatch.Piece(
                        exchange: number,
                        side: body.side,
                        number: 1,
                        content: [UInt8](repeating: 0x61, count: 300_000)
                    )
                ]
                try file.write(batch)
            }
            file.close()
            let whole = try TapeRecording(from: folder, version: "1")
            #expect(whole.exchanges == 4 && whole.archive.count > 1_200_000)
            do throws(ArchiveProblem) {
                _ = try TapeRecording(from: folder, version: "1", bytesMax: 1 << 20)
                Issue.record("a tape of \(whole.archive.count) bytes was made")
            } catch {
                #expect(error.sentence == "it is longer than 1 MiB")
            }
            #expect(TapeRecording.bytesMax == 128 << 20)
        }
    }
}
