// What is read of an HTTP Archive, and that no text is worse than refused.
import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct ArchiveReaderTests {
    private func read(_ text: String) throws -> [ArchivedExchange] {
        var exchanges: [ArchivedExchange] = []
        try ArchiveReader.read(Array(text.utf8).span) { exchange throws(ArchiveProblem) in
            exchanges.append(exchange)
        }
        return exchanges
    }

    private func read(entry: String) throws -> ArchivedExchange? {
        try read(#"{"log":{"version":"1.2","entries":[\#(entry)],"pages":[{}]}}"#).first
    }

    @Test func `an entry of Chromium's is read`() throws {
        let exchange = try #require(
            try read(
                entry: """
                    {"_initiator":{"type":"script","stack":{"callFrames":[[],{}]}},"request":{
                    "method":"POST","url":"https://a.example/x?y=1","httpVersion":"http/2.0",
                    "headers":[{"name":":authority","value":"a.example"},
                    {"name":"accept","value":"*/*"},{"name":"content-length","value":"4"}],
                    "postData":{"mimeType":"text/plain","text":"h\\u00e9y"}},
                    "response":{"status":200,"headers":[{"name":"x-a","value":"1"},
                    {"name":"bad name","value":"1"},{"name":"x-b","value":"a\\r\\nb"}],
                    "content":{"size":3,"mimeType":"image/png","text":"/wAB","encoding":"base64"}}}
                    """
            )
        )
        #expect(exchange.method == "POST" && exchange.url == "https://a.example/x?y=1")
        #expect(exchange.requestFields.map(\.name) == ["accept", "content-length"])
        #expect(exchange.requestBody == ArchivedExchange.Body(Array("héy".utf8)))
        #expect(exchange.status == 200)
        // What says only in the content what it is gets a field for that.
        #expect(exchange.responseFields.map(\.name) == ["x-a", "x-b", "x-b", "Content-Type"])
        #expect(exchange.responseBody == ArchivedExchange.Body([0xFF, 0, 1]))
    }

    @Test func `a field of several lines is several fields`() throws {
        let entry = #"""
            {"request":{"method":"GET","url":"http://a/","headers":[{"name":"A","value":"1\n2"}]},
            "response":{"status":200,"headers":[{"name":"Set-Cookie","value":"a=1\nb=2; Path=/\n"},
            {"name":"X","value":"1\n\u00002"},{"name":"Y","value":""},{"name":"Z","value":"a\rb"}]}}
            """#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.requestFields.map(\.value) == ["1", "2"])
        #expect(exchange.responseFields.map(\.name) == ["Set-Cookie", "Set-Cookie", "Y"])
        #expect(exchange.responseFields.map(\.value) == ["a=1", "b=2; Path=/", ""])
    }

    @Test(arguments: [
        ("a=1\\r\\nb=2", ["a=1", "b=2"]), ("a\\r\\n", ["a"]), ("a\\r\\nb\\nc", ["a", "b", "c"]),
        ("a\\rb", []), ("a\\r\\r\\nb", []),
    ])
    func `lines may be joined by CRLF`(value: String, lines: [String]) throws {
        let field = "[{\"name\":\"Set-Cookie\",\"value\":\"\(value)\"}]"
        let entry =
            #"{"request":{"method":"GET","url":"http://a/"},"#
            + #""response":{"status":200,"headers":\#(field)}}"#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.responseFields.map(\.value) == lines)
    }

    @Test(arguments: [
        ("GET", 200, "Content-Length", "100", 0, true), ("GET", 200, "X", "100", 100, true),
        ("POST", 500, "content-length", "1", -1, true), ("GET", 404, "X", "1", 1, true),
        ("GET", 200, "Content-Length", "0", 0, false), ("GET", 200, "X", "1", -1, false),
        ("GET", 200, "Transfer-Encoding", "chunked", 0, false),
        ("GET", 200, "Content-Encoding", "gzip", 20, false),
        ("GET", 200, "Content-Encoding", "gzip", 200, true),
        ("HEAD", 200, "Content-Length", "100", 0, false),
        ("CONNECT", 200, "Content-Length", "100", 0, false),
        ("GET", 304, "Content-Length", "100", 0, false),
        ("GET", 204, "Content-Length", "100", 0, false),
        ("GET", 302, "Content-Length", "100", 0, false),
    ])
    func `content that is empty beside its length was not saved`(
        method: String,
        status: Int,
        name: String,
        value: String,
        bodySize: Int,
        isMissing: Bool
    ) throws {
        for content in [#"{"size":0}"#, "{}", #"{"size":0,"text":""}"#] {
            let field = "[{\"name\":\"\(name)\",\"value\":\"\(value)\"}]"
            let response =
                "{\"status\":\(status),\"headers\":\(field),\"bodySize\":\(bodySize),"
                + "\"content\":\(content)}"
            let entry =
                "{\"request\":{\"method\":\"\(method)\",\"url\":\"http://a/\"},"
                + "\"response\":\(response)}"
            let exchange = try #require(try read(entry: entry))
            #expect(exchange.responseBody.isMissing == isMissing)
            #expect(exchange.responseBody.isPartial == isMissing)
        }
    }

    @Test(arguments: [
        (#"{"size":3}"#, true), (#"{"size":0}"#, false), (#"{"size":-1,"comment":"none"}"#, true),
        (#"{"size":3,"text":""}"#, true), (#"{"size":3,"text":"abc"}"#, false), ("{}", false),
        (#"{"size":0,"text":""}"#, false), (#"{"size":-1,"text":""}"#, false),
        (#"{"size":-1}"#, true), (#"{"text":""}"#, false),
        (
            #"{"size":1,"text":"","#
                + #""encoding":"base64"}"#, true
        ),
        (#"{"size":3,"text":"!","encoding":"base64"}"#, true), ("null", false),
        (#"{"size":3,"text":"ab","_truncated":"limit"}"#, false),
    ])
    func `content that was not saved is missing`(content: String, isMissing: Bool) throws {
        let entry =
            #"{"request":{"method":"GET","url":"http://a/"},"#
            + #""response":{"status":200,"content":\#(content)}}"#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.responseBody.isMissing == isMissing)
    }

    @Test(
        arguments: [
            (#"/wAB"#, [0xFF, 0, 1]), (#"/w\r\n AB\n"#, [0xFF, 0, 1]), (#" 6Q =\t="#, [0xE9]),
            ("/wA", nil), ("/w!B", nil), ("/w-B", nil), ("====", nil),
        ] as [(String, [UInt8]?)]
    )
    func `base64 may have line breaks, and what is none is told apart`(
        text: String,
        bytes: [UInt8]?
    ) throws {
        let content = #"{"size":3,"text":"\#(text)","encoding":"base64"}"#
        let data = #"{"text":"\#(text)","_encoding":"base64"}"#
        let entry =
            #"{"request":{"method":"POST","url":"http://a/","postData":\#(data)},"#
            + #""response":{"status":200,"content":\#(content)}}"#
        let exchange = try #require(try read(entry: entry))
        for body in [exchange.requestBody, exchange.responseBody] {
            #expect(body.content == bytes ?? [])
            #expect(body.isUnreadable == (bytes == nil))
            #expect(body.isMissing == (bytes == nil))
        }
    }

    @Test(
        arguments: [
            (#"{"text":"a","mimeType":"text/css"}"#, "", "text/css"),
            (#"{"text":"\u00e9","mimeType":"text/css; charset=koi8-r"}"#, "", utf8CSS),
            (#"{"text":"a","mimeType":"text/css"}"#, "text/html", "text/html"),
            (#"{"text":"a","mimeType":"x-unknown"}"#, "", nil),
            (#"{"text":"a","mimeType":""}"#, "", nil),
            (#"{"text":"a","mimeType":"a/b\r\nX: y"}"#, "", nil),
            (#"{"text":"","mimeType":"text/css"}"#, "", nil), (#"{"text":"a"}"#, "", nil),
        ] as [(String, String, String?)]
    )
    func `a type that stands in no field becomes one`(
        content: String,
        field: String,
        type: String?
    ) throws {
        let headers = field.isEmpty ? "[]" : #"[{"name":"content-type","value":"\#(field)"}]"#
        let entry =
            #"{"request":{"method":"GET","url":"http://a/"},"response":{"status":200,"#
            + #""headers":\#(headers),"content":\#(content)}}"#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.responseFields.map(\.value) == [type].compactMap(\.self))
    }

    private static let utf8CSS = "text/css; charset=utf-8"

    private static let texts: [(type: String, text: String, bytes: [UInt8], typeAfter: String?)] = [
        ("text/plain; charset=ISO-8859-1", "süß", [0x73, 0xFC, 0xDF], nil),
        ("text/plain;charset=\"latin1\"", "\u{20AC}\u{85}\u{2026}", [0x80, 0x85, 0x85], nil),
        ("text/html; charset=windows-1252", "“é”", [0x93, 0xE9, 0x94], nil),
        ("text/plain; charset=us-ascii", "plain", Array("plain".utf8), nil),
        ("text/plain; charset=UTF-8", "é", [0xC3, 0xA9], nil),
        ("text/plain", "é", [0xC3, 0xA9], nil),
        (
            "text/plain; charset=iso-8859-1; a=b", "漢", Array("漢".utf8),
            "text/plain; charset=utf-8; a=b"
        ),
        ("text/html;Charset=Shift_JIS", "漢", Array("漢".utf8), "text/html; charset=utf-8"),
        ("text/html; charset=Shift_JIS", "plain", Array("plain".utf8), nil),
        ("text/plain; charset=utf-16", "plain", Array("plain".utf8), "text/plain; charset=utf-8"),
    ]

    @Test(arguments: texts.indices)
    func `a text has the bytes of its character set, or says another one`(row: Int) throws {
        let (type, text, bytes, typeAfter) = Self.texts[row]
        let quoted = type.replacing("\"", with: "\\\"")
        let headers = #"[{"name":"content-type","value":"\#(quoted)"}]"#
        let entry =
            #"{"request":{"method":"POST","url":"http://a/","headers":\#(headers),"postData":"#
            + #"{"text":"\#(text)"}},"response":{"status":200,"headers":\#(headers),"#
            + #""content":{"text":"\#(text)"}}}"#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.responseBody.content == bytes)
        #expect(exchange.responseFields.map(\.value) == [typeAfter ?? type])
        #expect(exchange.requestBody.content == bytes)
        // Bytes are those that came.
        let coded = entry.replacing(
            #""content":{"text":"\#(text)"}"#,
            with: #""content":{"text":"6Q==","encoding":"base64"}"#
        )
        let same = try #require(try read(entry: coded))
        #expect(same.responseBody.content == [0xE9])
        #expect(same.responseFields.map(\.value) == [type])
    }

    @Test func `what is written is read`() throws {
        var record = makeFullRecord()
        record.request?.method = .post
        let json = try #require(parseJSON(jsonLine(of: record, redactor: makeRedactor())))
        var bodies = ArchivedBodies()
        bodies.request = ArchivedBody(bytes: 1, content: [0xFE], truncated: "writer")
        bodies.response = ArchivedBody(bytes: 1, content: Array("a\u{1}".utf8))
        var archive = HTTPArchive(version: "1")
        archive.add(try #require(ArchiveEntry(json, bodies)))
        let text = String(decoding: archive.finish(), as: UTF8.self)
        let exchange = try #require(try read(text).first)
        #expect(exchange.requestBody == ArchivedExchange.Body([0xFE], isPartial: true))
        #expect(exchange.responseBody == ArchivedExchange.Body(Array("a\u{1}".utf8)))
        #expect(exchange.status == 200)
    }

    private static let bodies: [(postData: String, content: [UInt8], isPartial: Bool)] = [
        (#""bodySize":0"#, [], false),
        (#""bodySize":-1"#, [], false),
        (#""bodySize":7"#, [], true),
        (#""headers":[{"name":"Content-Length","value":"7"}]"#, [], true),
        (#""headers":[{"name":"Content-Length","value":"0"}]"#, [], false),
        (#""postData":{"mimeType":"a/b"}"#, [], true),
        (#""postData":{"text":"!","_encoding":"base64"}"#, [], true),
        (
            #""postData":{"mimeType":"application/x-www-form-urlencoded","params":"#
                + #"[{"name":"a b","value":"c"},{"name":"d"}]}"#,
            Array("a%20b=c&d=".utf8), false
        ),
    ]

    @Test(arguments: bodies)
    func `a body that is not there is known to be missing`(
        postData: String,
        content: [UInt8],
        isPartial: Bool
    ) throws {
        let entry = #"{"request":{"method":"GET","url":"http://a/",\#(postData)}}"#
        let exchange = try #require(try read(entry: entry))
        #expect(exchange.requestBody.content == content)
        #expect(exchange.requestBody.isPartial == isPartial)
        #expect(exchange.status == 0)
    }

    @Test(arguments: ["{}", "[]", "1", #"{"request":{"method":"G ET","url":"http://a/"}}"#])
    func `an entry without a request is left out`(entry: String) throws {
        #expect(try read(entry: entry) == nil)
    }

    @Test(
        arguments: [
            "", "{", "[]", "{}", #"{"log":{}}"#, #"{"log":{"entries":{}}}"#,
            #"{"log":{"entries":[}}"#, #"{"log":{"entries":[]}} x"#, #"{"log":{"entries":[1,]}}"#,
            #"{"log":{"entries":[{"a":\#(String(repeating: "[", count: 100))"#, "\u{0}",
        ]
    )
    func `what is no archive is refused`(text: String) {
        #expect(throws: ArchiveProblem.self) { try read(text) }
    }

    @Test func `entries and their values are counted`() {
        let many = String(repeating: "1,", count: 250_000) + "1"
        #expect(throws: ArchiveProblem("an entry has more than 200000 values")) {
            try read(#"{"log":{"entries":[[\#(many)]]}}"#)
        }
        #expect(throws: ArchiveProblem("it has more than 100000 entries")) {
            try read(#"{"log":{"entries":[\#(many)]}}"#)
        }
    }

    @Test func `a text that is cut anywhere is refused`() throws {
        let entry =
            #"{"request":{"method":"GET","url":"http://a/\u00e9"},"response":{"status":2e2}}"#
        let text = Array(#"{"log":{"entries":[\#(entry)]}}"#.utf8)
        for end in 0..<text.count {
            #expect(throws: ArchiveProblem.self) {
                try ArchiveReader.check(text.span.extracting(0..<end))
            }
        }
        try ArchiveReader.check(text.span)
    }
}
