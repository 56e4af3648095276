// What curl, nginx, Squid and lupin make of responses that break the specification somehow.
import LupinWire
import Testing

/// A response, and whether each program gets `hello` out of it.
struct ForeignResponse: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    /// `+` or `-` for curl, nginx and Squid, `?` for unknown.
    ///
    /// curl's was tried, with curl 7.88; the others are noted from their sources, as far as these
    /// are plain. They are not checked.
    let others: String
    /// `ok`, the words of its flaws, or `502`.
    let lupin: String

    init(_ name: String, _ text: String, _ others: String, _ lupin: String) {
        testDescription = name
        self.text = text
        self.others = others
        self.lupin = lupin
    }

    private typealias Row = ForeignResponse
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let five = "Content-Length: 5\r\n"
    private static let coding = "Transfer-Encoding: "
    private static let chunk = "5\r\nhello\r\n0\r\n\r\n"

    static let all = [
        Row("a plain response", "\(ok)\(five)\r\nhello", "+++", "ok"),
        Row("HTTP/1.0 until close", "HTTP/1.0 200 OK\r\n\r\nhello", "+++", "ok"),
        Row("no reason and no space", "HTTP/1.1 200\r\n\(five)\r\nhello", "+++", "ok"),
        Row("LF everywhere", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", "+++", "lf"),
        Row("LF behind the status line", "HTTP/1.1 200 OK\n\(five)\r\nhello", "+++", "lf"),
        Row("LF behind one field", "\(ok)A: b\n\(five)\r\nhello", "+++", "lf"),
        Row("LF for the empty line", "\(ok)\(five)\nhello", "+++", "lf"),
        Row("LF and CRLF mixed, with a fold", "\(ok)A: b\n c\r\n\(five)\r\nhello", "+-+", "lf"),
        Row("CR alone as a line end", "HTTP/1.1 200 OK\rContent-Length: 5\r\rhello", "---", "502"),
        Row("a bare CR in a value", "\(ok)A: b\rc\r\n\(five)\r\nhello", "+-?", "502"),
        Row("CR CR LF", "\(ok)A: b\r\r\n\(five)\r\nhello", "++?", "502"),
        Row("a control byte in a value", "\(ok)A: b\u{01}c\r\n\(five)\r\nhello", "+++", "control"),
        Row("DEL in a value", "\(ok)A: b\u{7F}c\r\n\(five)\r\nhello", "+++", "control"),
        Row("ESC in the reason", "HTTP/1.1 200 O\u{1B}K\r\n\(five)\r\nhello", "+++", "control"),
        Row("VT before a value", "\(ok)A:\u{0B}b\r\n\(five)\r\nhello", "+++", "control"),
        Row(
            "a control byte behind a length",
            "\(ok)Content-Length: 5\u{01}\r\n\r\nhello",
            "+??",
            "control"
        ),
        Row("NUL in a value", "\(ok)A: b\0c\r\n\(five)\r\nhello", "---", "502"),
        Row("NUL in the reason", "HTTP/1.1 200 O\0K\r\n\(five)\r\nhello", "-?-", "502"),
        Row("obs-text in a value", "\(ok)A: \u{E9}\r\n\(five)\r\nhello", "+++", "ok"),
        Row("@ in a name", "\(ok)A@b: c\r\n\(five)\r\nhello", "+++", "name"),
        Row("( in a name", "\(ok)A(b): c\r\n\(five)\r\nhello", "+++", "name"),
        Row("quotes in a name", "\(ok)\"a\": c\r\n\(five)\r\nhello", "+++", "name"),
        Row("obs-text in a name", "\(ok)\u{E9}: c\r\n\(five)\r\nhello", "+++", "name"),
        Row("a control byte in a name", "\(ok)A\u{01}b: c\r\n\(five)\r\nhello", "+-?", "502"),
        Row("NUL in a name", "\(ok)A\0b: c\r\n\(five)\r\nhello", "---", "502"),
        Row("a space in a name", "\(ok)A b: c\r\n\(five)\r\nhello", "+--", "502"),
        Row("a space before the colon", "\(ok)A : c\r\n\(five)\r\nhello", "+-+", "ok"),
        Row(
            "a space before the colon of the length",
            "\(ok)Content-Length : 5\r\n\r\nhello",
            "+-+",
            "ok"
        ),
        Row("an empty name", "\(ok): c\r\n\(five)\r\nhello", "+--", "502"),
        Row("a line without colon", "\(ok)Abc\r\n\(five)\r\nhello", "-+-", "502"),
        Row("a blank before the first field", "\(ok) A: b\r\n\(five)\r\nhello", "--?", "502"),
        Row("a fold", "\(ok)A: b\r\n c\r\n\(five)\r\nhello", "+-+", "ok"),
        Row("chunked", "\(ok)\(coding)chunked\r\n\r\n\(chunk)", "+++", "ok"),
        Row("chunked in capitals", "\(ok)\(coding)CHUNKED\r\n\r\n\(chunk)", "+++", "ok"),
        Row(
            "chunked and a length",
            "\(ok)\(five)\(coding)chunked\r\n\r\n\(chunk)",
            "+?+",
            "length"
        ),
        Row(
            "a wrong length before chunked",
            "\(ok)Content-Length: 999\r\n\(coding)chunked\r\n\r\n\(chunk)",
            "+?+",
            "length"
        ),
        Row(
            "chunked and two lengths",
            "\(ok)\(five)Content-Length: 6\r\n\(coding)chunked\r\n\r\n\(chunk)",
            "+??",
            "length"
        ),
        Row(
            "chunked in HTTP/1.0",
            "HTTP/1.0 200 OK\r\n\(coding)chunked\r\n\r\n\(chunk)",
            "++?",
            "http10"
        ),
        Row(
            "chunked and a length in HTTP/1.0",
            "HTTP/1.0 200 OK\r\n\(five)\(coding)chunked\r\n\r\n\(chunk)",
            "+??",
            "length,http10"
        ),
        Row("chunked twice", "\(ok)\(coding)chunked, chunked\r\n\r\n\(chunk)", "+--", "502"),
        Row(
            "chunked on two lines",
            "\(ok)\(coding)chunked\r\n\(coding)chunked\r\n\r\n\(chunk)",
            "+?-",
            "502"
        ),
        Row("chunked with a parameter", "\(ok)\(coding)chunked;q=1\r\n\r\n\(chunk)", "---", "502"),
        Row("an unknown coding", "\(ok)\(coding)x, chunked\r\n\r\n\(chunk)", "---", "502"),
        Row("gzip as transfer coding", "\(ok)\(coding)gzip\r\n\r\nhello", "---", "502"),
        Row(
            "an empty transfer coding",
            "\(ok)Transfer-Encoding:\r\n\(five)\r\nhello",
            "+??",
            "coding"
        ),
        Row("an empty one until close", "\(ok)Transfer-Encoding: \r\n\r\nhello", "+??", "coding"),
        Row("a list of none", "\(ok)\(coding), ,\r\n\(five)\r\nhello", "+??", "coding"),
        Row(
            "an empty one before chunked",
            "\(ok)Transfer-Encoding:\r\n\(coding)chunked\r\n\r\n\(chunk)",
            "+??",
            "ok"
        ),
        Row("identity", "\(ok)\(coding)identity\r\n\r\nhello", "+?+", "identity"),
        Row(
            "identity and a length",
            "\(ok)\(coding)identity\r\n\(five)\r\nhello",
            "+?+",
            "identity"
        ),
        Row(
            "identity, chunked",
            "\(ok)\(coding)identity, chunked\r\n\r\n\(chunk)",
            "+??",
            "identity"
        ),
        Row(
            "identity in HTTP/1.0",
            "HTTP/1.0 200 OK\r\n\(coding)identity\r\n\r\nhello",
            "+?+",
            "identity,http10"
        ),
        Row("equal lengths in a list", "\(ok)Content-Length: 5, 5\r\n\r\nhello", "+?+", "ok"),
        Row("equal lengths on two lines", "\(ok)\(five)\(five)\r\nhello", "+?+", "ok"),
        Row("different lengths", "\(ok)\(five)Content-Length: 6\r\n\r\nhello", "-?-", "502"),
        Row("a signed length", "\(ok)Content-Length: +5\r\n\r\nhello", "+??", "502"),
        Row("a negative length", "\(ok)Content-Length: -5\r\n\r\nhello", "-?-", "502"),
        Row("a length with letters", "\(ok)Content-Length: 5x\r\n\r\nhello", "+??", "502"),
        Row("an empty length", "\(ok)Content-Length:\r\n\r\nhello", "-?-", "502"),
        Row(
            "a length of 2^63",
            "\(ok)Content-Length: 9223372036854775808\r\n\r\nhello",
            "+?-",
            "502"
        ),
        Row(
            "LF behind a chunk's size",
            "\(ok)\(coding)chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
            "++?",
            "lf"
        ),
        Row("a chunk's size as 0x5", "\(ok)\(coding)chunked\r\n\r\n0x\(chunk)", "---", "502"),
        Row("another version", "HTTP/2.0 200 OK\r\n\(five)\r\nhello", "+?-", "502"),
        Row(
            "two spaces before the status",
            "HTTP/1.1  200 OK\r\n\(five)\r\nhello",
            "++?",
            "spaces"
        ),
        Row("and no reason", "HTTP/1.1   200\r\n\(five)\r\nhello", "++?", "spaces"),
        Row("and no status", "HTTP/1.1     \r\n\(five)\r\nhello", "---", "502"),
        Row("and a status of two digits", "HTTP/1.1  20 OK\r\n\(five)\r\nhello", "---", "502"),
        Row("a tab before the status", "HTTP/1.1\t200 OK\r\n\(five)\r\nhello", "???", "502"),
        Row("a status of two digits", "HTTP/1.1 20 OK\r\n\(five)\r\nhello", "---", "502"),
        Row("ICY", "ICY 200 OK\r\n\(five)\r\nhello", "--+", "502"),
        Row("an empty line first", "\r\nHTTP/1.1 200 OK\r\n\(five)\r\nhello", "-??", "502"),
        Row("no head at all", "hello", "---", "502"),
        Row("a lower-case version", "http/1.1 200 OK\r\n\(five)\r\nhello", "+-?", "502"),
    ]
}
