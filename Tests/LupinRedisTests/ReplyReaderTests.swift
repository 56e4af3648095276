// Replies come out whole, wherever their bytes are cut, and what is none ends the reader.

import LupinRedis
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The replies in pieces of bytes, and the problem that ended them.
private struct Reading: Equatable {
    var replies: [RedisReply] = []
    var problem: RedisProblem?

    init(_ pieces: [ArraySlice<UInt8>], bytesMax: Int) {
        var reader = ReplyReader(bytesMax: bytesMax)
        do throws(RedisProblem) {
            for piece in pieces {
                var position = 0
                while let reply = try reader.next(in: piece.span, at: &position) {
                    replies.append(reply)
                }
                #expect(position == piece.count, "all is read where no reply ends")
            }
        } catch {
            problem = error
        }
    }

    /// Reads bytes whole, byte by byte, and cut at every place: it is always the same.
    init(everyCutOf text: String, bytesMax: Int = 1 << 20) {
        let all = bytes(text)
        self.init([all[...]], bytesMax: bytesMax)
        let single = Reading(all.indices.map { all[$0...$0] }, bytesMax: bytesMax)
        #expect(single == self, "byte by byte")
        for index in all.indices {
            let cut = Reading([all[..<index], all[index...]], bytesMax: bytesMax)
            #expect(cut == self, "cut at \(index)")
        }
    }

    var isMalformed: Bool { if case .malformed = problem { true } else { false } }
}

private let one = RedisReply.integer(1)

struct ReplyReaderTests {
    @Test(
        arguments: [
            ("", []),
            ("+OK\r\n", [.status("OK")]),
            ("+\r\n", [.status("")]),
            ("-ERR no\r\n", [.failure("ERR no")]),
            ("-MOVED 3999 127.0.0.1:6381\r\n", [.failure("MOVED 3999 127.0.0.1:6381")]),
            ("-ASK 3999 :6381\r\n", [.failure("ASK 3999 :6381")]),
            ("+\u{E9}\r\n", [.status("\u{E9}")]),
            (":0\r\n:-42\r\n:007\r\n", [.integer(0), .integer(-42), .integer(7)]),
            (
                ":9223372036854775807\r\n:-9223372036854775808\r\n",
                [.integer(.max), .integer(.min)]
            ),
            ("$3\r\na\r\n\r\n", [.text(bytes("a\r\n"))]),
            ("$0\r\n\r\n", [.text([])]),
            ("$-1\r\n*-1\r\n", [.nothing, .nothing]),
            ("$5\r\n$-1\r\n\r\n", [.text(bytes("$-1\r\n"))]),
            ("*0\r\n", [.list([])]),
            ("*3\r\n:1\r\n*-1\r\n$-1\r\n", [.list([one, .nothing, .nothing])]),
            ("*2\r\n$1\r\nx\r\n*1\r\n-E\r\n", [.list([.text([0x78]), .list([.failure("E")])])]),
            (
                "*2\r\n*2\r\n*0\r\n*1\r\n*2\r\n:1\r\n$1\r\nx\r\n+last\r\n:1\r\n",
                [
                    .list([
                        .list([.list([]), .list([.list([one, .text([0x78])])])]), .status("last"),
                    ]),
                    one,
                ]
            ),
            ("+OK\r\n*2\r\n:1\r\n$4\r\nab", [.status("OK")]),
            ("*3\r\n:1\r\n:2\r\n", []),
            ("$3\r\nabc\r", []),
            (":1\r", []),
        ] as [(String, [RedisReply])]
    )
    func `replies are read, however they are cut`(text: String, replies: [RedisReply]) {
        let reading = Reading(everyCutOf: text)
        #expect(reading.replies == replies && reading.problem == nil)
    }

    /// Each stands behind a reply, which is told before.
    @Test(arguments: [
        // No RESP2 at all, or a type of RESP3.
        "HTTP/1.1 200 OK\r\n", "\u{0}", "\r\n", "\n", " :1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n",
        "(1\r\n", "!1\r\nx\r\n", "=5\r\ntxt:x\r\n", "%1\r\n:1\r\n:1\r\n", "~1\r\n", ">1\r\n",
        "|1\r\n",
        "*2\r\n,1.5\r\n",
        // Numbers that are none, or too large.
        ":\r\n", ":x\r\n", ":1x\r\n", ":+1\r\n", ":--1\r\n", ":-\r\n", ": 1\r\n", ":1 \r\n",
        ":1.0\r\n",
        ":9223372036854775808\r\n", ":-9223372036854775809\r\n", ":99999999999999999999\r\n",
        ":000000000000000000000000000000000000000000001\r\n", "$0000000000000000000000000",
        "$x\r\n", "$\r\n", "*\r\n", "*1x\r\n", "$99999999999999999999\r\n",
        "*9999999999999999999\r\n",
        // Negative lengths.
        "$-2\r\n", "*-2\r\n:1\r\n", "$-9223372036854775808\r\n", "*-9999999999\r\n",
        "$-9\r\nabc\r\n",
        // Ends of lines.
        "+OK\n", "+O\rK\r\n", "+OK\r\r\n", "-\n", ":1\n", "$1\nx\r\n", "$1\r\nxy\r\n",
        "$1\r\nx\n\r",
        "$0\r\nx\r\n", "$3\r\nabcdef", "*1\n:1\r\n",
        // Nine lists in each other.
        String(repeating: "*1\r\n", count: 9), String(repeating: "*1\r\n", count: 8) + "*0\r\n",
    ])
    func `what is no reply is told, and nothing follows`(text: String) {
        let reading = Reading(everyCutOf: "+OK\r\n" + text)
        #expect(reading.replies == [.status("OK")])
        #expect(reading.isMalformed)
        #expect(reading.problem.map { !$0.sentence.isEmpty } == true)
    }

    @Test func `after a problem there is none but that`() {
        var reader = ReplyReader(bytesMax: 1 << 20)
        for piece in ["?", ":1\r\n", ""] {
            var position = 0
            #expect(throws: RedisProblem.malformed("a type that RESP2 does not have")) {
                try reader.next(in: bytes(piece).span, at: &position)
            }
        }
    }

    @Test func `eight lists may be in each other`() {
        let text = String(repeating: "*1\r\n", count: 8) + ":1\r\n"
        var expected = one
        for _ in 0..<8 { expected = .list([expected]) }
        #expect(Reading(everyCutOf: text + text).replies == [expected, expected])
    }

    // MARK: Limits

    @Test(
        arguments: [
            ("+0123456789ab\r\n", nil), ("+0123456789abc\r\n", .tooLong),
            ("-0123456789abcdefghij", .tooLong), ("$8\r\n01234567\r\n$8\r\n01234567\r\n", nil),
            ("$10\r\n012345678\r\n", .tooLong), ("$100", nil), ("$100\r\n", .tooLong),
            ("$9223372036854775807\r\n", .tooLong), ("*2\r\n:1\r\n:2\r\n:1\r\n", nil),
            ("*9\r\n:1\r\n:1\r\n:1\r\n:", .tooLong), ("*9\r\n$6\r\n", .tooLong),
            ("*9\r\n$1\r\na\r\n$-1\r\n", .tooLong), (":000000000000000", .tooLong),
            (":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", nil),
        ] as [(String, RedisProblem?)]
    )
    func `a reply may have so many bytes, and the next one as many`(
        text: String,
        problem: RedisProblem?
    ) {
        // As far as it comes byte by byte: what is refused may be announced, or there.
        #expect(Reading(everyCutOf: text, bytesMax: 15).problem == problem)
    }

    @Test func `a list may have so many elements, with those of the lists in it`() {
        let most = 1 << 20
        for text in [
            "*\(most + 1)\r\n", "*2147483647\r\n:1\r\n", "*4294967297\r\n:1\r\n",
            "*9223372036854775807\r\n", "*2\r\n*\(most - 1)\r\n", "*\(most)\r\n*1\r\n",
        ] { #expect(Reading(everyCutOf: text).problem == .tooLong, "\(text)") }
        #expect(Reading(everyCutOf: "*\(most)\r\n:1\r\n").problem == nil)
        // The next reply may have as many.
        #expect(Reading(everyCutOf: "*1\r\n:1\r\n*\(most)\r\n").problem == nil)
        let long = bytes("*65536\r\n") + (0..<65536).flatMap { _ in bytes(":1\r\n") }
        let reading = Reading([long[...]], bytesMax: long.count)
        #expect(reading.replies == [.list(Array(repeating: one, count: 65536))])
        #expect(Reading([long[...]], bytesMax: long.count - 1).problem == .tooLong)
    }

    @Test func `a long text comes in pieces of any length`() {
        let text = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let all = bytes("*2\r\n$100000\r\n") + text + bytes("\r\n:1\r\n")
        for length in [1, 1000, 4096, 65536] {
            let pieces = stride(from: 0, to: all.count, by: length).map { start in
                all[start..<min(start + length, all.count)]
            }
            let reading = Reading(pieces, bytesMax: all.count)
            #expect(reading.replies == [.list([.text(text), one])], "\(length)")
        }
    }
}
