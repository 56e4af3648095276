// Which status and which Proxy-Status token a bad message earns.
import LupinWire
import Testing

struct MessageProblemTests {
    @Test(
        arguments: [
            (.bareLineFeed, 400), (.severalHosts, 400), (.lengthAndCoding, 400),
            (.startLineTooLong, 414), (.unsupportedExpectation, 417), (.headerTooLarge, 431),
            (.tooManyFields, 431), (.trailersTooLarge, 431), (.unknownCoding, 501),
            (.http2Preface, 505), (.unsupportedVersion, 505), (.malformedVersion, 400),
            (.invalidChunkSize, 400),
        ] as [(MessageProblem.Reason, UInt16)]
    )
    func `a bad request earns its status`(reason: MessageProblem.Reason, status: UInt16) {
        let problem = MessageProblem(.request, reason)
        #expect(problem.status == status)
        #expect(problem.proxyStatus == "http_request_error")
    }

    @Test(
        arguments: [
            (.headerTooLarge, "http_response_header_section_size"),
            (.startLineTooLong, "http_response_header_section_size"),
            (.trailersTooLarge, "http_response_trailer_section_size"),
            (.unknownCoding, "http_response_transfer_coding"),
            (.codingInHTTP10, "http_response_transfer_coding"),
            (.truncatedBody, "http_response_incomplete"),
            (.lengthAndCoding, "http_protocol_error"), (.bareLineFeed, "http_protocol_error"),
        ] as [(MessageProblem.Reason, String)]
    )
    func `a bad response is a 502 with its token`(reason: MessageProblem.Reason, token: String) {
        let problem = MessageProblem(.response, reason)
        #expect(problem.status == 502)
        #expect(problem.proxyStatus == token)
    }

    @Test func `every reason has a sentence without a placeholder`() {
        for reason in MessageProblem.Reason.allCases {
            for side in [MessageSide.request, .response] {
                let sentence = MessageProblem(side, reason).sentence
                #expect(sentence.hasSuffix("."))
                #expect(!sentence.contains("%"))
            }
        }
    }
}
