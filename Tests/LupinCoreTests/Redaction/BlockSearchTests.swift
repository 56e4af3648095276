// The searches that pass many bytes at once find what a look at every byte finds.
import LupinCore
import LupinTestKit
import Testing

extension Numbers {
    /// Bytes of an alphabet, or any.
    fileprivate mutating func bytes(_ count: Int, of alphabet: [UInt8] = []) -> [UInt8] {
        (0..<count).map { _ in
            if alphabet.isEmpty { return UInt8(truncatingIfNeeded: next(below: 256)) }
            return alphabet[next(below: alphabet.count)]
        }
    }
}

struct BlockSearchTests {
    @Test func `a block is found by the mark in it, wherever that is`() {
        for count in 0..<140 {
            for start in [0, 1, 7, 31, 32, 33, 64] where start <= count {
                let plain = [UInt8](repeating: 0x61, count: count)
                let last = start + (count - start) / 32 * 32
                #expect(plain.span.block(from: start) { $0 == 0x21 ? 1 : 0 } == last)
                let found = (0..<count).map { mark in
                    var bytes = plain
                    bytes[mark] = 0x21
                    return bytes.span.block(from: start) { $0 == 0x21 ? 1 : 0 }
                }
                let expected = (0..<count).map { mark in
                    mark < start ? last : min(start + (mark - start) / 32 * 32, last)
                }
                #expect(found == expected, "from \(start)")
            }
        }
    }

    // MARK: Known secrets

    /// The forms whose characters stand one behind the other, each perhaps in two ways.
    private static func forms(_ secret: [UInt8], _ numbers: inout Numbers) -> [[UInt8]] {
        let text = String(decoding: secret, as: UTF8.self)
        let hex = Array(SecretForm.hex.text(of: text).utf8)
        // The first four digits are all in one case, as a look at every byte wants it, too.
        let mixed = hex.enumerated().map { index, byte in
            let isUpper = index >= 4 && byte >= 0x61 && numbers.next(below: 2) == 1
            return isUpper ? byte - 0x20 : byte
        }
        return [secret, hex, mixed, Array(SecretForm.base64.text(of: text).utf8)]
    }

    @Test(arguments: 1...4)
    func `a secret of any length is found at any place of any text`(seed: UInt64) {
        var numbers = Numbers(state: seed)
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCXYZ0189+/-_".utf8)
        // The shortest secret decides how many places are passed at once.
        for shortest in [6, 7, 8, 9, 11, 16, 40] {
            var matcher = SecretMatcher()
            var secrets: [[UInt8]] = []
            for i in 0..<4 {
                let secret = numbers.bytes(shortest + i * 5, of: letters)
                if matcher.add(secret) { secrets.append(secret) }
            }
            for (number, secret) in secrets.enumerated() {
                for form in Self.forms(secret, &numbers) {
                    for index in 0..<24 {
                        let before = numbers.bytes(index, of: [0x20, 0x2C, 0x7E])
                        let behind = [UInt8](repeating: 0x20, count: numbers.next(below: 20))
                        let text = before + form + behind
                        let hits = matcher.find(in: text.span)
                        #expect(hits.map(\.secret) == [number])
                        #expect(hits.first?.range == index..<index + form.count)
                    }
                }
            }
        }
    }

    /// Where a look at every byte finds the secrets as they are, one behind the other.
    private static func plainHits(_ secrets: [[UInt8]], in text: [UInt8]) -> [Range<Int>] {
        var hits: [Range<Int>] = []
        for start in text.indices {
            for secret in secrets where text[start...].starts(with: secret) {
                let hit = start..<start + secret.count
                guard let last = hits.last, last.upperBound > start else {
                    hits.append(hit)
                    continue
                }
                hits[hits.count - 1] = last.lowerBound..<max(last.upperBound, hit.upperBound)
            }
        }
        return hits
    }

    @Test(arguments: 1...4)
    func `texts full of beginnings of secrets have the hits of a look at every byte`(seed: UInt64) {
        var numbers = Numbers(state: seed)
        for _ in 0..<200 {
            // Of two bytes, so that secrets overlap themselves and each other; none is an escape.
            let secrets = (0..<3).map { _ in
                numbers.bytes(6 + numbers.next(below: 9), of: [0x21, 0x2A])
            }
            var matcher = SecretMatcher()
            for secret in secrets { _ = matcher.add(secret) }
            let text = numbers.bytes(numbers.next(below: 120), of: [0x21, 0x2A, 0x2A, 0x21, 0x7E])
            let hits = matcher.find(in: text.span).map(\.range)
            #expect(hits == Self.plainHits(secrets, in: text))
        }
    }

    @Test func `a secret that the end cuts off is found from its fourth byte on`() {
        let secret = Array("0123456789abcdefghij".utf8)
        var matcher = SecretMatcher()
        _ = matcher.add(secret)
        for index in 0..<24 {
            for count in 0..<secret.count {
                let text = [UInt8](repeating: 0x2E, count: index) + secret.prefix(count)
                let hits = matcher.find(in: text.span, cut: .any)
                #expect(hits.map(\.range) == (count < 4 ? [] : [index..<index + count]))
                #expect(matcher.find(in: text.span).isEmpty)
            }
        }
    }

    // MARK: Names

    @Test(arguments: 1...4)
    func `what is found by its place in a URL does not depend on where the text begins`(
        seed: UInt64
    ) {
        var numbers = Numbers(state: seed)
        let urls = URLRedaction(parameters: NameSet(["k", "to*"]))
        let alphabet = Array("//??&#;;=@@ :\"'+ktoab%235DF\\\n".utf8)
        for _ in 0..<100 {
            // In so few bytes there is no block; the spaces end every part of a URL.
            let text = [0x20] + numbers.bytes(numbers.next(below: 29), of: alphabet) + [0x20]
            let alone = urls.findings(in: text.span).map(\.range)
            for pad in 0..<70 {
                let before = [UInt8](repeating: 0x78, count: pad)
                let behind = [UInt8](repeating: 0x78, count: pad * 3 % 50)
                let found = urls.findings(in: (before + text + behind).span).map(\.range)
                #expect(found == alone.map { $0.lowerBound + pad..<$0.upperBound + pad })
            }
        }
    }

    @Test(arguments: 1...4)
    func `what is hidden by its name does not depend on where the text begins or is cut`(
        seed: UInt64
    ) {
        var numbers = Numbers(state: seed)
        let pieces = [
            "\"token\"", ":", " ", "\"v1\"", "{", ",", "\\\"token\\\"", "\\\"v\\\"", "&token=v2",
            "?", "&", "password=", "plain text", "\n", "12345", "\\", "\"", "=",
        ]
        for _ in 0..<40 {
            let text = (0..<numbers.next(below: 14)).map { _ in
                Array(pieces[numbers.next(below: pieces.count)].utf8)
            }
            .reduce([0x0A], +)
            let kept = Masks.kept([text])
            for pad in [1, 2, 3, 5, 8, 13, 16, 17, 24, 31, 32, 33, 40, 47, 64, 71] {
                let before = [UInt8](repeating: 0x78, count: pad)
                let start = String(decoding: before, as: UTF8.self)
                #expect(Masks.kept([before + text]) == start + kept)
            }
            for border in text.indices {
                let parts = [Array(text[..<border]), Array(text[border...])]
                #expect(Masks.kept(parts, flushes: true) == kept)
            }
        }
    }
}
