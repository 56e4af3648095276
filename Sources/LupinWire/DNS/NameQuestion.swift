// A question to a name server, and the answers that need no other server (RFC 1035 §4).
package import LupinCore

/// One question of one message.
package struct NameQuestion: Sendable, Equatable {
    /// What is asked of the name.
    package enum Kind: Sendable, Equatable {
        case ipv4
        case ipv6
        case other
    }

    /// In lower case, without the dot at its end; empty for the root.
    package let name: String
    package let kind: Kind
    private let id: [UInt8]
    private let flags: UInt8
    /// The question as it came, for the answer.
    private let bytes: [UInt8]

    /// What becomes of a message.
    package enum Reading: Sendable, Equatable {
        case question(NameQuestion)
        /// A message that gets this answer whatever it asks for.
        case answered([UInt8])
        /// No answer can be given to it, such as to another answer.
        case nothing
    }

    /// Seconds for which an address may be kept.
    private static let lifetime: UInt8 = 60

    private enum Code: UInt8 {
        case success = 0
        case badFormat = 1
        case noSuchName = 3
        case notImplemented = 4
        case refused = 5
    }

    private static let headLength = 12
    /// RFC 1035 §2.3.4, as text: without the length before the first label and the root's.
    private static let nameLengthMax = 253

    /// Reads a message; any bytes may come.
    package static func read(_ message: [UInt8]) -> Reading {
        guard message.count >= headLength, message[2] & 0x80 == 0 else { return .nothing }
        let head = NameQuestion(
            name: "",
            kind: .other,
            id: Array(message[..<2]),
            flags: message[2],
            bytes: []
        )
        guard message[2] & 0x78 == 0 else { return .answered(head.reply(.notImplemented)) }
        guard message[4] == 0, message[5] == 1 else { return .answered(head.reply(.badFormat)) }
        var offset = headLength
        guard let name = name(in: message, at: &offset), offset + 4 <= message.count else {
            return .answered(head.reply(.badFormat))
        }
        let isInternet = message[offset + 2] == 0 && message[offset + 3] == 1
        let kind: Kind =
            switch (message[offset], message[offset + 1]) {
            case (0, 1): .ipv4
            case (0, 28): .ipv6
            default: .other
            }
        let question = NameQuestion(
            name: name,
            kind: kind,
            id: head.id,
            flags: head.flags,
            bytes: Array(message[headLength..<(offset + 4)])
        )
        return isInternet ? .question(question) : .answered(question.reply(.refused))
    }

    /// The name at `offset`, which moves behind it; nil for one that is no name of a question, in
    /// which nothing may point elsewhere.
    private static func name(in message: [UInt8], at offset: inout Int) -> String? {
        var name: [UInt8] = []
        while offset < message.count {
            let length = Int(message[offset])
            offset += 1
            if length == 0 { return String(decoding: name, as: UTF8.self) }
            guard length < 64, offset + length <= message.count else { return nil }
            if !name.isEmpty { name.append(0x2E) }
            for byte in message[offset..<(offset + length)] {
                // A dot within a label would read like another name.
                guard byte > 0x20, byte < 0x7F, byte != 0x2E else { return nil }
                name.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            }
            offset += length
            guard name.count <= nameLengthMax else { return nil }
        }
        return nil
    }

    // MARK: Answers

    /// The answer with an address, or with none of the kind that was asked for.
    package func answer(_ address: IPAddress?) -> [UInt8] {
        switch (address, kind) {
        case (.v4(let number)?, .ipv4):
            reply(.success, (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) })
        case (.v6(let high, let low)?, .ipv6):
            reply(
                .success,
                [high, low].flatMap { half in
                    (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) }
                }
            )
        default: reply(.success)
        }
    }

    /// The answer that there is no such name.
    package var absence: [UInt8] { reply(.noSuchName) }

    private func reply(_ code: Code, _ address: [UInt8] = []) -> [UInt8] {
        // An answer, recursive if that was asked for; recursion is available.
        var message = id + [0x80 | flags & 0x79, 0x80 | code.rawValue]
        message += [0, bytes.isEmpty ? 0 : 1, 0, address.isEmpty ? 0 : 1, 0, 0, 0, 0]
        message += bytes
        guard !address.isEmpty else { return message }
        // The name of the question, its type and class, how long it holds, and the address.
        message += [0xC0, UInt8(Self.headLength), 0, address.count == 4 ? 1 : 28, 0, 1]
        message += [0, 0, 0, Self.lifetime, 0, UInt8(truncatingIfNeeded: address.count)]
        return message + address
    }
}
