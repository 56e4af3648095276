// Commands are written as a server reads them, whatever bytes are in them.

import LupinRedis
import Testing

private func sent(_ commands: RedisCommands) -> String {
    var bytes: [UInt8] = []
    commands.append(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
}

struct RedisCommandsTests {
    @Test(
        arguments: [
            (RedisCommands(), ""),
            (RedisCommands("PING"), "*1\r\n$4\r\nPING\r\n"),
            (RedisCommands("DEL", [.bytes([])]), "*2\r\n$3\r\nDEL\r\n$0\r\n\r\n"),
            (
                RedisCommands("SET", [.bytes([0x0D, 0x0A, 0]), "\u{E9}", .number(-120_000)]),
                "*4\r\n$3\r\nSET\r\n$3\r\n\r\n\u{0}\r\n$2\r\n\u{E9}\r\n$7\r\n-120000\r\n"
            ),
            (
                RedisCommands("A", [.number(.min), .text("12 bytes long")]),
                "*3\r\n$1\r\nA\r\n$20\r\n-9223372036854775808\r\n$13\r\n12 bytes long\r\n"
            ),
        ] as [(RedisCommands, String)]
    )
    func `a command is a list of texts`(commands: RedisCommands, text: String) {
        #expect(sent(commands) == text)
        #expect(commands.isEmpty == text.isEmpty && commands.count == (text.isEmpty ? 0 : 1))
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 1000, 65536])
    func `a word of any length has its length before it`(count: Int) {
        let word = [UInt8](repeating: 0x61, count: count)
        let arguments = [RedisArgument](repeating: .bytes(word), count: count % 97)
        let text = "$\(count)\r\n\(String(decoding: word, as: UTF8.self))\r\n"
        let expected = "*\(count % 97 + 1)\r\n$1\r\nA\r\n" + arguments.map { _ in text }.joined()
        #expect(sent(RedisCommands("A", arguments)) == expected)
    }

    @Test func `commands are sent together, and each may go behind another`() {
        let (a, b, c) = (RedisCommands("A"), RedisCommands("B", [.bytes([1])]), RedisCommands("C"))
        var all = RedisCommands()
        all.add("A")
        var others = RedisCommands()
        others += b
        others += c
        others += RedisCommands()
        all += others
        #expect(all.count == 3 && sent(all) == [a, b, c].map(sent).joined())
        var added = a
        added.add("B", [.bytes([1])])
        added.add("C")
        #expect(added == all)
        let asking = RedisCommands("ASKING")
        var led: [UInt8] = Array("before".utf8)
        all.append(to: &led, eachBehind: asking)
        let expected = [a, b, c].map { sent(asking) + sent($0) }.joined()
        #expect(String(decoding: led, as: UTF8.self) == "before" + expected)
        RedisCommands().append(to: &led, eachBehind: asking)
        #expect(String(decoding: led, as: UTF8.self) == "before" + expected)
    }
}
