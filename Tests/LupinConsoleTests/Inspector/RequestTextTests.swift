// A request as a text to edit: what is sent is what was changed.
import LupinConsole
import LupinCore
import Testing

struct RequestTextTests {
    private func text(
        _ more: String = "",
        body: [UInt8]? = nil
    ) throws -> (text: RequestText, lines: String) {
        let json = Array(InspectedExchanges.detail(1, more).utf8)
        let value = JSONValue(parsing: json.span)
        let detail = try #require(value)
        let text = try RequestText(detail: detail, body: body)
        return (text, String(decoding: text.text, as: UTF8.self))
    }

    private func sent(_ text: RequestText, _ saved: String) throws -> String {
        String(decoding: try text.json(saved: Array(saved.utf8)), as: UTF8.self)
    }

    private let id = InspectedExchanges.id(1)

    @Test func `the text has what may be changed, and sends nothing else`() throws {
        let (text, lines) = try text(body: Array("{}".utf8))
        #expect(lines.hasPrefix("# Edit the request"))
        #expect(
            lines.hasSuffix(
                """
                GET https://api.acme.dev/v1/users/1
                Host: api.acme.dev
                User-Agent: curl/8
                Cookie: a=b

                {}

                """
            )
        )
        #expect(try sent(text, lines) == "{\"of\":\"\(id)\"}")
        let other = lines.replacing("GET https", with: "POST https")
            .replacing("users/1", with: "users/2").replacing("a=b", with: "a=\"c\"")
            .replacing("{}", with: "{ }")
        #expect(
            try sent(text, other) == """
                {"of":"\(id)","method":"POST","url":"https://api.acme.dev/v1/users/2",\
                "fields":[["Host","api.acme.dev"],["User-Agent","curl/8"],["Cookie","a=\\"c\\""]],\
                "body_base64":"eyB9"}
                """
        )
    }

    @Test func `an edited body has no content coding`() throws {
        let bodies = #","bodies":[{"side":"request","bytes":2,"kept":2,"coding":"gzip"}]"#
        let (text, lines) = try text(bodies, body: Array("ab".utf8))
        let edited = lines.replacing("\n\nab", with: "\ncontent-encoding: gzip\n\nabc")
        #expect(try sent(text, edited).contains(#""body_base64":"YWJj""#))
        #expect(try !sent(text, edited).contains("encoding"))
    }

    @Test func `a body that is no text is not shown, and sent as it was`() throws {
        let (text, lines) = try text(body: [0xFF, 0xFE])
        #expect(lines.contains("# The body is no text."))
        #expect(try sent(text, lines) == "{\"of\":\"\(id)\"}")
    }

    @Test(arguments: [
        ("", "the text is empty, so nothing was sent"),
        ("# only\n\n", "the text is empty, so nothing was sent"),
        ("hello\n", "the first line is a method and a URL: \"hello\" is not"),
        ("GET http://a/\nno field\n", "\"no field\" is no field: write name: value"),
    ])
    func `a text that is no request is refused`(sample: (saved: String, message: String)) throws {
        let (text, _) = try text()
        do throws(RequestTextProblem) {
            _ = try text.json(saved: Array(sample.saved.utf8))
            Issue.record("it was taken")
        } catch {
            #expect(error.message == sample.message)
        }
    }

    @Test func `lines may end with CR, and fields be empty`() throws {
        let (text, _) = try text()
        let saved = "PUT http://a/\r\nX-Empty:\r\n\r\nbody\r\n\n"
        #expect(
            try sent(text, saved) == """
                {"of":"\(id)","method":"PUT","url":"http://a/","fields":[["X-Empty",""]],\
                "body_base64":"Ym9keQ0K"}
                """
        )
    }
}
