// Replies come out whole, wherever their bytes are cut, and what is none ends the reader.

import LupinRedis
import Testing

private func read(
    _ pieces: [[UInt8]],
    bytesMax: Int = 1 << 20
) throws(RedisProblem) -> [RedisReply] {
    var reader = try ReplyReader(bytesMax: bytesMax)
    var replies: [RedisReply] = []
    for piece in pieces {
        try reader.feed(piece.span)
        while let reply = try reader.next() { replies.append(reply) }
    }
    return replies
}

struct ReplyReaderTests {
    @Test func `every kind of reply is read, whole and byte by byte`() throws {
        let text =
            "+OK\r\n-ERR no\r\n:-42\r\n$3\r\na\r\n\r\n$-1\r\n$0\r\n\r\n*-1\r\n"
            + "*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n*0\r\n"
        let expected: [RedisReply] = [
            .status("OK"), .failure("ERR no"), .integer(-42), .text(Array("a\r\n".utf8)), .nothing,
            .text([]), .nothing, .list([.integer(1), .list([.text([0x78])]), .nothing]), .list([]),
        ]
        let bytes = Array(text.utf8)
        #expect(try read([bytes]) == expected)
        #expect(try read(bytes.map { [$0] }) == expected)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n", ":x1\r\n", "$x\r\n", "*9999999999999999999\r\n", "$-2\r\n",
        "*4294967297\r\n:1\r\n", "\u{0}\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    ])
    func `what is no reply is told, and nothing follows`(text: String) throws {
        var reader = try ReplyReader(bytesMax: 1 << 20)
        try reader.feed(Array(text.utf8).span)
        var problem: RedisProblem?
        do throws(RedisProblem) {
            _ = try reader.next()
        } catch {
            problem = error
        }
        #expect(problem != nil)
        do throws(RedisProblem) {
            _ = try reader.next()
            Issue.record("it went on")
        } catch {
            #expect(!error.sentence.isEmpty)
        }
    }

    @Test func `lists in lists are read, and those that are too deep or negative are not`() throws {
        let text = "*2\r\n*2\r\n*0\r\n*1\r\n*2\r\n:1\r\n$1\r\nx\r\n+last\r\n:2\r\n"
        let inner = RedisReply.list([.integer(1), .text([0x78])])
        let expected: [RedisReply] = [
            .list([.list([.list([]), .list([inner])]), .status("last")]), .integer(2),
        ]
        let bytes = Array(text.utf8)
        #expect(try read([bytes]) == expected)
        #expect(try read(bytes.map { [$0] }) == expected)
        for hostile in [
            "*-2\r\n:1\r\n", "*-9999999999\r\n", "$-9\r\nabc\r\n", "*2\r\n,1.5\r\n#t\r\n",
        ] {
            #expect(throws: RedisProblem.self, "\(hostile)") { try read([Array(hostile.utf8)]) }
        }
        // Nothing of a list that is not whole comes out.
        #expect(try read([Array("*3\r\n:1\r\n:2\r\n".utf8)]) == [])
    }

    @Test func `a list that is announced too long, or never ends, is refused`() throws {
        #expect(throws: RedisProblem.self) { try read([Array("*2147483647\r\n:1\r\n".utf8)]) }
        #expect(throws: RedisProblem.self) { try read([Array("*65537\r\n:1\r\n".utf8)]) }
        let element = Array(":1\r\n".utf8)
        let endless = [Array("*65536\r\n".utf8)] + Array(repeating: element, count: 2000)
        #expect(throws: RedisProblem.tooLong) { try read(endless, bytesMax: 4000) }
        let long = Array("*65536\r\n".utf8) + (0..<65536).flatMap { _ in element }
        #expect(try read([long], bytesMax: 1 << 20).count == 1)
    }

    @Test func `a reply that is longer than what may be held is refused`() throws {
        let begun = Array("$100000\r\n".utf8) + [UInt8](repeating: 0x61, count: 2000)
        #expect(try read([begun], bytesMax: 4000) == [])
        #expect(throws: RedisProblem.tooLong) { try read([begun, begun], bytesMax: 4000) }
        // What was read makes room again.
        let short = Array(":1\r\n".utf8)
        let many = try read(Array(repeating: short, count: 2000), bytesMax: 16)
        #expect(many.count == 2000)
    }

    @Test func `commands hold any bytes`() throws {
        var bytes: [UInt8] = []
        try RedisCommand("SET", [[], [0x0D, 0x0A, 0], Array("px".utf8)]).append(to: &bytes)
        try RedisCommand("PING", []).append(to: &bytes)
        let expected =
            "*4\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\r\n\u{0}\r\n$2\r\npx\r\n*1\r\n$4\r\nPING\r\n"
        #expect(bytes == Array(expected.utf8))
    }

    @Test(arguments: ["0123", "ab\u{0}\u{0}", "", "another length"])
    func `commands with a blank are the same as those made for their key`(key: String) throws {
        let key = Array(key.utf8)
        let both = KeyedCommands(
            keyBytes: 4,
            [.init("GETRANGE", [[0x30], Array("77".utf8)]), .init("PTTL")]
        )
        let range = RedisCommand("GETRANGE", [key, [0x30], Array("77".utf8)])
        let expected = RedisCommands(range) + RedisCommand("PTTL", [key])
        #expect(both.about(key) == expected && expected.count == 2)
        #expect(
            KeyedCommands(keyBytes: 4, [.init("PTTL")]).about(key)
                == RedisCommands(RedisCommand("PTTL", [key]))
        )
    }

    @Test func `each of several commands may go behind another`() throws {
        let (a, b, c) = (RedisCommand("A", []), RedisCommand("B", [[1]]), RedisCommand("C", []))
        let all = RedisCommands(a) + (RedisCommands(b) + c)
        let prefix = RedisCommand("ASKING", [])
        var (plain, led): ([UInt8], [UInt8]) = ([], [])
        try all.append(to: &plain)
        try all.append(to: &led, eachBehind: prefix)
        var (expected, expectedLed): ([UInt8], [UInt8]) = ([], [])
        for command in [a, b, c] {
            try command.append(to: &expected)
            try prefix.append(to: &expectedLed)
            try command.append(to: &expectedLed)
        }
        #expect(plain == expected && led == expectedLed && all.count == 3)
    }
}
