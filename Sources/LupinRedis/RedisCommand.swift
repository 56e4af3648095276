// Commands as a server reads them, by hiredis' writer.

import CHiredis

/// One command: its name and its arguments, any bytes.
package struct RedisCommand: Sendable, Equatable {
    /// As RESP; empty where there was no memory for it.
    fileprivate let text: [UInt8]

    package init(_ name: String, _ arguments: [[UInt8]]) {
        text = RedisCommand.text([Array(name.utf8)] + arguments)
    }

    /// Appends the command as RESP.
    /// - Throws: `memory`.
    package func append(to output: inout [UInt8]) throws(RedisProblem) {
        guard !text.isEmpty else { throw .memory }
        output += text
    }

    fileprivate static func text(_ words: [[UInt8]]) -> [UInt8] {
        var written: UnsafeMutablePointer<CChar>?
        var joined: [UInt8] = []
        for word in words { joined += word }
        var lengths: [Int] = []
        for word in words { lengths.append(word.count) }
        // Safety: each pointer names its word in `joined`, which is not changed meanwhile; the call
        // copies what it reads and gives memory that is ours.
        let count = unsafe joined.withUnsafeBytes { bytes in
            var starts = unsafe [UnsafePointer<CChar>?]()
            var start = 0
            for length in lengths {
                let at = unsafe bytes.baseAddress?.advanced(by: start)
                unsafe starts.append(at?.assumingMemoryBound(to: CChar.self))
                start += length
            }
            return unsafe redisFormatCommandArgv(
                &written,
                Int32(clamping: words.count),
                &starts,
                lengths
            )
        }
        guard count >= 0, let text = unsafe written else { return [] }
        defer { unsafe redisFreeCommand(text) }
        // Safety: `count` bytes stand at `text`.
        let buffer = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
        return unsafe [UInt8](buffer)
    }
}

/// Commands that are sent together, as one piece of text.
package struct RedisCommands: Sendable, Equatable {
    /// As RESP; empty where there was no memory for one of them.
    private var text: [UInt8]
    /// Where the second and the later commands begin.
    private var starts: [Int]

    /// How many there are.
    package var count: Int { starts.count + 1 }

    fileprivate init(text: [UInt8], starts: [Int]) {
        self.text = text
        self.starts = starts
    }

    package init(_ command: RedisCommand) { self.init(text: command.text, starts: []) }

    package static func + (one: RedisCommands, other: RedisCommands) -> RedisCommands {
        guard !one.text.isEmpty, !other.text.isEmpty else {
            return RedisCommands(text: [], starts: one.starts + [0] + other.starts)
        }
        let end = one.text.count
        return RedisCommands(
            text: one.text + other.text,
            starts: one.starts + [end] + other.starts.map { end + $0 }
        )
    }

    package static func + (one: RedisCommands, other: RedisCommand) -> RedisCommands {
        one + RedisCommands(other)
    }

    /// Appends all commands as RESP.
    /// - Throws: `memory`.
    package func append(to output: inout [UInt8]) throws(RedisProblem) {
        guard !text.isEmpty else { throw .memory }
        output += text
    }

    /// Appends all commands as RESP, each behind `prefix`.
    /// - Throws: `memory`.
    package func append(
        to output: inout [UInt8],
        eachBehind prefix: RedisCommand
    ) throws(RedisProblem) {
        guard !text.isEmpty else { throw .memory }
        var start = 0
        for end in starts + [text.count] {
            try prefix.append(to: &output)
            output += text[start..<end]
            start = end
        }
    }
}

/// Commands that are sent about many keys of one length: formatted once, with blanks for the key.
package struct KeyedCommands: Sendable {
    /// A command whose first argument is the key.
    package struct Form: Sendable {
        let name: String
        let arguments: [[UInt8]]

        /// `arguments` are those behind the key.
        package init(_ name: String, _ arguments: [[UInt8]] = []) {
            self.name = name
            self.arguments = arguments
        }
    }

    private let forms: [Form]
    private let keyBytes: Int
    /// The text between the blanks; empty where there was no memory for it.
    private var pieces: [[UInt8]] = []
    private var starts: [Int] = []
    private var bytes = 0

    /// `keyBytes` is the usual length of the key.
    package init(keyBytes: Int, _ forms: [Form]) {
        self.forms = forms
        self.keyBytes = keyBytes
        let blank = [UInt8](repeating: 0, count: keyBytes)
        var tail: [UInt8] = []
        for form in forms {
            let text = RedisCommand.text([Array(form.name.utf8), blank] + form.arguments)
            // Lengths and names have no zero, so the first one is the blank's.
            guard let blankStart = text.firstIndex(of: 0) else {
                pieces = []
                return
            }
            if bytes > 0 { starts.append(bytes) }
            bytes += text.count
            pieces.append(tail + text[..<blankStart])
            tail = Array(text[(blankStart + keyBytes)...])
        }
        pieces.append(tail)
    }

    /// The commands about one key.
    package func about(_ key: [UInt8]) -> RedisCommands {
        guard key.count == keyBytes, !pieces.isEmpty else {
            let commands = forms.map { form in
                RedisCommands(RedisCommand(form.name, [key] + form.arguments))
            }
            return commands.dropFirst().reduce(commands[0], +)
        }
        var text: [UInt8] = []
        text.reserveCapacity(bytes)
        text += pieces[0]
        for piece in pieces.dropFirst() {
            text += key
            text += piece
        }
        return RedisCommands(text: text, starts: starts)
    }
}
