// That bytes which a server might read as a request are told apart from other protocols.
import LupinWire
import Testing

struct RequestBeginningTests {
    private static let requests = [
        "GET / HTTP/1.1\r\n", "\r\n\n\r\nGET / HTTP/1.0\r\n", "G3T_~! x http/9\n",
        "CONNECT a.test:443 HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\n", "get\t/\tHTTP/1.1\n",
        "GET  /\u{1}\u{FF} more words HTTP/1.1 \r\n", "GET / HTTP/1.1\rHost: a\r\n",
        "SOURCE /mount HTTP/1.0\r\n", "GET http/\n", " GET / HTTP/1.1\r\n", "GET /\r\n",
        "\t\u{B}\u{C} \r\n get /\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n",
        "proxy unknown\r\n", "\r\n\r\n\0\r\nQUIT\n", "GET /\n\nHTTP/1.1",
    ]
    private static let others = [
        "SSH-2.0-x\r\n", "EHLO here\r\n", "NICK harry\r\n", "get-url /\r\n",
        "0032git-upload-pack /project\0host=a.test\0", "\0", "\u{16}\u{3}", "\r\n\r\n\n\0",
        "GET: / HTTP/1.1\r\n", "\r\n\0", "OPTIONS sip:a@b.test SIP/2.0\r\n", "*1\r\n$4\r\nPING\r\n",
    ]

    private func reading(_ bytes: some Collection<UInt8>) -> Bool? {
        RequestBeginning.mightBeThere(Array(bytes).span)
    }

    @Test(arguments: requests.map { ($0, true) } + others.map { ($0, false) })
    func `the first line decides, in pieces too`(text: String, isRequest: Bool) {
        let bytes = Array(text.utf8)
        #expect(reading(bytes) == isRequest)
        for count in bytes.indices {
            let part = reading(bytes.prefix(count))
            #expect(part == nil || part == isRequest, "\(count)")
        }
        #expect(reading(bytes + [0, 10]) == isRequest)
    }

    @Test(arguments: ["", "\r\n\r\n", "GET", "GET ", "GET / HTTP/1.1", "GET / HTTP/1.1\r"])
    func `without its end a line decides nothing`(text: String) {
        #expect(reading(text.utf8) == nil)
    }

    @Test func `a line without an end is that of a request`() {
        for start in ["", "GET ", "\n"] {
            let long = Array((start + String(repeating: "x", count: 9000)).utf8)
            #expect(reading(long.prefix(8191)) == nil)
            #expect(reading(long.prefix(8192)) == true)
            #expect(reading(long + [0]) == true)
        }
    }
}
