// Reads the replies of a server from bytes as they come (RESP2).

import LupinCore

/// Turns bytes into replies, wherever they are cut.
///
/// A line is collected until its end has come; the bytes of a text go where they stay, so that none
/// is looked at twice. A text that is announced takes no more than `bytesMax`, a list no more than
/// the elements that came.
package struct ReplyReader {
    /// A list whose elements are still to come.
    private struct List {
        let count: Int
        var elements: [RedisReply] = []
    }

    private let bytesMax: Int
    /// How much more the reply may have.
    private var bytesLeft: Int
    private var elementsLeft = ReplyReader.elementsMax
    /// The beginning of a line.
    private var line: [UInt8] = []
    /// The beginning of a text, and its length with the end of its line; nil while no text comes.
    private var text: [UInt8] = []
    private var textBytes: Int?
    /// The outermost first.
    private var lists: [List] = []
    /// Why no reply follows.
    private var problem: RedisProblem?

    /// The elements of one reply with those of inner lists: 64 for each slot of a cluster.
    private static let elementsMax = HashSlot.count * 64
    /// Lists within each other; CLUSTER SLOTS has four.
    private static let depthMax = 8
    /// A line with a number: its type, a sign, 19 digits and the end.
    private static let numberLineMax = 23

    /// - Parameter bytesMax: The bytes of one reply that may be held.
    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
        bytesLeft = bytesMax
    }

    /// Reads on until a reply ends.
    ///
    /// - Parameters:
    ///   - input: Bytes of the server.
    ///   - position: Where to read on; moved behind what was read.
    /// - Returns: The reply; nil where all was read and no reply ends.
    /// - Throws: `malformed` or `tooLong`, and the same from then on.
    package mutating func next(
        in input: Span<UInt8>,
        at position: inout Int
    ) throws(RedisProblem) -> RedisReply? {
        if let problem { throw problem }
        do throws(RedisProblem) {
            while position < input.count {
                let rest = input.extracting(droppingFirst: position)
                let value =
                    if let textBytes {
                        try readText(of: textBytes, in: rest, &position)
                    } else {
                        try readLine(in: rest, &position)
                    }
                guard let value, let reply = add(value) else { continue }
                (bytesLeft, elementsLeft) = (bytesMax, Self.elementsMax)
                return reply
            }
            return nil
        } catch {
            problem = error
            throw error
        }
    }

    /// Reads on in a line, at the beginning of `rest`; returns the value that it is, if it is one.
    private mutating func readLine(
        in rest: Span<UInt8>,
        _ position: inout Int
    ) throws(RedisProblem) -> RedisReply? {
        let lineEnd = rest.offset(of: 0x0A)
        let isWhole = lineEnd < rest.count
        let count = isWhole ? lineEnd + 1 : rest.count
        // Both limits are those of the line's beginning, so that cuts don't matter.
        let most = min(try Self.lineMax(type: line.first ?? rest[0]), bytesLeft)
        guard count <= most - line.count else {
            throw most == bytesLeft ? .tooLong : .malformed("a number has too many digits")
        }
        line.append(copying: rest.extracting(first: count))
        position += count
        guard isWhole else { return nil }
        bytesLeft -= line.count
        defer { line.removeAll(keepingCapacity: line.count < 4096) }
        switch try ReplyLine(line.span) {
        case .value(let value): return value
        case .text(let count):
            guard count <= bytesLeft - 2 else { throw .tooLong }
            bytesLeft -= count + 2
            textBytes = count + 2
            text.reserveCapacity(count + 2)
            return nil
        case .list(let count):
            guard count <= elementsLeft else { throw .tooLong }
            guard lists.count < Self.depthMax else { throw .malformed("its lists are too deep") }
            if count == 0 { return .list([]) }
            elementsLeft -= count
            lists.append(List(count: count))
            return nil
        }
    }

    /// How long a line may be; one whose type RESP2 does not have is refused at once.
    private static func lineMax(type: UInt8) throws(RedisProblem) -> Int {
        switch type {
        case 0x2B, 0x2D: .max
        case 0x24, 0x2A, 0x3A: numberLineMax
        default: throw .malformed("a type that RESP2 does not have")
        }
    }

    /// Reads on in a text that has `count` bytes with its end; returns it where it is whole.
    private mutating func readText(
        of count: Int,
        in rest: Span<UInt8>,
        _ position: inout Int
    ) throws(RedisProblem) -> RedisReply? {
        let taken = min(rest.count, count - text.count)
        text.append(copying: rest.extracting(first: taken))
        position += taken
        guard text.count == count else { return nil }
        guard text.popLast() == 0x0A, text.popLast() == 0x0D else {
            throw .malformed("a text is not as long as announced")
        }
        textBytes = nil
        var whole: [UInt8] = []
        swap(&whole, &text)
        return .text(whole)
    }

    /// Adds a value to the list whose element it is; returns the reply where that is whole now.
    private mutating func add(_ value: RedisReply) -> RedisReply? {
        var value = value
        while var list = lists.popLast() {
            list.elements.append(value)
            guard list.elements.count == list.count else {
                lists.append(list)
                return nil
            }
            value = .list(list.elements)
        }
        return value
    }
}

/// What a line says.
private enum ReplyLine {
    case value(RedisReply)
    /// A text of so many bytes follows.
    case text(Int)
    /// So many elements follow.
    case list(Int)

    /// `line` has its end.
    init(_ line: Span<UInt8>) throws(RedisProblem) {
        let content = line.extracting(droppingFirst: 1).extracting(droppingLast: 1)
        // Its end is the only place for a CR.
        guard content.offset(of: 0x0D) == content.count - 1 else {
            throw .malformed("a line has no proper end")
        }
        let said = content.extracting(droppingLast: 1)
        switch line[0] {
        case 0x2B: self = .value(.status(String(copying: said)))
        case 0x2D: self = .value(.failure(String(copying: said)))
        case let type:
            guard let number = NumberReader.signed(said) else {
                throw .malformed("a number has other bytes than digits")
            }
            switch type {
            case 0x3A: self = .value(.integer(number))
            case _ where number == -1: self = .value(.nothing)
            default:
                guard number >= 0, let count = Int(exactly: number) else {
                    throw .malformed("a length is negative")
                }
                self = type == 0x24 ? .text(count) : .list(count)
            }
        }
    }
}
