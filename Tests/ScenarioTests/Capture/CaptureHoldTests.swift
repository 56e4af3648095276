// Hosts are captured while an inspector holds them, and not for longer than it lives.
import LupinTestKit
import Testing

struct CaptureHoldTests {
    private let answer = head("HTTP/1.1 200 X", "Content-Length: 2") + "ok"
    private let here = "{\"hosts\":[\"127.0.0.1\"]}"

    @Test func `a hold ends by itself, unless it is renewed`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(ProxyFixture.captureFolder, clock: clock) { proxy in
            let origin = try proxy.origin(answering: answer)
            func isCaptured(_ index: Int) throws -> Bool {
                try proxy.client().get(origin.url())
                try proxy.advance(by: .milliseconds(20), until: "the record of the exchange") {
                    proxy.recordsSoFar().count { $0["event"] == "exchange" } > index
                }
                return try proxy.captured(index).side("response")["kept"] == "2"
            }
            func renew() throws {
                let answer = try proxy.admin("PUT", "/v1/capture/holds/one", json: here)
                let told = RecordLine(answer.bodyText)
                #expect(answer.status == 200 && told?.list("holds.0.hosts") == ["127.0.0.1"])
                #expect(told?["holds.0.name"] == "one" && told?["holds.0.seconds"] == "180")
            }
            try renew()
            #expect(try isCaptured(0))
            try clock.advance(by: .seconds(170))
            #expect(try isCaptured(1))
            try renew()
            try clock.advance(by: .seconds(170))
            #expect(try isCaptured(2))
            // A reload keeps what is held.
            try renew()
            _ = try await proxy.reload(ProxyFixture.captureFolder + "upstream: {via: false}\n")
            #expect(try isCaptured(3))
            try clock.advance(by: .seconds(190))
            #expect(try proxy.adminJSON("/v1/capture").count("holds") == 0)
            #expect(try !isCaptured(4))
        }
    }

    @Test func `holds end one by one, and hosts that were asked for stay`() async throws {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let origin = try proxy.origin(answering: answer)
            func isCaptured(_ index: Int) throws -> Bool {
                try proxy.client().get(origin.url())
                return try proxy.captured(index).side("response")["kept"] == "2"
            }
            for name in ["one", "two"] {
                try proxy.admin("PUT", "/v1/capture/holds/\(name)", json: here)
            }
            #expect(try proxy.admin("DELETE", "/v1/capture/holds/one").status == 200)
            #expect(try isCaptured(0))
            // Without hosts a hold captures nothing.
            try proxy.admin("PUT", "/v1/capture/holds/two", json: "{\"hosts\":[]}")
            #expect(try !isCaptured(1))
            try proxy.admin("PUT", "/v1/capture/holds/two", json: here)
            try proxy.admin("PUT", "/v1/capture", json: here)
            #expect(try proxy.admin("DELETE", "/v1/capture/holds/two").status == 200)
            #expect(try proxy.admin("DELETE", "/v1/capture/holds/two").status == 200)
            #expect(try isCaptured(2))
        }
    }

    @Test func `there are so many holds and no more, each by a name`() async throws {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            func status(_ name: String, _ json: String) throws -> Int {
                try proxy.admin("PUT", "/v1/capture/holds/\(name)", json: json).status
            }
            for number in 0..<16 {
                let status = try status("hold-\(number)", here)
                #expect(status == 200)
            }
            #expect(try status("hold-16", here) == 422)
            #expect(try status("hold-3", here) == 200)
            #expect(try proxy.admin("DELETE", "/v1/capture/holds/hold-3").status == 200)
            #expect(try status("hold-16", here) == 200)
            for name in ["", "a%20b", String(repeating: "a", count: 65)] {
                #expect(try status(name, here) == 400, "\(name)")
            }
            // A name of two words is another path, which leads to nothing.
            #expect(try status("a/b", here) == 404)
            for json in ["{}", "{\"hosts\":[1]}", "{\"hosts\":[\"a b\"]}"] {
                #expect(try status("hold-1", json) == 400, "\(json)")
            }
            #expect(try proxy.admin("GET", "/v1/capture/holds/hold-1").status == 405)
            #expect(try proxy.adminJSON("/v1/capture").count("holds") == 16)
        }
    }
}
