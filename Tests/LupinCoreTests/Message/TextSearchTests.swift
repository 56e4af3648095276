// Whether texts are found by their bytes, and replaced.

import LupinCore
import Testing

struct TextSearchTests {
    @Test(arguments: [
        ("", "a", nil), ("a", "a", 0), ("abc", "c", 2), ("aab", "ab", 1), ("aaaa", "aaaaa", nil),
        ("https://a", "://", 5), ("::/://", "://", 3), ("abc", "", 0), ("abc", "abcd", nil),
        ("0123456789abcdef0123456789abcdeg", "abcdeg", 26), ("é", "\u{A9}", nil),
    ])
    func `the first place is found`(text: String, part: String, index: Int?) {
        let bytes = Array(text.utf8)
        #expect(bytes.firstRange(of: Array(part.utf8))?.lowerBound == index)
        let range = text.firstRange(of: part)
        #expect(range.map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) } == index)
        #expect(range.map { String(text[$0]) } == index.map { _ in part })
        #expect(text.contains(part) == (index != nil))
    }

    @Test func `a search begins where it is told to`() {
        let bytes = Array("abab".utf8)
        #expect(bytes.firstRange(of: Array("ab".utf8), from: 1) == 2..<4)
        #expect(bytes.firstRange(of: Array("ab".utf8), from: 3) == nil)
        #expect(bytes.firstRange(of: [], from: 4) == 4..<4)
    }

    @Test func `a part of a text is searched in its own bounds`() {
        let text = "a=1&b=2"
        let part = text[text.index(text.startIndex, offsetBy: 2)..<text.endIndex]
        #expect(!part.contains("a="))
        #expect(part.firstRange(of: "b=").map { String(part[$0.upperBound...]) } == "2")
    }

    @Test(arguments: [
        ("a'b'c", "'", "\\'", "a\\'b\\'c"), ("aaa", "aa", "b", "ba"), ("abc", "", "x", "abc"),
        ("abc", "abc", "", ""), ("a", "b", "c", "a"), ("aa", "a", "aa", "aaaa"),
        // A shell sees the quote, whatever is drawn over it.
        ("'\u{301}", "'", "\"", "\"\u{301}"), ("a\r\nb", "\n", "\\n", "a\r\\nb"),
    ])
    func `all places are replaced`(text: String, part: String, new: String, result: String) {
        #expect(Array(text.replacing(part, with: new).utf8) == Array(result.utf8))
    }

    @Test func `pieces lie between separators and are not empty`() {
        #expect("a, b, , c".pieces(between: ", ") == ["a", "b", "c"])
        #expect("\n\na\nb\n\n\n\nc".pieces(between: "\n\n") == ["a\nb", "c"])
        #expect("".pieces(between: "x").isEmpty)
        #expect("abc".pieces(between: "") == ["abc"])
    }
}
