// Which response heads are understood, how their bodies end, and which are refused.
import LupinCore
import LupinTestKit
import LupinWire
import Testing

struct ResponseParserTests {
    @Test(arguments: [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "200 <OK> 1.1 length(5) | Content-Length: 5 +5"
        ),
        ("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 <> 1.1 length(0) | Content-Length: 0"),
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 <> 1.1 length(0) | Content-Length: 0"),
        ("HTTP/1.1 200 OK\r\n\r\n", "200 <OK> 1.1 untilClose close"),
        ("HTTP/1.0 599 \r\n\r\n", "599 <> 1.0 untilClose close"),
        (
            "HTTP/1.0 200 a\tb\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\n",
            "200 <a\tb> 1.0 length(1) | Content-Length: 1 | Connection: Keep-Alive"
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n",
            "200 <OK> 1.0 length(1) close | Content-Length: 1"
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
            "200 <OK> 1.1 length(1) close | Content-Length: 1 | Connection: close"
        ),
        (
            "HTTP/1.2 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n",
            "200 <OK> 1.1 chunked | transfer-encoding: CHUNKED"
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n",
            "200 <OK> 1.1 length(5) | Content-Length: 5, 5"
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 05\r\n\r\n",
            "200 <OK> 1.1 length(5) | Content-Length: 5 | Content-Length: 05"
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,chunked,\r\n\r\n",
            "200 <OK> 1.1 chunked | Transfer-Encoding: ,chunked,"
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
            "200 <OK> 1.1 untilClose close | Transfer-Encoding: identity"
        ),
        (
            "HTTP/1.1   200 OK\r\nTransfer-Encoding:\r\n\r\n",
            "200 <OK> 1.1 untilClose close | !Transfer-Encoding: "
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            "200 <OK> 1.1 untilClose close coded | Transfer-Encoding: chunked, gzip"
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n",
            "200 <OK> 1.1 untilClose close coded | Transfer-Encoding: chunked"
                + " | Transfer-Encoding: gzip"
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u{81}",
            "101 <Switching Protocols> 1.1 none | Upgrade: websocket +1"
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1",
            "103 <Early Hints> 1.1 none | Link: </a> +8"
        ),
    ])
    func `a well-formed head is understood however it is cut`(sample: String, meaning: String) {
        #expect(verdict(of: sample) { readResponse($0) } == .accepted(meaning))
    }

    @Test(arguments: [
        ("A: b\r\n c\r\n", "A: b   c"),
        ("A: b \t\r\n \t c\r\n", "A: b \t   \t c"),
        ("A:\r\n b\r\n", "!A: b"),
        ("A:\r\n \r\n", "!A: "),
        ("A: b\r\n \r\n", "!A: b"),
        ("A: b\r\n \r\n c \r\n", "!A: b      c"),
        ("A: b\r\n\tc\r\n d\r\nE: f\r\n", "A: b  \tc   d | E: f"),
        ("A : b\r\n", "!A: b"),
        ("A \t: b\r\n", "!A: b"),
        ("A: \u{E9}\r\n", "A: \u{FFFD}"),
    ])
    func `folds become spaces and a space before the colon goes`(lines: String, seen: String) {
        let sample = "HTTP/1.1 304 x\r\n\(lines)\r\n"
        #expect(verdict(of: sample) { readResponse($0) } == .accepted("304 <x> 1.1 none | \(seen)"))
    }

    @Test(
        arguments: [
            ("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}", .tlsInsteadOfHTTP),
            ("\u{16}\u{3}\u{1}", .controlByte),
            ("hello\r\n", .malformedStatusLine),
            ("<html>\n", .malformedStatusLine),
            ("HTTP/1.1\r\n", .malformedStatusLine),
            ("HTTP/1.1 20 OK\r\n", .malformedStatusLine),
            ("HTTP/1.1 2000\r\n", .malformedStatusLine),
            ("HTTP/1.1  20 OK\r\n", .malformedStatusLine),
            ("HTTP/1.1 200OK\r\n", .malformedStatusLine),
            ("HTTP/1.1 +20 OK\r\n", .malformedStatusLine),
            ("http/1.1 200 OK\r\n", .malformedStatusLine),
            ("ICY 200 OK\r\n\r\n", .malformedStatusLine),
            ("HTTP/2.0 200 OK\r\n", .unsupportedVersion),
            ("HTTP/0.9 200 OK\r\n", .unsupportedVersion),
            ("HTTP/1.1 099 x\r\n", .statusOutOfRange),
            ("HTTP/1.1 000 x\r\n", .statusOutOfRange),
            ("HTTP/1.1 200 \0\r\n", .controlByte),
            ("\r\nHTTP/1.1 200 OK\r\n", .malformedStatusLine),
            ("HTTP/1.1 200 OK\r\n A: b\r\n", .whitespaceBeforeFirstField),
            ("HTTP/1.1 200 OK\r\nA: b\rc", .bareCarriageReturn),
            ("HTTP/1.1 200 OK\r\nA: b\0c", .controlByte),
            ("HTTP/1.1 200 OK\r\nA\r\n", .missingColon),
            ("HTTP/1.1 200 OK\r\nA\n", .missingColon),
            ("HTTP/1.1 200 OK\r\nA \r\n", .missingColon),
            ("HTTP/1.1 200 OK\r\n: b\r\n", .invalidFieldName),
            ("HTTP/1.1 200 OK\r\nA b: c\r\n", .invalidFieldName),
        ] as [(String, MessageProblem.Reason)]
    )
    func `a bad line is refused`(sample: String, reason: MessageProblem.Reason) {
        #expect(verdict(of: sample) { readResponse($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            ("1.1", "Content-Length: 5, 6\r\n", .invalidLength),
            ("1.1", "Content-Length: 5,\r\n", .invalidLength),
            ("1.1", "Content-Length: 5\r\nContent-Length: 6\r\n", .severalLengths),
            ("1.1", "Content-Length: +5\r\n", .invalidLength),
            ("1.1", "Content-Length: 5_0\r\n", .invalidLength),
            ("1.1", "Content-Length: 0x5\r\n", .invalidLength),
            ("1.1", "Content-Length:\r\n", .invalidLength),
            ("1.1", "Content-Length: 9223372036854775808\r\n", .invalidLength),
            ("1.1", "Transfer-Encoding: gzip, chunked\r\n", .unknownCoding),
            (
                "1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                .severalCodings
            ),
            ("1.1", "Transfer-Encoding: chunked;q=1\r\n", .invalidCoding),
        ] as [(String, String, MessageProblem.Reason)]
    )
    func `framing that could be read in two ways is refused`(
        version: String,
        lines: String,
        reason: MessageProblem.Reason
    ) {
        let sample = "HTTP/\(version) 200 OK\r\n\(lines)\r\n"
        #expect(verdict(of: sample) { readResponse($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            (.get, 100, .none, nil), (.get, 103, .none, nil), (.get, 204, .none, nil),
            (.get, 304, .none, 7), (.get, 200, .length(7), 7), (.get, 404, .length(7), 7),
            (.get, 205, .length(7), 7),
            (.head, 100, .none, nil), (.head, 200, .none, 7), (.head, 204, .none, nil),
            (.head, 304, .none, 7), (.head, 500, .none, 7),
            (.connect, 200, .none, nil), (.connect, 204, .none, nil), (.connect, 299, .none, nil),
            (.connect, 304, .none, 7), (.connect, 407, .length(7), 7),
            (.post, 101, .none, nil), (.options, 200, .length(7), 7),
            (.other("PROPFIND"), 207, .length(7), 7),
        ] as [(Method, Int, BodyFraming, UInt64?)]
    )
    func `method and status decide whether there is a body`(
        method: Method,
        status: Int,
        framing: BodyFraming,
        contentLength: UInt64?
    ) throws {
        let parser = ResponseParser(limits: HTTP1Limits())
        let head = Array("HTTP/1.1 \(status) x\r\nContent-Length: 7\r\n\r\n".utf8)
        #expect(try parser.feed(head.span, requestMethod: method) == head.count)
        let parsed = parser.take()
        #expect(parsed.framing == framing)
        #expect(parsed.contentLength == contentLength)
        #expect(parsed.keepAlive)
    }

    @Test(arguments: [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: x\r\n",
        "Transfer-Encoding: gzip\r\n",
    ])
    func `where no body can be, framing fields are not believed`(lines: String) throws {
        for (method, status) in [(Method.head, 200), (.get, 204), (.get, 304), (.connect, 200)] {
            let parser = ResponseParser(limits: HTTP1Limits())
            let head = Array("HTTP/1.1 \(status) x\r\n\(lines)\r\n".utf8)
            _ = try parser.feed(head.span, requestMethod: method)
            let parsed = parser.take()
            #expect(parsed.framing == .none)
            #expect(parsed.contentLength == nil)
        }
    }

    @Test func `interim responses are taken one after the other`() throws {
        let bytes = Array(
            "HTTP/1.1 100 \r\n\r\nHTTP/1.1 103 \r\nA: b\r\n\r\nHTTP/1.1 204 \r\n\r\n".utf8
        )
        let parser = ResponseParser(limits: HTTP1Limits())
        var offset = 0
        var statuses: [UInt16] = []
        while offset < bytes.count {
            offset += try parser.feed(bytes.span.extracting(offset...), requestMethod: .get)
            statuses.append(parser.take().head.status)
        }
        #expect(statuses == [100, 103, 204])
    }

    @Test func `flaws of interim heads count for the final one, and for no later one`() throws {
        let sound = "HTTP/1.1 204 \r\n\r\n"
        let bytes = Array(
            ("HTTP/1.1 103 \nA: b\n\n" + "HTTP/1.1 100 \r\nA: b\u{1}c\r\n\r\n" + sound + sound).utf8
        )
        let parser = ResponseParser(limits: HTTP1Limits())
        var offset = 0
        var seen: [[ResponseFlaw]] = []
        var isKept: [Bool] = []
        while offset < bytes.count {
            offset += try parser.feed(bytes.span.extracting(offset...), requestMethod: .get)
            let parsed = parser.take()
            seen.append(parsed.flaws.all)
            isKept.append(parsed.keepAlive)
        }
        let both: [ResponseFlaw] = [.lineFeed, .control]
        #expect(seen == [[.lineFeed], both, both, []])
        #expect(isKept == [false, false, false, true])
    }

    @Test(arguments: [
        ("", false), ("HTTP/1.1 20", false), ("HT", false), ("HTTP/1.1 200 OK\r\nA: b", false),
        ("<html>hi</html>", true), ("HTML", true), ("SSH-2.0-x", true),
    ])
    func `what ends without a line may be no HTTP at all`(
        sample: String,
        isForeign: Bool
    ) throws {
        let parser = ResponseParser(limits: HTTP1Limits())
        _ = try parser.feed(Array(sample.utf8).span, requestMethod: .get)
        var problem: MessageProblem?
        do throws(MessageProblem) { try parser.connectionClosed() } catch { problem = error }
        #expect(problem == (isForeign ? MessageProblem(.response, .malformedStatusLine) : nil))
    }

    @Test func `thousands of folds cost time in proportion`() throws {
        let folds = String(repeating: "\r\n ", count: 20_000)
        let sample = Array("HTTP/1.1 304 x\r\nA: b\(folds)\r\n\r\n".utf8)
        let parser = ResponseParser(limits: HTTP1Limits())
        let time = try processorTime {
            _ = try parser.feed(sample.span, requestMethod: .get)
            #expect(parser.take().head.fields.value(of: "A") == "b")
        }
        // Trimming again at each fold would look at 600 million bytes.
        #expect(time < .seconds(1))
    }
}
