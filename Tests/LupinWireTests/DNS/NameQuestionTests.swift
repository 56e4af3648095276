// Questions for names: whole, cut at every byte, and what nobody should send.
import LupinCore
import LupinWire
import Testing

struct NameQuestionTests {
    private static func message(
        labels: [[UInt8]],
        type: UInt8 = 1,
        flags: UInt8 = 1,
        tail: [UInt8] = []
    ) -> [UInt8] {
        var name: [UInt8] = []
        for label in labels { name += [UInt8(truncatingIfNeeded: label.count)] + label }
        name.append(0)
        return [0xAB, 0xCD, flags, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, type, 0, 1] + tail
    }

    private static let usual = message(labels: [Array("API".utf8), Array("test".utf8)])

    private func asked(_ message: [UInt8]) -> NameQuestion? {
        if case .question(let question) = NameQuestion.read(message) { question } else { nil }
    }

    /// The code of an answer without an address.
    private func code(_ message: [UInt8]) -> UInt8? {
        guard case .answered(let answer) = NameQuestion.read(message), answer.count >= 12 else {
            return nil
        }
        #expect(Array(answer[..<2]) == [0xAB, 0xCD] && answer[2] & 0x80 != 0)
        return answer[3] & 0x0F
    }

    @Test func `a question is read and answered with an address`() throws {
        let question = try #require(asked(Self.usual))
        #expect(question.name == "api.test" && question.kind == .ipv4)
        let head: [UInt8] = [0xAB, 0xCD, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]
        let record: [UInt8] = [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 198, 18, 0, 1]
        let answer: [UInt8] = head + Self.usual[12...] + record
        #expect(question.answer(.v4(0xC612_0001)) == answer)
    }

    @Test func `an address of another kind is none`() throws {
        let wanted = try #require(asked(Self.message(labels: [[0x61]], type: 28)))
        #expect(wanted.kind == .ipv6)
        #expect(wanted.answer(.v4(1))[7] == 0)
        let address: [UInt8] = [16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        #expect(wanted.answer(.v6(high: 0, low: 1)).suffix(17) == address)
        let other = try #require(asked(Self.message(labels: [[0x61]], type: 65)))
        #expect(other.kind == .other && other.answer(.v4(1))[7] == 0)
        #expect(other.absence[3] & 0x0F == 3)
    }

    @Test func `options behind the question don't matter`() {
        let options: [UInt8] = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]
        #expect(asked(Self.usual + options)?.name == "api.test")
    }

    @Test func `a message that is cut gets an error, or nothing without its head`() {
        for count in 0..<Self.usual.count {
            let cut = Array(Self.usual[..<count])
            if count < 12 {
                #expect(NameQuestion.read(cut) == .nothing)
            } else {
                #expect(code(cut) == 1)
            }
        }
    }

    @Test func `answers get none, and other operations are not there`() {
        #expect(NameQuestion.read(Self.message(labels: [[0x61]], flags: 0x80)) == .nothing)
        #expect(code(Self.message(labels: [[0x61]], flags: 0x10)) == 4)
        var two = Self.usual
        two[5] = 2
        #expect(code(two) == 1)
        var chaos = Self.usual
        chaos[chaos.count - 1] = 3
        #expect(code(chaos) == 5)
    }

    @Test func `names are names`() {
        let root = Self.message(labels: [])
        #expect(asked(root)?.name == "")
        // A pointer, a label of 64 bytes, a dot, a space and a NUL within one.
        #expect(
            code(
                [0xAB, 0xCD, 1, 0, 0, 1] + [UInt8](repeating: 0, count: 6) + [0xC0, 12, 0, 1, 0, 1]
            ) == 1
        )
        for label: [UInt8] in [
            [UInt8](repeating: 0x61, count: 64), [0x61, 0x2E], [0x20], [0], [0xFF],
        ] {
            #expect(code(Self.message(labels: [label])) == 1)
        }
        let long = [UInt8](repeating: 0x61, count: 63)
        #expect(code(Self.message(labels: [long, long, long, long])) == 1)
        let fitting = Self.message(labels: [long, long, long, Array(long.dropLast(2))])
        #expect(asked(fitting)?.name.utf8.count == 253)
    }

    @Test func `no bytes trap`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = Self.usual
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255)
            }
            if let question = asked(bytes) { _ = question.answer(.v4(1)) }
        }
    }
}
