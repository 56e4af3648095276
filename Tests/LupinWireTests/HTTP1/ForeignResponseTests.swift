// The responses of the table: read like everybody does, or refused, with the flaws that were seen.
import LupinCore
import LupinWire
import Testing

struct ForeignResponseTests {
    /// Reads a whole response up to the end of its connection: `ok`, its flaws, or `502`.
    private static func read(
        _ pieces: [ArraySlice<UInt8>],
        isStrict: Bool = false
    ) -> Verdict {
        let limits = HTTP1Limits(isStrict: isStrict)
        let parser = ResponseParser(limits: limits)
        var response: ParsedResponse?
        var decoder: BodyDecoder?
        var body: [UInt8] = []
        do throws(MessageProblem) {
            for piece in pieces {
                var bytes = Array(piece)
                if response == nil {
                    bytes.removeFirst(try parser.feed(bytes.span, requestMethod: .get))
                    guard parser.isComplete else { continue }
                    let parsed = parser.take()
                    response = parsed
                    decoder = BodyDecoder(parsed.framing, side: .response, limits: limits)
                }
                var span = bytes.mutableSpan
                if let produced = try decoder?.decode(&span).produced {
                    body += bytes[..<produced]
                }
            }
        } catch {
            return .accepted("502")
        }
        guard let response, !response.hasForeignCoding else { return .accepted("502") }
        guard body == Array("hello".utf8) else { return .accepted("another body") }
        guard response.flaws.isEmpty || !response.keepAlive else { return .accepted("kept") }
        var flaws = response.flaws
        flaws.formUnion(decoder?.flaws ?? ResponseFlaws())
        let words = flaws.all.map(\.word).joined(separator: ",")
        return .accepted(words.isEmpty ? "ok" : words)
    }

    @Test(arguments: ForeignResponse.all)
    func `a response is read as the table says, however it is cut`(response: ForeignResponse) {
        let verdict = verdict(of: response.text) { Self.read($0) }
        // A head that has not ended is a 502, too, once its connection ends.
        #expect(verdict == .accepted(response.lupin))
    }

    @Test(arguments: ForeignResponse.all)
    func `a strict parser refuses whatever has a flaw`(response: ForeignResponse) {
        let verdict = verdict(of: response.text) { Self.read($0, isStrict: true) }
        #expect(verdict == .accepted(response.lupin == "ok" ? "ok" : "502"))
    }

    @Test func `what everybody understands is understood`() {
        for response in ForeignResponse.all where response.others == "+++" {
            #expect(response.lupin != "502", "\(response.testDescription)")
        }
    }

    @Test(arguments: [(256, "ok"), (257, "fields"), (1000, "fields"), (1001, "502")])
    func `up to 1,000 fields are read`(count: Int, lupin: String) {
        let fields = (1..<count).map { "A\($0): b\r\n" }.joined()
        let text = "HTTP/1.1 200 OK\r\n\(fields)Content-Length: 5\r\n\r\nhello"
        let bytes = Array(text.utf8)
        let single = bytes.indices.map { bytes[$0...$0] }
        for pieces in [[bytes[...]], single] {
            #expect(Self.read(pieces) == .accepted(lupin))
        }
    }

    @Test func `control bytes become spaces, and lines with LF lie apart`() {
        let sample = "HTTP/1.1 200 O\u{1B}K\nA: \u{1}b\u{2}c\u{7F}\nD: e\u{B}\n f\r\n\n"
        let seen = "200 <O K> 1.1 untilClose close | !A: b c | D: e   f"
        #expect(verdict(of: sample) { readResponse($0) } == .accepted(seen))
    }

    @Test func `a request stays as strict as it was`() {
        for line in ["A: b\n", "A: b\u{1}c\r\n", "A@b: c\r\n"] {
            let sample = "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n"
            guard case .refused = verdict(of: sample, { readRequest($0) }) else {
                Issue.record("\(line) was accepted")
                continue
            }
        }
    }
}
