// The seeds that the HTTP/1.1 fuzzer starts from, and the words it throws in.

/// Seeds by what reads them; `\u{80}` to `\u{FF}` stand for single bytes.
enum Corpus {
    static let requests = [
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://a.example:80/x?y=%20 HTTP/1.1\r\nHost: b\r\nA: */*\r\nTE: trailers\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
        "PUT /x HTTP/1.1\r\nHost:a\r\nTransfer-Encoding: chunked\r\nX:  y \t\r\nZ:\r\n\r\n0\r\n",
        "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: x\r\n\r\n\u{16}",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n",
        "OPTIONS https://a.example?q HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\nProxy-Connection: close\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: a=b\r\nCookie: \u{E9}\r\n\r\n",
        "DELETE /a/b/c HTTP/1.1\r\nHost: a:8080\r\nVia: 1.0 fred\r\nX-Long-Name-Here: 1\r\n\r\n",
    ]

    static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: x\r\n\r\nhello",
        "HTTP/1.1 200\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 O\u{1B}K\nA@b: \u{1}c\n d\r\nTransfer-Encoding: identity\n\nhello",
        "HTTP/1.1 204 \r\nServer : s\r\n\r\n",
        "HTTP/1.0 404 Not \u{E9}\tFound\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\t d \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 304 x\r\nA:\r\n \r\n b\r\nEtag: \"e\"\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1\r\nContent-Length: 01\r\n\r\n",
    ]

    static let bodies = [
        "0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\nGET",
        "5;a=b\r\nhello\r\n000a\r\n0123456789\r\n0;z\r\nA: b\r\nContent-Length: 3\r\n\r\n",
        "1\r\nx\r\n1\r\ny\r\n1\r\nz\r\n0\r\nA : b\r\n c\r\n\r\n",
        "7fffffffffffffff\r\nabc",
        "10; x=\"y\"\r\n0123456789abcdef\r\n0\r\n\r\n",
    ]

    static let words = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ",", ";", "\r\n\r\n", "\r\n ", "\r\n\t", ": ",
        "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n",
        "Host: a\r\n", "Host: \r\n", "Connection: close\r\n", "Expect: 100-continue\r\n",
        "Expect: x\r\n", "http://", "https://", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "chunked",
        "@", "#", "*", "[", "]", "%", "%41", "0x", "_", "+", "18446744073709551616",
        "9223372036854775807", "ffffffffffffffff", "\u{7F}", "\u{80}", "\u{FF}", "?", "/", "0", "9",
    ]
}
