// Commands as a server reads them, by hiredis' writer.

import CHiredis

/// One command: its name and its arguments, any bytes.
package struct RedisCommand: Sendable, Equatable {
    /// As RESP; empty where there was no memory for it.
    private let text: [UInt8]

    package init(_ name: String, _ arguments: [[UInt8]]) {
        text = RedisCommand.text([Array(name.utf8)] + arguments)
    }

    fileprivate init(text: [UInt8]) { self.text = text }

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

/// A command that is sent about many keys of one length: formatted once, with a blank for the key.
package struct KeyedCommand: Sendable {
    private let name: String
    private let arguments: [[UInt8]]
    private let keyBytes: Int
    private let head: [UInt8]
    private let tail: [UInt8]

    /// - Parameters:
    ///   - name: The command's name.
    ///   - keyBytes: The usual length of the key, which is the first argument.
    ///   - arguments: Those behind the key.
    package init(_ name: String, keyBytes: Int, _ arguments: [[UInt8]] = []) {
        self.name = name
        self.arguments = arguments
        self.keyBytes = keyBytes
        let blank = [UInt8](repeating: 0, count: keyBytes)
        let text = RedisCommand.text([Array(name.utf8), blank] + arguments)
        // Lengths and names have no zero, so the first one is the blank's.
        let start = text.firstIndex(of: 0) ?? text.endIndex
        head = Array(text[..<start])
        tail = Array(text[min(start + keyBytes, text.endIndex)...])
    }

    /// The command about one key.
    package func about(_ key: [UInt8]) -> RedisCommand {
        guard key.count == keyBytes, !tail.isEmpty else {
            return RedisCommand(name, [key] + arguments)
        }
        var text: [UInt8] = []
        text.reserveCapacity(head.count + keyBytes + tail.count)
        text += head
        text += key
        text += tail
        return RedisCommand(text: text)
    }
}
