// Commands as a server reads them, by hiredis' writer.

import CHiredis

/// One command: its name and its arguments, any bytes.
package struct RedisCommand: Sendable, Equatable {
    package let words: [[UInt8]]

    package init(_ name: String, _ arguments: [[UInt8]]) {
        words = [Array(name.utf8)] + arguments
    }

    /// Appends the command as RESP.
    /// - Throws: `memory`.
    package func append(to output: inout [UInt8]) throws(RedisProblem) {
        var written: UnsafeMutablePointer<CChar>?
        var joined: [UInt8] = []
        for word in words { joined += word }
        let lengths = words.map(\.count)
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
        guard count >= 0, let text = unsafe written else { throw .memory }
        // Safety: `count` bytes stand at `text`.
        let buffer = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
        unsafe output.append(contentsOf: buffer)
        unsafe redisFreeCommand(text)
    }
}
