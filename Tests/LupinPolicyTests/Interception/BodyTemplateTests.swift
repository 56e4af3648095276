// What the body of an answer quotes of a request, and that a quoted value stays a value.
import LupinCore
import LupinPolicy
import Testing

struct BodyTemplateTests {
    private func expand(
        _ parts: [Template.Part],
        _ contentType: String?,
        target: String = "/?q=%3Cb%3E%22x&q=2&empty=",
        agent: String = "a\"<b>\\c"
    ) throws -> String {
        let head = try #require(SampleRequest(path: target, fields: [("User-Agent", agent)])).head
        let bytes = BodyTemplate.expand(
            Template(parts),
            contentType: contentType,
            request: head,
            id: ExchangeID(high: 1, low: 2)
        )
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `values are quoted as they are in plain text`() throws {
        let text = try expand([.text("<"), .query("q"), .text("|"), .header("user-agent")], nil)
        #expect(text == "<<b>\"x|a\"<b>\\c")
    }

    @Test func `no value ends a string of JSON`() throws {
        for type in ["application/json", "application/problem+json; charset=utf-8"] {
            let text = try expand([.text("{\"q\":\""), .query("q"), .text("\"}")], type)
            #expect(text == "{\"q\":\"<b>\\\"x\"}")
        }
    }

    @Test func `no value opens a tag of HTML`() throws {
        let text = try expand([.text("<p>"), .header("User-Agent")], "Text/HTML; charset=utf-8")
        #expect(text == "<p>a&quot;&lt;b&gt;\\c")
    }

    @Test func `what the request has not is empty`() throws {
        #expect(try expand([.query("none"), .header("x-none"), .query("empty")], nil).isEmpty)
        #expect(try expand([.id], nil) == "00000000000000010000000000000002")
    }
}
