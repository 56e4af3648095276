// That a finished exchange becomes one span, with children for what happened in it.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct ExchangeSpansTests {
    private let spans = ExchangeSpans(makeRedactor())

    @Test func `three attempts, a look-up and a token are children of the exchange`() throws {
        let all = spans.spans(of: makeTracedExchange())
        #expect(all.map(\.name) == ["GET", "cache look-up", "token", "GET", "GET", "GET"])
        #expect(
            all.map(\.kind) == [.server, .internal, .internal, .client, .client, .client]
        )
        #expect(all.allSatisfy { $0.trace.text == sampleTrace })
        #expect(all[0].parent == SpanID(random: 0xF0))
        #expect(all[0].isParentRemote)
        #expect(all.dropFirst().allSatisfy { $0.parent == all[0].id && !$0.isParentRemote })
        #expect(Set(all.map(\.id)).count == all.count)
        #expect(all.allSatisfy { $0.state.text == "a=1" })
    }

    @Test func `an exchange without a place has no span`() {
        #expect(spans.spans(of: TracedExchange(makeFullRecord(), nil)).isEmpty)
    }

    @Test func `an attempt without a span is left out`() {
        var exchange = makeTracedExchange()
        exchange.record.attempts[1].span = nil
        #expect(spans.spans(of: exchange).count == 5)
    }

    @Test func `the exchange is a server's span`() throws {
        let span = try #require(spans.spans(of: makeTracedExchange()).first)
        #expect(span.begun == sampleStart)
        #expect(span.ended == sampleStart + 900_000)
        #expect(!span.isError)
        #expect(span.attributes[.method] == text("GET"))
        #expect(span.attributes[.scheme] == text("http"))
        #expect(span.attributes[.path] == text("/user"))
        #expect(span.attributes[.serverAddress] == text("api.github.com"))
        #expect(span.attributes[.serverPort] == .number(80))
        #expect(span.attributes[.status] == .number(200))
        #expect(span.attributes[.clientAddress] == text("127.0.0.1"))
        #expect(span.attributes[.clientPort] == .number(51514))
        #expect(span.attributes[.rules] == .texts(["everyone", "github"]))
        #expect(span.attributes[.exchangeID] == text(sampleTrace))
        #expect(span.attributes[.tokenAction] == text("refreshed"))
        #expect(span.attributes[.fullURL] == nil)
        #expect(span.attributes[.errorType] == nil)
    }

    @Test func `attempts are a client's spans`() throws {
        let all = spans.spans(of: makeTracedExchange()).filter { $0.kind == .client }
        let (first, second, third) = (all[0].attributes, all[1].attributes, all[2].attributes)
        #expect(first[.status] == .number(503))
        #expect(first[.errorType] == text("503"))
        #expect(first[.resendCount] == nil)
        #expect(first[.fullURL] == text("http://api.github.com/user?code=REDACTED.0126&page=2"))
        #expect(all[0].isError)
        #expect(second[.status] == nil)
        #expect(second[.errorType] == text("connection_refused"))
        #expect(second[.resendCount] == .number(1))
        #expect(all[1].isError)
        #expect(all[1].message == "connect: Connection refused")
        #expect(third[.resendCount] == .number(2))
        #expect(third[.errorType] == nil)
        #expect(third[.fullURL] == text("https://other.example:8443/v2?sig=REDACTED.0126"))
        #expect(third[.serverAddress] == text("other.example"))
        #expect(third[.serverPort] == .number(8443))
        #expect(third[.peerAddress] == text("140.82.121.6"))
        #expect(third[.protocolVersion] == text("2"))
        #expect(third[.tlsVersion] == text("1.3"))
        #expect(third[.isReused] == .flag(true))
        #expect(third[.wait] == .milliseconds(60_200))
        // The body belongs to the attempt that delivers it.
        #expect(all[2].ended == sampleStart + 6000 + 2200)
        #expect(!all[2].isError)
    }

    @Test func `secrets are nowhere`() throws {
        let secret = "s3cr3t-value"
        var exchange = makeTracedExchange()
        exchange.record.request = makeRequest("/\(secret)/a?token=\(secret)&x=1")
        exchange.record.request?.fields.add(name: "User-Agent", value: "curl \(secret)")
        exchange.record.request?.fields.add(name: "Authorization", value: "Bearer \(secret)")
        exchange.record.rules.matched = ["rule \(secret)"]
        exchange.record.client.program = secret
        exchange.record.error = LupinError(.proxyInternalError, detail: "about \(secret)")
        exchange.record.attempts[0].reason = "for \(secret)"
        exchange.record.attempts[0].error = LupinError(.dnsError, detail: "at \(secret)")
        exchange.record.attempts[1].url = "http://u:\(secret)@h/\(secret)"
        let spans = ExchangeSpans(makeRedactor(secrets: [secret]))
        let all = "\(spans.spans(of: exchange)) \(spans.log(of: exchange))"
        #expect(!all.contains(secret))
        #expect(all.contains("REDACTED"))
        #expect(!all.contains("Bearer"))
    }

    @Test func `only failures of a server are errors of the exchange`() throws {
        for (status, type) in [(404, nil), (500, "500"), (302, nil)] as [(UInt16, String?)] {
            var exchange = makeTracedExchange()
            exchange.record.response = ResponseHead(status: status)
            let span = try #require(spans.spans(of: exchange).first)
            #expect(span.isError == (type != nil))
            #expect(span.attributes[.errorType] == type.map(text))
        }
    }

    @Test func `a tunnel has no URL`() throws {
        var exchange = makeTracedExchange()
        exchange.record.mode = .tunnel
        exchange.record.request?.method = .connect
        exchange.record.request?.form = .authority
        exchange.record.attempts[2].url = "other.example:443"
        let all = spans.spans(of: exchange)
        #expect(all.allSatisfy { $0.attributes[.fullURL] == nil && $0.attributes[.path] == nil })
        #expect(all[0].name == "CONNECT")
        #expect(all[0].attributes[.scheme] == nil)
        #expect(spans.log(of: exchange).body == "CONNECT api.github.com:80 200 ok")
    }

    @Test func `an unknown method is named in an attribute of its own`() throws {
        var exchange = makeTracedExchange()
        exchange.record.request?.method = .other("PROPFIND")
        let span = try #require(spans.spans(of: exchange).first)
        #expect(span.name == "HTTP")
        #expect(span.attributes[.method] == text("_OTHER"))
        #expect(span.attributes[.originalMethod] == text("PROPFIND"))
    }

    @Test func `an exchange without a request or an end is whole, too`() throws {
        var exchange = makeTracedExchange()
        exchange.record.request = nil
        exchange.record.origin = nil
        exchange.record.timing.total = nil
        let span = try #require(spans.spans(of: exchange).first)
        #expect(span.name == "HTTP")
        #expect(span.ended == span.begun)
    }

    @Test func `a log record has the URL, the span and a severity by outcome`() throws {
        var exchange = makeTracedExchange()
        let log = spans.log(of: exchange)
        #expect(log.severity == .info)
        #expect(
            log.body == "GET http://api.github.com/user?code=REDACTED.0126&page=2 200 ok"
        )
        #expect(log.time == sampleStart + 900_000)
        #expect(log.span == SpanID(random: 0x10))
        #expect(log.attributes[.outcome] == text("ok"))
        exchange.record.outcome = .denied
        #expect(spans.log(of: exchange).severity == .warning)
        exchange.record.outcome = .truncated
        exchange.context = nil
        #expect(spans.log(of: exchange).severity == .error)
        #expect(spans.log(of: exchange).trace == nil)
    }

    @Test func `attributes stand where the table says they do`() {
        let exchange = makeTracedExchange()
        let all = spans.spans(of: exchange)
        let items: [TelemetryName.Item] = [
            .exchange, .cache, .token, .attempt, .attempt, .attempt,
        ]
        for (span, item) in zip(all, items) {
            for (name, _) in span.attributes.all {
                #expect(name.row.items.contains(item), "\(name.rawValue) in \(item)")
            }
        }
        for (name, _) in spans.log(of: exchange).attributes.all {
            #expect(name.row.items.contains(.log), "\(name.rawValue)")
        }
    }
}
