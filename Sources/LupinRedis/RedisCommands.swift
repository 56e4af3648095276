// Writes commands as a server reads them: lists of texts (RESP2).

import LupinCore

/// An argument of a command.
package enum RedisArgument: Sendable, ExpressibleByStringLiteral {
    case bytes([UInt8])
    case text(String)

    package init(stringLiteral text: String) { self = .text(text) }

    /// A number, in decimal.
    package static func number(_ number: Int64) -> RedisArgument { .text(String(number)) }

    fileprivate var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .text(let text): text.utf8.count
        }
    }
}

/// Commands that are sent together.
package struct RedisCommands: Sendable, Equatable {
    private var text: [UInt8] = []
    /// Where the second and the later commands begin.
    private var laterStarts: [Int] = []

    /// No command.
    package init() {}

    /// One command.
    package init(_ name: String, _ arguments: [RedisArgument] = []) { add(name, arguments) }

    package var isEmpty: Bool { text.isEmpty }

    /// How many there are.
    package var count: Int { isEmpty ? 0 : laterStarts.count + 1 }

    /// Adds a command behind the others.
    package mutating func add(_ name: String, _ arguments: [RedisArgument] = []) {
        if !isEmpty { laterStarts.append(text.count) }
        var most = name.utf8.count + Self.headBytesMax * 2
        for argument in arguments { most += argument.count + Self.headBytesMax }
        text.append(addingCapacity: most) { output in
            output.append(type: 0x2A, count: arguments.count + 1)
            output.append(word: name.utf8.span)
            for argument in arguments {
                switch argument {
                case .bytes(let bytes): output.append(word: bytes.span)
                case .text(let text): output.append(word: text.utf8.span)
                }
            }
        }
    }

    /// Adds other commands behind those that there are.
    package static func += (commands: inout RedisCommands, others: RedisCommands) {
        let end = commands.text.count
        if !commands.isEmpty, !others.isEmpty { commands.laterStarts.append(end) }
        for start in others.laterStarts { commands.laterStarts.append(end + start) }
        commands.text += others.text
    }

    /// Appends all commands as they are sent.
    package func append(to output: inout [UInt8]) { output += text }

    /// Appends all commands as they are sent, each behind `prefix`.
    package func append(to output: inout [UInt8], eachBehind prefix: RedisCommands) {
        if isEmpty { return }
        var start = 0
        for end in laterStarts + [text.count] {
            output += prefix.text
            output += text[start..<end]
            start = end
        }
    }

    /// What a text has besides its bytes: a type, a count of 19 digits at most, two ends of lines.
    private static let headBytesMax = 24
}

extension OutputSpan<UInt8> {
    /// Appends a text.
    fileprivate mutating func append(word: Span<UInt8>) {
        append(type: 0x24, count: word.count)
        append(copying: word)
        appendLineEnd()
    }

    /// Appends the line before a text or a list.
    fileprivate mutating func append(type: UInt8, count: Int) {
        append(type)
        var power = 1
        while count / power >= 10 { power *= 10 }
        while power > 0 {
            append(0x30 &+ UInt8(truncatingIfNeeded: count / power % 10))
            power /= 10
        }
        appendLineEnd()
    }

    private mutating func appendLineEnd() {
        append(0x0D)
        append(0x0A)
    }
}
