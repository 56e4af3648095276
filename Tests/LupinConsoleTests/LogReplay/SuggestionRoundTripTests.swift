// An allow list refuses nothing of the log that it was made of, and nearly everything else.
import LupinConsole
import LupinRules
import LupinTestKit
import Testing

struct SuggestionRoundTripTests {
    /// Repeatable dice.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static let hosts = [
        "a.example", "b.a.example", "c.a.example", "www.eu.files.example", "cdn.eu.files.example",
        "img.eu.files.example", "ads.eu.files.example", "x.us.files.example", "y.us.files.example",
        "z.us.files.example", "localhost", "10.0.0.1", "::1", "lupin", "null",
        "xn--bcher-kva.example",
    ]

    private static func line(_ dice: inout Dice) -> LoggedExchange {
        let host = hosts[Int.random(in: 0..<hosts.count, using: &dice)]
        let port = [80, 443, 8443][Int.random(in: 0..<3, using: &dice)]
        let methods = ["GET", "POST", "HEAD", "PROPFIND", "$$", "x'y"]
        var line: LoggedExchange
        switch Int.random(in: 0..<12, using: &dice) {
        case 0..<4: line = .tunnel(host, port: port)
        case 4..<7: line = .decrypted(host, port: port)
        case 7..<9: line = LoggedExchange(host, port: port)
        case 9:
            // Plain HTTP inside a CONNECT, https without one, and WebSockets.
            line = LoggedExchange(host, port: port)
            let odd = [("http", "intercept"), ("https", "http"), ("http", "upgrade")]
            (line.scheme, line.mode) = odd[Int.random(in: 0..<3, using: &dice)]
        case 10: line = .refused(host, port: port)
        default: line = .failed(host)
        }
        if line.mode != "tunnel", line.step == nil {
            line.method = methods[Int.random(in: 0..<methods.count, using: &dice)]
        }
        if line.mode == "tunnel", Int.random(in: 0..<6, using: &dice) == 0 {
            line.serverName = hosts[Int.random(in: 0..<9, using: &dice)]
        }
        if Int.random(in: 0..<9, using: &dice) == 0, line.mode != "tunnel" {
            line.redirect = (307, "https://moved.example:8443/")
        }
        return line
    }

    @Test(arguments: 0..<50)
    func `nothing that got through is refused`(seed: Int) throws {
        var dice = Dice(state: UInt64(seed) &* 7919 &+ 1)
        let count = Int.random(in: 1...40, using: &dice)
        let lines = (0..<count).map { _ in Self.line(&dice) }
        let text = try AllowListTextTests.text(of: lines)
        let loaded = decodeWhole(text)
        #expect(loaded.warnings.isEmpty, "\(loaded.warnings.map(\.text))\n\(text)")
        let configuration = try #require(loaded.configuration, "\(loaded.errors.map(\.text))")
        let replay = LogReplay(configuration)
        for line in lines {
            let replayed = try replay.expect(line)
            // What was tunnelled, too, is not decrypted; nothing else changes for who got through.
            let isHarmless = [.none, .tunnelled].contains(replayed.change)
            if replayed.before.gotThrough {
                #expect(isHarmless, "\(replayed)\n\(line.text)\n\(text)")
            }
            #expect(replayed.change != .refused && replayed.change != .decrypted, "\(text)")
        }
        try expectRefusals(of: lines, by: replay, text)
    }

    /// Hosts, ports and methods that were never used are refused, and so is what never got through.
    private func expectRefusals(
        of lines: [LoggedExchange],
        by replay: LogReplay,
        _ text: String
    ) throws {
        let used = lines.filter { $0.answer != nil && $0.outcome == "ok" }
        for line in used where line.mode == "tunnel" || line.mode == "intercept" {
            for other in [
                line.with { $0.host = "other.example" }, line.with { $0.port = 9999 },
                line.with { ($0.host, $0.method) = ("a.other.example", "GET") },
            ] {
                let replayed = try replay.expect(other)
                #expect(replayed.change == .refused, "\(other.text)\n\(text)")
            }
        }
        let isTunnelled = Set(used.filter { $0.mode == "tunnel" }.map(\.port))
        for line in used where line.mode == "intercept" && !isTunnelled.contains(line.port) {
            let other = line.with { $0.method = "NEVER" }
            let replayed = try replay.expect(other)
            #expect(replayed.change == .refused, "\(other.text)\n\(text)")
        }
        let names = Set(used.flatMap { [$0.host, $0.serverName ?? $0.host] })
        for line in lines where line.answer == nil || line.outcome != "ok" {
            guard !names.contains(line.host) else { continue }
            let replayed = try replay.expect(line)
            #expect(![.passed].contains(replayed.change), "\(line.text)\n\(text)")
        }
    }
}
