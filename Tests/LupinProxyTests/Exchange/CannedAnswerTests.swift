// What a rule's `respond` says, without an exchange.
import LupinCore
import LupinPolicy
import LupinProxy
import Testing

struct CannedAnswerTests {
    private static var answer: CannedAnswer {
        CannedAnswer(
            of: "rule \"r\" (line 3)",
            id: ExchangeID(high: 1, low: 2),
            Redactor(settings: RedactionSettings(), secrets: []) { _ in 0 }
        )
    }

    private static func request(_ method: Method, _ path: String) -> RequestHead {
        var head = RequestHead()
        head.method = method
        head.pathAndQuery = head.fields.store(path)
        return head
    }

    @Test func `a failure without a text of its own names its rule`() {
        let request = Self.request(.get, "/")
        let response = Self.answer.response(CannedResponse(status: 404), to: request)
        #expect(response.head.status == 404)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text == "answered by the rule \"r\" (line 3) of lupin's rules file\n")
        #expect(response.head.fields.value(of: "Lupin-Id") != nil)
        let fine = Self.answer.response(CannedResponse(status: 204), to: request)
        #expect(fine.body.isEmpty)
    }

    @Test func `a folder is only read`() {
        for method: Method in [.get, .head] {
            #expect(Self.answer.refusal(ofMethod: method) == nil)
        }
        for method: Method in [.post, .put, .delete, .options] {
            let refusal = Self.answer.refusal(ofMethod: method)
            #expect(refusal?.status == 405)
            #expect(refusal?.fields.first?.value == "GET, HEAD")
        }
    }

    @Test func `a folder's path gets its slash, and keeps its query`() {
        for (path, location) in [("/docs", "/docs/"), ("/docs?a=1?b", "/docs/?a=1?b")] {
            let ahead = Self.answer.ahead(of: Self.request(.get, path))
            #expect(ahead.status == 301 && ahead.fields.first?.value == location)
        }
    }
}
