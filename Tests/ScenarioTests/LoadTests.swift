// Two hundred connections at once, many of which break off on either side, by a fixed seed.
import LupinTestKit
import Synchronization
import Testing

struct LoadTests {
    private static let clientCount = 200
    private static let exchangesPerClient = 12

    @Test func `bodies are whole or visibly broken whoever leaves when`() async throws {
        try await ProxyFixture.run("workers: 2") { proxy in
            let origin = try proxy.origin { try Self.serve($0) }
            let tally = Tally()
            let threads = (0..<Self.clientCount).map { number in
                TestThread { try Self.play(number, proxy, origin, tally) }
            }
            for thread in threads { try thread.join() }
            let (whole, broken) = tally.counts
            #expect(whole > 500)
            #expect(broken > 200)
            // The proxy is as good as new.
            let response = try proxy.client().get(origin.url("/length/5/0/1"))
            #expect(response.body == Self.body(seed: 1, count: 5))
        }
    }

    /// Answers `/FRAMING/COUNT/BREAK/SEED` with a body of `COUNT` bytes, or with `BREAK` bytes of
    /// it and RST where that is not 0.
    private static func serve(_ connection: OriginConnection) throws {
        while let request = try? connection.nextRequest() {
            let words = request.target.split(separator: "/").map(String.init)
            guard words.count == 4, let count = Int(words[1]), let stop = Int(words[2]),
                let seed = UInt64(words[3])
            else { return connection.reset() }
            let bytes = body(seed: seed, count: count)
            let sent = stop > 0 ? bytes.prefix(stop) : bytes[...]
            do {
                if words[0] == "length" {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
                    try connection.send(Array(sent))
                } else {
                    try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    try connection.send(String(count, radix: 16) + "\r\n")
                    try connection.send(Array(sent))
                    if stop == 0 { try connection.send("\r\n0\r\n\r\n") }
                }
            } catch {
                // The proxy closed because its client left.
                return connection.close()
            }
            if stop > 0 { return connection.reset() }
        }
        connection.close()
    }

    /// A client's life: exchanges one after the other, some of which either side breaks off.
    private static func play(
        _ number: Int,
        _ proxy: ProxyFixture,
        _ origin: ScriptedOrigin,
        _ tally: Tally
    ) throws {
        var random = Seeded(UInt64(number) &+ 4711)
        var client = try proxy.client()
        for _ in 0..<exchangesPerClient {
            let count = [1, 100, 5000, 70_000, 200_000][random.below(5)]
            let originBreaks = random.below(8) == 0
            let clientBreaks = !originBreaks && random.below(8) == 0
            let stop = originBreaks ? 1 + random.below(count) : 0
            let seed = UInt64(random.below(1 << 20))
            let framing = random.below(2) == 0 ? "length" : "chunked"
            let url = origin.url("/\(framing)/\(count)/\(stop)/\(seed)")
            if random.below(3) == 0 {
                try client.send("PUT", url, body: String(repeating: "u", count: 1000))
            } else {
                try client.send("GET", url)
            }
            if clientBreaks {
                if random.below(2) == 0 { _ = try client.stream.some() }
                if random.below(2) == 0 { client.reset() } else { client.close() }
                client = try proxy.client()
                continue
            }
            let response = try? client.response()
            if let response, response.status == 200 {
                guard response.body == body(seed: seed, count: count) else {
                    throw SocketFailure("\(url) came with another body")
                }
                guard stop == 0 || stop == count else {
                    throw SocketFailure("\(url) was taken for whole")
                }
                tally.addWhole()
                continue
            }
            guard originBreaks else { throw SocketFailure("\(url) failed: \(response as Any)") }
            tally.addBroken()
            client.close()
            client = try proxy.client()
        }
        client.close()
    }

    private static func body(seed: UInt64, count: Int) -> [UInt8] {
        var pattern = BytePattern(seed)
        return pattern.next(count)
    }
}

/// What became of the exchanges.
private final class Tally: Sendable {
    private let whole = Atomic(0)
    private let broken = Atomic(0)

    func addWhole() { whole.add(1, ordering: .relaxed) }
    func addBroken() { broken.add(1, ordering: .relaxed) }
    var counts: (whole: Int, broken: Int) {
        (whole.load(ordering: .relaxed), broken.load(ordering: .relaxed))
    }
}

/// The same numbers in every run.
private struct Seeded {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}
