// Which body bytes are payload, where a body ends, and which framing is refused.
import LupinCore
import LupinWire
import Testing

/// Decodes a body and tells payload, trailers and the number of bytes behind it.
private func readBody(
    _ pieces: [ArraySlice<UInt8>],
    _ framing: BodyFraming,
    side: MessageSide = .request,
    limits: HTTP1Limits = HTTP1Limits()
) -> Verdict {
    let decoder = BodyDecoder(framing, side: side, limits: limits)
    var payload: [UInt8] = []
    var rest = 0
    do throws(MessageProblem) {
        for piece in pieces {
            var bytes = Array(piece)
            var span = bytes.mutableSpan
            let (consumed, produced) = try decoder.decode(&span)
            payload += bytes[..<produced]
            rest += piece.count - consumed
            // Of a response, what came before an error was handed out first.
            if consumed < piece.count, !decoder.isComplete {
                var left = Array(bytes[consumed...])
                var span = left.mutableSpan
                _ = try decoder.decode(&span)
            }
            // What follows the body must be left alone.
            guard Array(bytes[consumed...]) == Array(piece.dropFirst(consumed)) else {
                return .accepted("the bytes behind the body were touched")
            }
        }
    } catch {
        return .refused(error.reason)
    }
    guard decoder.isComplete else { return .incomplete }
    let text = String(decoding: payload, as: UTF8.self)
    return .accepted("<\(text)>\(describe(decoder.trailers))" + (rest > 0 ? " +\(rest)" : ""))
}

struct BodyDecoderTests {
    @Test(arguments: [
        ("0\r\n\r\n", "<>"),
        ("0000000000000000\r\n\r\n", "<>"),
        ("00000000000000005\r\nhello\r\n0\r\n\r\n", "<hello>"),
        ("5\r\nhello\r\n0\r\n\r\nGET", "<hello> +3"),
        ("5\r\nhello\r\n1\r\n,\r\n00B\r\n big world!\r\n0\r\n\r\n", "<hello, big world!>"),
        ("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "<01234567890123456789>"),
        ("1;a=b\r\nx\r\n0;last=\"y;z\"\r\n\r\n", "<x>"),
        ("1; a = b\r\nx\r\n0;\r\n\r\n", "<x>"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "<\r\n>"),
        ("0\r\nA: b\r\nC:d\r\n\r\nx", "<> | A: b | !C: d +1"),
    ])
    func `a chunked body is taken out of its framing however it is cut`(
        sample: String,
        meaning: String
    ) {
        #expect(verdict(of: sample) { readBody($0, .chunked) } == .accepted(meaning))
    }

    @Test(
        arguments: [
            ("\r\n", .invalidChunkSize), ("x\r\n", .invalidChunkSize),
            ("0x5\r\n", .invalidChunkSize),
            ("5_0\r\n", .invalidChunkSize), ("+5\r\n", .invalidChunkSize),
            ("-5\r\n", .invalidChunkSize), (" 5\r\n", .invalidChunkSize),
            ("5 \r\n", .invalidChunkSize), ("5 ;a\r\n", .invalidChunkSize),
            ("5\t\r\n", .invalidChunkSize), (";a\r\n", .invalidChunkSize),
            ("5,5\r\n", .invalidChunkSize), ("5\0\r\n", .invalidChunkSize),
            ("5\n", .bareLineFeed), ("\n", .bareLineFeed), ("5;a\n", .bareLineFeed),
            ("5\rx", .bareCarriageReturn), ("5;a\rb\n", .bareCarriageReturn),
            ("5;\0\r\n", .controlByte), ("5;\u{7F}\r\n", .controlByte),
            ("8000000000000000\r\n", .chunkTooLarge), ("ffffffffffffffff\r\n", .chunkTooLarge),
            ("10000000000000000\r\n", .chunkTooLarge), ("5 6\r\n", .invalidChunkSize),
            ("1\r\nxy", .missingChunkEnd), ("1\r\nx\n", .missingChunkEnd),
            ("1\r\nx\rz", .missingChunkEnd), ("1\r\nx0\r\n\r\n", .missingChunkEnd),
            ("0\r\nA : b\r\n", .whitespaceBeforeColon),
            ("0\r\n A: b\r\n", .whitespaceBeforeFirstField),
            ("0\r\nA: b\r\n c\r\n", .obsoleteFold), ("0\r\nA: b\n", .bareLineFeed),
            ("0\r\nA\r\n", .missingColon), ("0\r\n\rx", .bareCarriageReturn),
        ] as [(String, MessageProblem.Reason)]
    )
    func `bad chunk framing is refused`(sample: String, reason: MessageProblem.Reason) {
        #expect(verdict(of: sample) { readBody($0, .chunked) } == .refused(reason))
    }

    @Test(arguments: [
        "5\nhello\n0\n\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n0\r\nA: b\n\r\n",
        "5;a=b\nhello\r\n0\r\n\r\n", "5 \nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
    ])
    func `LF alone ends lines of a response, and is a flaw`(sample: String) throws {
        let meaning = verdict(of: sample) { readBody($0, .chunked, side: .response) }
        guard case .accepted(let text) = meaning else {
            Issue.record("\(meaning)")
            return
        }
        #expect(text.hasPrefix("<hello>"))
        let strict = HTTP1Limits(isStrict: true)
        let whole = readBody([sample.utf8Bytes[...]], .chunked, side: .response, limits: strict)
        #expect("\(whole)".hasPrefix("refused"))
        let decoder = BodyDecoder(.chunked, side: .response, limits: HTTP1Limits())
        for text in [sample, "0\r\n\r\n"] {
            var bytes = text.utf8Bytes
            var span = bytes.mutableSpan
            _ = try decoder.decode(&span)
            #expect(decoder.flaws.contains(.lineFeed) == (text == sample))
            decoder.begin(.chunked)
        }
    }

    @Test func `what came of a response before an error is handed out`() throws {
        var bytes = "5\r\nhello\r\nzz\r\n".utf8Bytes
        let decoder = BodyDecoder(.chunked, side: .response, limits: HTTP1Limits())
        var span = bytes.mutableSpan
        let (consumed, produced) = try decoder.decode(&span)
        #expect(consumed == 10 && produced == 5)
        var left = Array(bytes[consumed...])
        #expect(throws: MessageProblem.self) {
            var span = left.mutableSpan
            return try decoder.decode(&span)
        }
    }

    /// §7.1.1 has whitespace before an extension; old servers pad sizes with it.
    @Test(arguments: [
        "3 ; x\r\nabc\r\n0\r\n\r\n", "3   \r\nabc\r\n0  \r\n\r\n", "3\t;x=y\r\nabc\r\n0\r\n\r\n",
    ])
    func `sizes of responses may be padded`(sample: String) {
        let meaning = verdict(of: sample) { readBody($0, .chunked, side: .response) }
        #expect(meaning == .accepted("<abc>"))
    }

    @Test(arguments: ["3 4\r\n", "3 a\r\n", "3 \r3"])
    func `nothing else may follow a size`(sample: String) {
        guard case .refused = verdict(of: sample, { readBody($0, .chunked, side: .response) })
        else {
            Issue.record("accepted")
            return
        }
    }

    @Test func `the greatest chunk is accepted and never counted beyond`() {
        let sample = "7fffffffffffffff;a\r\nabc"
        #expect(verdict(of: sample) { readBody($0, .chunked) } == .incomplete)
    }

    @Test func `extensions on a line are limited`() {
        let fits = "1;" + String(repeating: "a", count: ChunkedDecoder.extensionBytesMax - 1)
        let end = "\r\nx\r\n0\r\n\r\n"
        #expect(readBody([(fits + end).utf8Bytes[...]], .chunked) == .accepted("<x>"))
        #expect(
            readBody([(fits + "a" + end).utf8Bytes[...]], .chunked)
                == .refused(.chunkExtensionTooLong)
        )
    }

    @Test func `extensions are limited against the payload they come with`() {
        let chunk = "1;" + String(repeating: "a", count: 1000) + "\r\nx\r\n"
        let flood = String(repeating: chunk, count: 17)
        #expect(readBody([flood.utf8Bytes[...]], .chunked) == .refused(.chunkExtensionTooLong))
        let large = "400;a\r\n" + String(repeating: "x", count: 1024) + "\r\n"
        let honest = String(repeating: large, count: 64) + "0\r\n\r\n"
        #expect(readBody([honest.utf8Bytes[...]], .chunked) != .refused(.chunkExtensionTooLong))
    }

    @Test func `trailers are limited in bytes and lines`() {
        var limits = HTTP1Limits()
        limits.trailerBytes = 16
        limits.headerFields = 2
        let long = "0\r\nA: 0123456789ab\r\n\r\n"
        #expect(
            verdict(of: long) { readBody($0, .chunked, limits: limits) }
                == .refused(.trailersTooLarge)
        )
        let many = "0\r\na:\r\nb:\r\nc:\r\n\r\n"
        #expect(
            verdict(of: many) { readBody($0, .chunked, limits: limits) }
                == .refused(.tooManyFields)
        )
        let fits = "0\r\nA: 012345678\r\n\r\n"
        #expect(
            verdict(of: fits) { readBody($0, .chunked, limits: limits) }
                == .accepted("<> | A: 012345678")
        )
    }

    @Test func `folded trailers of a response are unfolded`() {
        let sample = "0\r\nA : b\r\n c\r\n\r\n"
        #expect(
            verdict(of: sample) { readBody($0, .chunked, side: .response) }
                == .accepted("<> | !A: b   c")
        )
    }

    @Test func `a length is counted and what follows is left alone`() {
        #expect(verdict(of: "helloGET") { readBody($0, .length(5)) } == .accepted("<hello> +3"))
        #expect(verdict(of: "hell") { readBody($0, .length(5)) } == .incomplete)
        #expect(verdict(of: "GET") { readBody($0, .length(0)) } == .accepted("<> +3"))
        #expect(verdict(of: "GET") { readBody($0, .none) } == .accepted("<> +3"))
    }

    @Test(
        arguments: [
            (.none, nil), (.length(0), nil), (.length(5), .truncatedBody),
            (.chunked, .truncatedBody),
            (.untilClose, nil),
        ] as [(BodyFraming, MessageProblem.Reason?)]
    )
    func `only a close-delimited body is completed by the close`(
        framing: BodyFraming,
        reason: MessageProblem.Reason?
    ) {
        let decoder = BodyDecoder(framing, side: .response, limits: HTTP1Limits())
        #expect(decoder.isComplete == framing.isEmpty)
        do throws(MessageProblem) {
            try decoder.connectionClosed()
            #expect(reason == nil)
            #expect(decoder.isComplete)
        } catch {
            #expect(error.reason == reason)
            #expect(!decoder.isComplete)
        }
    }

    @Test func `a body cut inside its chunks or trailers is truncated`() throws {
        for sample in ["5\r\nhe", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n", "0\r\nA: b\r\n", "5"] {
            let decoder = BodyDecoder(.chunked, side: .response, limits: HTTP1Limits())
            var bytes = Array(sample.utf8)
            var span = bytes.mutableSpan
            _ = try decoder.decode(&span)
            #expect(throws: MessageProblem(.response, .truncatedBody)) {
                try decoder.connectionClosed()
            }
        }
    }

    @Test func `spliced bytes count like decoded ones`() throws {
        let decoder = BodyDecoder(.length(10), side: .response, limits: HTTP1Limits())
        #expect(decoder.remaining == 10)
        decoder.spliced(7)
        var bytes = Array("abcdef".utf8)
        var span = bytes.mutableSpan
        let counts = try decoder.decode(&span)
        #expect(counts.consumed == 3)
        #expect(decoder.isComplete)
        #expect(decoder.remaining == 0)
        let endless = BodyDecoder(.untilClose, side: .response, limits: HTTP1Limits())
        endless.spliced(1 << 40)
        #expect(endless.remaining == .max)
        #expect(BodyDecoder(.chunked, side: .response, limits: HTTP1Limits()).remaining == nil)
    }
}
