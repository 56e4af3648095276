// What a line of the log and an answer of a running lupin say of a request, and what they don't.

import LupinCore
import LupinRecords
import Testing

@Suite struct RecordedExchangeTests {
    private static let record = """
        {"id":"6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b","mode":"intercept","http":{"request":\
        {"method":"POST","body":{"size":7},"names":["host","accept","user-agent"]}},\
        "url":{"full":"https://a.dev:8443/x?token=REDACTED.41fe","scheme":"https",\
        "domain":"a.dev","port":8443,"path":"/x"},\
        "network":{"protocol":{"name":"http","version":"2"}},\
        "attempts":[{"n":1,"protocol":"1.1","url":"https://b.dev/y"},{"n":2,"protocol":"2"}]}
        """

    private static let answer = """
        {"record":\(record),"request":{"method":"POST","target":"/x?token=REDACTED.41fe",\
        "fields":[["host","a.dev:8443"],["User-Agent","u"],["Accept","*/*"],["X-A","b"]]},\
        "sent":{"method":"POST","target":"/z","fields":[["User-Agent","v"],["Accept","*/*"]]}}
        """

    private func json(_ text: String) throws -> JSONValue {
        let bytes = Array(text.utf8)
        let value = JSONValue(parsing: bytes.span)
        return try #require(value)
    }

    private func exchange(_ text: String) throws -> RecordedExchange {
        try #require(RecordedExchange(json(text)))
    }

    @Test(arguments: [
        (#""bytes":7,"kept":3,"truncated":"limit""#, "of the body, 3 of 7 bytes were recorded"),
        (#""bytes":7,"kept":0,"truncated":"limit""#, "the body (7 bytes) was not recorded"),
        (#""bytes":7,"kept":3,"withheld":"x""#, "the body (7 bytes) was not recorded"),
    ])
    func `what there is of a body that a command lacks is told`(facts: String, text: String) throws
    {
        let bodies = #","bodies":[{"side":"request",\#(facts)}]}"#
        let exchange = try exchange(Self.answer.dropLast() + bodies)
        for command in [try exchange.originalCommand(), try exchange.adaptedCommand()] {
            #expect(command.remarks.contains("\(text); add: --data-binary @FILE"))
        }
        #expect(exchange.bodySide(adapted: true) == nil)
    }

    @Test func `an answer has all fields of the client's request`() throws {
        #expect(
            try exchange(Self.answer).originalCommand().text == """
                # the body (7 bytes) was not recorded; add: --data-binary @FILE
                # set before: TOKEN
                curl -X POST \\
                  --http2 \\
                  -H 'User-Agent: u' \\
                  -H 'Accept: */*' \\
                  -H 'X-A: b' \\
                  'https://a.dev:8443/x?token='"$TOKEN"
                """
        )
    }

    @Test func `the last attempt has the head that went upstream, an earlier one its place`() throws
    {
        let exchange = try exchange(Self.answer)
        let last = try exchange.adaptedCommand().text
        #expect(
            last.hasSuffix("-H 'User-Agent: v' \\\n  -H 'Accept: */*' \\\n  https://a.dev:8443/z")
        )
        let first = try exchange.adaptedCommand(attempt: 1)
        #expect(first.url == "https://b.dev/y" && first.version == "1.1")
        #expect(first.remarks.first == "the fields are those of the last attempt")
        for number in [3, 0, .min, .max] {
            #expect(throws: CurlProblem(message: "there were 2 attempts")) {
                try exchange.adaptedCommand(attempt: number)
            }
        }
    }

    @Test func `a line of the log says what it leaves out`() throws {
        let exchange = try exchange(Self.record)
        let text = try exchange.originalCommand().text
        #expect(
            text.hasPrefix("# values of fields that were not recorded: host, accept, user-agent\n")
        )
        #expect(!text.contains("-H"))
        #expect(
            try exchange.adaptedCommand().remarks.first
                == "only the client's own request is on record"
        )
    }

    @Test func `values that the log has are used`() throws {
        let text = Self.record.replacing(
            #""names":["host","accept","user-agent"]"#,
            with: #""header":{"accept":["a","b"],"x-key":["REDACTED.00ff"]}"#
        )
        let command = try exchange(text).originalCommand().text
        #expect(command.contains("-H 'accept: a' \\\n  -H 'accept: b' \\\n"))
        #expect(command.contains(#"-H 'x-key: '"$X_KEY""#))
    }

    @Test func `of a tunnel there is nothing to tell`() throws {
        let text = Self.record.replacing(#""intercept""#, with: #""tunnel""#)
        #expect(throws: CurlProblem.self) { try exchange(text).originalCommand() }
    }

    @Test func `a line about an attempt is none about the exchange`() throws {
        let line = #"{"event":"attempt",\#(Self.record.dropFirst())"#
        #expect(RecordedExchange(try json(line)) == nil)
        let exchange = line.replacing("attempt\",", with: "exchange\",")
        #expect(RecordedExchange(try json(exchange)) != nil)
    }

    @Test(arguments: ["{}", "[]", #"{"record":{}}"#, #"{"id":"x"}"#, #"{"live":{"id":"x"}}"#])
    func `anything else is no record`(text: String) throws {
        #expect(RecordedExchange(try json(text)) == nil)
    }
}
