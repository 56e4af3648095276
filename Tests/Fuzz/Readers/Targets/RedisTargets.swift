// Replies of a server that machines share: they are the same however they are cut, and bounded.
import LupinRedis

enum RedisTargets {
    static let all = [replies, commands]

    /// Replies, and what is made of each: where a command goes instead, or who has which slots.
    static let replies = FuzzTarget(
        "redis-replies",
        seeds: [
            "+OK\r\n:1\r\n", "$3\r\na\r\n\r\n$-1\r\n*-1\r\n", "-MOVED 3999 127.0.0.1:6381\r\n",
            "-ASK 16383 :6381\r\n", "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\na\r\n:6379\r\n",
            "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n", "%1\r\n+a\r\n:1\r\n",
            "*2\r\n*2\r\n*0\r\n*1\r\n:1\r\n$0\r\n\r\n", ":-9223372036854775808\r\n",
        ],
        words: [
            "\r\n", "*1\r\n", "*2\r\n", "*-1\r\n", "$-1\r\n", "$1\r\nx\r\n", "$0\r\n\r\n", ":1\r\n",
            "*1048576\r\n", "*1048577\r\n", "$9223372036854775807\r\n", "-ASK ", "+", "\r",
            "*9\r\n",
        ],
        roundsInTests: 100
    ) { input in
        let whole = read([input[...]])
        try hold(whole == read(input.indices.map { input[$0...$0] }), "pieces are read the same")
        let cut = input.count / 2
        try hold(whole == read([input[..<cut], input[cut...]]), "halves are read the same")
        let room = input.count / 2
        let narrow = read([input[...]], bytesMax: room)
        try hold(whole.replies.starts(with: narrow.replies), "a limit changes no reply")
        let asked = NodeAddress(host: "h", port: 1)
        var words: [String] = []
        for reply in whole.replies {
            if Redirection(reply, asked: asked) != nil { words.append("redirection") }
            guard let map = SlotMap(slots: reply, asked: asked) else { continue }
            words.append("map")
            try hold(map.allNodes.count <= 1024, "a cluster has so many nodes")
        }
        let problem = whole.problem.map { "\($0)" } ?? "none"
        words.insert(size(whole.replies.count), at: 0)
        return "\(words.prefix(3).joined(separator: " ")) \(problem) \(told(narrow.problem))"
    }

    /// The arguments of a command, one a line, read as a server reads them.
    static let commands = FuzzTarget(
        "redis-commands",
        seeds: ["GET\nkey", "SET\n\u{0}\r\u{FF}\n\nPX", ""],
        words: ["\r", "$1\r\n", "*2"]
    ) { input in
        let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false).map(Array.init)
        var commands = RedisCommands("PING", lines.map { .bytes($0) })
        commands.add("A", [.text(text(lines[0]))])
        var bytes: [UInt8] = []
        commands.append(to: &bytes)
        let expected: [RedisReply] = [
            .list(([Array("PING".utf8)] + lines).map { .text($0) }),
            .list([.text([0x41]), .text(Array(text(lines[0]).utf8))]),
        ]
        let read = read([bytes[...]])
        try hold(read.problem == nil && read.replies == expected, "it is read as it was written")
        return size(lines.count)
    }

    private struct Reading: Equatable {
        var replies: [RedisReply] = []
        var problem: RedisProblem?
    }

    private static func read(_ pieces: [ArraySlice<UInt8>], bytesMax: Int = 1 << 20) -> Reading {
        var reader = ReplyReader(bytesMax: bytesMax)
        var reading = Reading()
        do throws(RedisProblem) {
            for piece in pieces {
                var position = 0
                while let reply = try reader.next(in: piece.span, at: &position) {
                    reading.replies.append(reply)
                }
            }
        } catch {
            reading.problem = error
        }
        return reading
    }
}
