// Which request heads are understood, which are refused, and for what reason.
import LupinCore
import LupinTestKit
import LupinWire
import Testing

struct RequestParserTests {
    @Test(arguments: [
        (
            "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET origin / 1.1 none | Host: a.example"
        ),
        (
            "GET http://a.example/x?y HTTP/1.1\r\nHost: b.example\r\nAccept:\t*/* \r\n\r\nrest",
            "GET absolute http a.example /x?y 1.1 none | Host: b.example | !Accept: */* +4"
        ),
        (
            "GET HTTPS://a.example HTTP/1.1\r\nhOsT:a\r\n\r\n",
            "GET absolute https a.example / 1.1 none | !hOsT: a"
        ),
        (
            "GET http://a.example?q HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET absolute http a.example /?q 1.1 none | Host: a"
        ),
        (
            "GET http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n",
            "GET absolute http [::1]:8080 / 1.1 none | Host: [::1]:8080"
        ),
        (
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n\u{16}\u{3}",
            "CONNECT authority a.example:443 / 1.1 none | Host: a.example:443 +2"
        ),
        (
            "CONNECT [::1]:1 HTTP/1.1\r\nHost:\r\nContent-Length: 0\r\n\r\n",
            "CONNECT authority [::1]:1 / 1.1 length(0) | !Host:  | Content-Length: 0"
        ),
        (
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            "OPTIONS asterisk * 1.1 none | Host: a"
        ),
        (
            "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n",
            "OPTIONS absolute http a / 1.1 none | Host: a"
        ),
        ("GET /a|{b} HTTP/1.0\r\n\r\n", "GET origin /a|{b} 1.0 none close"),
        (
            "GET /\u{E9}/x?q=\u{E6}\u{97}\u{A5} HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET origin /%E9/x?q=%E6%97%A5 1.1 none | Host: a"
        ),
        (
            "GET http://a?\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET absolute http a /?%E9 1.1 none | Host: a"
        ),
        ("CONNECT a:1 HTTP/1.1\r\n\r\n", "CONNECT authority a:1 / 1.1 none"),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "GET origin / 1.0 none close asks | Connection: keep-alive"
        ),
        (
            "GET / HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\n\r\n",
            "GET origin / 1.0 none close asks | Proxy-Connection: Keep-Alive"
        ),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
            "GET origin / 1.0 none close | Connection: keep-alive, close"
        ),
        (
            "GET / HTTP/1.7\r\nHost: a\r\nConnection: x, Close\r\n\r\n",
            "GET origin / 1.1 none close | Host: a | Connection: x, Close"
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nTE: gzip, trailers\r\nX: \r\nY:\r\n\r\n",
            "GET origin / 1.1 none trailers | Host: a | TE: gzip, trailers | X:  | !Y: "
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\n1234567",
            "POST origin / 1.1 length(7) | Host: a | Content-Length: 007 +7"
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
            "POST origin / 1.1 length(9223372036854775807) | Host: a"
                + " | Content-Length: 9223372036854775807"
        ),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked \r\n\r\n",
            "POST origin / 1.1 chunked | Host: a | !Transfer-Encoding: Chunked"
        ),
        (
            "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
            "PUT origin / 1.1 length(1) expects | Host: a | Expect: 100-Continue"
                + " | Content-Length: 1"
        ),
        ("PUT / HTTP/1.0\r\nExpect: tea\r\n\r\n", "PUT origin / 1.0 none close | Expect: tea"),
        (
            "m!#$%&'*+-.^_`|~9 / HTTP/1.1\r\nHost: a\r\n\r\n",
            "m!#$%&'*+-.^_`|~9 origin / 1.1 none | Host: a"
        ),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET origin / 1.1 none | Host: a"),
        (
            "GET / HTTP/1.1\r\nHost:\ta\r\nB: \tc\r\n\r\n",
            "GET origin / 1.1 none | !Host: a | !B: c"
        ),
    ])
    func `a well-formed head is understood however it is cut`(sample: String, meaning: String) {
        #expect(verdict(of: sample) { readRequest($0) } == .accepted(meaning))
    }

    @Test(
        arguments: [
            ("\u{16}\u{3}\u{1}\u{2}", .tlsInsteadOfHTTP),
            ("GET\r\n\r\n", .malformedRequestLine),
            ("GET /\r\n\r\n", .malformedRequestLine),
            ("GET  / HTTP/1.1\r\n", .malformedRequestLine),
            ("GET / HTTP/1.1 \r\n", .malformedRequestLine),
            (" GET / HTTP/1.1\r\n", .malformedRequestLine),
            ("GET / x HTTP/1.1\r\n", .malformedRequestLine),
            ("G(T / HTTP/1.1\r\n", .invalidMethod),
            ("G\u{E9}T / HTTP/1.1\r\n", .invalidMethod),
            ("GET / HTTP/1.\u{E9}\r\n", .malformedRequestLine),
            ("GET /\u{7F} HTTP/1.1\r\n", .controlByte),
            ("GET\t/ HTTP/1.1\r\n", .controlByte),
            ("GET /\0 HTTP/1.1\r\n", .controlByte),
            ("GET / HTTP/1.1\n", .bareLineFeed),
            ("GET / HTTP/1.1\rX", .bareCarriageReturn),
            ("\rGET / HTTP/1.1\r\n", .bareCarriageReturn),
            ("\nGET / HTTP/1.1\r\n", .bareLineFeed),
            ("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n", .tooManyEmptyLines),
            ("GET / http/1.1\r\n", .malformedVersion),
            ("GET / HTTP/1\r\n", .malformedVersion),
            ("GET / HTTP/1.10\r\n", .malformedVersion),
            ("GET / HTTP/1,1\r\n", .malformedVersion),
            ("GET / HTTP/+.1\r\n", .malformedVersion),
            ("GET / HTTP/0.9\r\n", .unsupportedVersion),
            ("GET / HTTP/3.0\r\n", .unsupportedVersion),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .http2Preface),
        ] as [(String, MessageProblem.Reason)]
    )
    func `a bad request line is refused`(sample: String, reason: MessageProblem.Reason) {
        #expect(verdict(of: sample) { readRequest($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            ("GET", "*", .targetDoesNotFitMethod),
            ("GET", "foo", .targetDoesNotFitMethod),
            ("GET", "a.example:443", .targetDoesNotFitMethod),
            ("GET", ":", .targetDoesNotFitMethod),
            ("GET", "http:/a/", .targetDoesNotFitMethod),
            ("GET", "ftp://a/", .unsupportedScheme),
            ("GET", "ws://a/", .unsupportedScheme),
            ("GET", "http:///x", .invalidTargetAuthority),
            ("GET", "http://?x", .invalidTargetAuthority),
            ("GET", "http://:80/", .invalidTargetAuthority),
            ("GET", "http://a:b/", .invalidTargetAuthority),
            ("GET", "http://a:0/", .invalidTargetAuthority),
            ("GET", "http://a:65536/", .invalidTargetAuthority),
            ("GET", "http://a:99999999999999999999/", .invalidTargetAuthority),
            ("GET", "http://[::1/", .invalidTargetAuthority),
            ("GET", "http://[]/", .invalidTargetAuthority),
            ("GET", "http://[::1]x/", .invalidTargetAuthority),
            ("GET", "http://a%2/", .invalidTargetAuthority),
            ("GET", "http://a\\b/", .invalidTargetAuthority),
            ("GET", "http://u:p@a/", .userinfoInTarget),
            ("GET", "http://@a/", .userinfoInTarget),
            ("GET", "/x#y", .fragmentInTarget),
            ("GET", "http://a/#", .fragmentInTarget),
            ("CONNECT", "a.example", .invalidConnectTarget),
            ("CONNECT", "a.example:", .invalidConnectTarget),
            ("CONNECT", "a.example:0", .invalidConnectTarget),
            ("CONNECT", "a.example:65536", .invalidConnectTarget),
            ("CONNECT", ":443", .invalidConnectTarget),
            ("CONNECT", "/", .invalidConnectTarget),
            ("CONNECT", "*", .invalidConnectTarget),
            ("CONNECT", "http://a/", .invalidConnectTarget),
            ("CONNECT", "u@a:443", .userinfoInTarget),
        ] as [(String, String, MessageProblem.Reason)]
    )
    func `a target that its method can't have is refused`(
        method: String,
        target: String,
        reason: MessageProblem.Reason
    ) {
        let sample = "\(method) \(target) HTTP/1.1\r\nHost: a\r\n\r\n"
        #expect(verdict(of: sample) { readRequest($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            (" A: b\r\n", .whitespaceBeforeFirstField),
            ("\tA: b\r\n", .whitespaceBeforeFirstField),
            ("A: b\r\n c\r\n", .obsoleteFold),
            ("A: b\r\n\tc\r\n", .obsoleteFold),
            ("A : b\r\n", .whitespaceBeforeColon),
            ("A\t: b\r\n", .whitespaceBeforeColon),
            ("A\r\n", .missingColon),
            (": b\r\n", .invalidFieldName),
            ("A(: b\r\n", .invalidFieldName),
            ("\u{E9}: b\r\n", .invalidFieldName),
            ("A\0: b\r\n", .controlByte),
            ("A: b\n", .bareLineFeed),
            ("A\n", .bareLineFeed),
            ("A: b\rc\r\n", .bareCarriageReturn),
            ("A: b\r\r\n", .bareCarriageReturn),
            ("A: \0\r\n", .controlByte),
            ("A: b\u{0B}\r\n", .controlByte),
            ("A: \u{7F}\r\n", .controlByte),
            ("\rA: b\r\n", .bareCarriageReturn),
            ("\n", .bareLineFeed),
        ] as [(String, MessageProblem.Reason)]
    )
    func `a bad field line is refused`(lines: String, reason: MessageProblem.Reason) {
        let sample = "GET / HTTP/1.1\r\n" + lines
        #expect(verdict(of: sample) { readRequest($0) } == .refused(reason))
        // Nor may it hide behind good lines.
        guard reason != .whitespaceBeforeFirstField else { return }
        let later = "GET / HTTP/1.1\r\nHost: a\r\n" + lines
        #expect(verdict(of: later) { readRequest($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", .lengthAndCoding),
            ("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", .lengthAndCoding),
            ("Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", .lengthAndCoding),
            ("Content-Length: 5\r\nContent-Length: 5\r\n", .severalLengths),
            ("Content-Length: 5\r\nContent-Length: 6\r\n", .severalLengths),
            ("Content-Length: 5, 5\r\n", .severalLengths),
            ("Content-Length: \r\n", .invalidLength),
            ("Content-Length: +5\r\n", .invalidLength),
            ("Content-Length: -1\r\n", .invalidLength),
            ("Content-Length: 5_0\r\n", .invalidLength),
            ("Content-Length: 0x5\r\n", .invalidLength),
            ("Content-Length: 5 5\r\n", .invalidLength),
            ("Content-Length: 9223372036854775808\r\n", .invalidLength),
            ("Content-Length: 18446744073709551617\r\n", .invalidLength),
            ("Content-Length: 184467440737095516170\r\n", .invalidLength),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", .severalCodings),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", .severalCodings),
            ("Transfer-Encoding: chunked, chunked\r\n", .severalCodings),
            ("Transfer-Encoding: gzip, chunked\r\n", .unknownCoding),
            ("Transfer-Encoding: xchunked\r\n", .unknownCoding),
            ("Transfer-Encoding: identity\r\n", .unknownCoding),
            ("Transfer-Encoding: gzip\r\n", .chunkedNotLast),
            ("Transfer-Encoding: chunked, gzip\r\n", .chunkedNotLast),
            ("Transfer-Encoding:\r\n", .invalidCoding),
            ("Transfer-Encoding: chunked,\r\n", .invalidCoding),
            ("Transfer-Encoding: , chunked\r\n", .invalidCoding),
            ("Transfer-Encoding: chunked;a=b\r\n", .invalidCoding),
            ("Transfer-Encoding: \"chunked\"\r\n", .invalidCoding),
            ("Transfer-Encoding: chun ked\r\n", .invalidCoding),
            ("Expect: 200-ok\r\n", .unsupportedExpectation),
            ("Expect: 100-continue, x\r\n", .unsupportedExpectation),
            ("Host: a\r\n", .severalHosts),
        ] as [(String, MessageProblem.Reason)]
    )
    func `fields that could be read in two ways are refused`(
        lines: String,
        reason: MessageProblem.Reason
    ) {
        let sample = "POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"
        #expect(verdict(of: sample) { readRequest($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", .missingHost),
            ("GET http://a/ HTTP/1.1\r\n\r\n", .missingHost),
            ("GET http://\u{E9}/ HTTP/1.1\r\nHost: a\r\n\r\n", .invalidTargetAuthority),
            ("CONNECT \u{E9}:443 HTTP/1.1\r\nHost: a\r\n\r\n", .invalidConnectTarget),
            ("GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: :80\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: a:70000\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.1\r\nHost: \u{E9}\r\n\r\n", .invalidHost),
            ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", .severalHosts),
            ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .codingInHTTP10),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 1\r\n\r\n", .connectWithBody),
            (
                "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nTransfer-Encoding: chunked\r\n\r\n",
                .connectWithBody
            ),
        ] as [(String, MessageProblem.Reason)]
    )
    func `a head that contradicts its own request line is refused`(
        sample: String,
        reason: MessageProblem.Reason
    ) {
        #expect(verdict(of: sample) { readRequest($0) } == .refused(reason))
    }

    @Test(
        arguments: [
            ("GET /\(String(repeating: "a", count: 64)) HTTP/1.1\r\n", .startLineTooLong),
            (String(repeating: "G", count: 65), .startLineTooLong),
            ("GET / HTTP/1.1\r\nA: \(String(repeating: "b", count: 128))", .headerTooLarge),
            ("GET / HTTP/1.1\r\n\(String(repeating: "b", count: 129))", .headerTooLarge),
            ("GET / HTTP/1.1\r\nA:\(String(repeating: " ", count: 128))", .headerTooLarge),
            ("GET / HTTP/1.1\r\na:\r\nb:\r\nc:\r\nd:\r\ne", .tooManyFields),
        ] as [(String, MessageProblem.Reason)]
    )
    func `a head beyond a limit is refused at the same byte however it is cut`(
        sample: String,
        reason: MessageProblem.Reason
    ) {
        let limits = tightLimits()
        #expect(verdict(of: sample) { readRequest($0, limits: limits) } == .refused(reason))
    }

    @Test func `a head that just fits its limits is accepted`() {
        let line = "GET /\(String(repeating: "a", count: 48)) HTTP/1.1\r\n"
        let fields = "Host: a\r\nB: \(String(repeating: "b", count: 112))\r\n\r\n"
        var limits = tightLimits()
        #expect(line.utf8.count == limits.requestLineBytes)
        #expect(fields.utf8.count == limits.headerBytes)
        guard case .accepted = verdict(of: line + fields, { readRequest($0, limits: limits) })
        else { return #expect(Bool(false)) }
        limits.headerBytes -= 1
        #expect(
            readRequest([Array((line + fields).utf8)[...]], limits: limits)
                == .refused(.headerTooLarge)
        )
    }

    @Test func `every byte is judged alike wherever it stands in a value`() {
        let head = Array("GET / HTTP/1.1\r\nHost: a\r\nA: ".utf8)
        let end = Array("\r\n\r\n".utf8)
        for byte in UInt8.min...UInt8.max {
            let isAllowed = byte >= 0x20 && byte != 0x7F || byte == 0x09
            for index in 0..<19 {
                var value = [UInt8](repeating: 0x62, count: 19)
                value[index] = byte
                let read = readRequest([(head + value + end)[...]])
                if case .accepted = read {
                    #expect(isAllowed, "byte \(byte) at \(index)")
                } else {
                    #expect(!isAllowed, "byte \(byte) at \(index)")
                }
            }
        }
    }

    @Test func `pipelined requests are taken one after the other`() throws {
        let bytes = Array(
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n".utf8
        )
        let parser = RequestParser(limits: HTTP1Limits())
        #expect(!parser.hasBegun)
        let first = try parser.feed(bytes.span)
        #expect(parser.hasBegun)
        let one = parser.take()
        #expect(one.head.pathText == "/1")
        #expect(!parser.hasBegun)
        let second = try parser.feed(bytes.span.extracting(first...))
        #expect(first + second == bytes.count)
        let two = parser.take()
        #expect(describe(two) == "GET origin /2 1.1 none | Host: b")
    }

    @Test func `an empty line alone does not begin a head`() throws {
        let parser = RequestParser(limits: HTTP1Limits())
        #expect(try parser.feed(Array("\r\n".utf8).span) == 2)
        #expect(!parser.hasBegun)
        #expect(try parser.feed(Array("G".utf8).span) == 1)
        #expect(parser.hasBegun)
        #expect(!parser.isComplete)
    }

    @Test func `a long value fed byte by byte costs time in proportion`() throws {
        let sample = Array(
            "GET / HTTP/1.1\r\nHost: a\r\nA: \(String(repeating: "b", count: 60_000))".utf8
        )
        let parser = RequestParser(limits: HTTP1Limits())
        let time = try processorTime {
            for byte in sample { _ = try parser.feed([byte].span) }
        }
        // Rescanning would look at 1.8 billion bytes; this looks at 60,000.
        #expect(time < .seconds(2))
    }

    private func tightLimits() -> HTTP1Limits {
        var limits = HTTP1Limits()
        limits.requestLineBytes = 64
        limits.headerBytes = 128
        limits.headerFields = 4
        return limits
    }
}
