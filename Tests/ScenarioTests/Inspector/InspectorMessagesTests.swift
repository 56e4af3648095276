// The messages of gRPC in the page: a list, each as protobuf without a schema.
import LupinTestKit
import Testing

extension InspectorPageTests {
    @Test func `messages of gRPC show as fields by number, compressed ones too`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let message: [UInt8] = [0x08, 0x96, 0x01, 0x12, 0x05] + Array("hello".utf8)
            let coded = Coded.gzip(message)
            let origin = try proxy.origin { connection in
                try connection.request()
                let body = [1, 0, 0, 0, UInt8(coded.count)] + coded
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\ngrpc-encoding: gzip\r\n"
                        + "Content-Length: \(body.count)\r\n\r\n"
                )
                try connection.send(body)
            }
            try proxy.client().get(origin.url("/a.B/Call"))
            try proxy.browse { browser, _ in
                try browser.waitFor("/a.B/Call", in: "#list")
                try browser.click("//*[@id='list']//*[contains(text(),'/a.B/Call')]")
                try browser.click("//*[@role='tab'][.='Body']")
                try browser.waitFor("1 message", in: "[role=tabpanel]")
                try browser.click("//*[contains(text(),'↓ origin')]")
                for text in ["1 (varint)", "150", "2 (text)", "hello"] {
                    try browser.waitFor(text, in: "[role=tabpanel]")
                }
            }
        }
    }
}
