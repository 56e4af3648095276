// No descriptor is left: lupin waits instead of spinning, says so, and recovers.
import Glibc
import LupinTestKit
import Testing

/// Each test has a process of its own, whose limit of descriptors it lowers.
struct DescriptorExhaustionTests {
    @Test func `connections wait in the kernel's queue and are served later`() async throws {
        await #expect(processExitsWith: .success) {
            Descriptors.limit(to: 256)
            let clock = VirtualClock()
            try await ProxyFixture.run(clock: clock) { proxy in
                let origin = try proxy.origin { connection in
                    _ = try connection.stream.text(4)
                    try connection.send("pong")
                }
                // A tunnel is never idle.
                let early = try proxy.client()
                #expect(try early.connect(origin.authority).status == 200)
                // The kernel completes a connection before the origin takes it by a descriptor.
                _ = try origin.connection()
                // The client's own descriptor, and none behind it.
                var spare = Descriptors.takeAll()
                Descriptors.giveBackOne(of: &spare)
                let late = try proxy.client()
                try late.send("GET", "http://lupin/")
                for _ in 0..<10 { try clock.advance(by: .milliseconds(60)) }
                #expect(!late.stream.socket.hasUnread)
                #expect(!late.stream.socket.isClosedByPeer)
                #expect(proxy.warnings.count == 1)
                #expect(proxy.warnings.first?.contains("no descriptors left of 256") == true)
                // Who has a connection, on both sides, is served on.
                try early.send("ping")
                #expect(try early.stream.text(4) == "pong")
                Descriptors.giveBack(spare)
                try proxy.advance(by: .milliseconds(60), until: "the late client's response") {
                    late.stream.socket.hasUnread
                }
                #expect(try late.response().status == 200)
            }
        }
    }

    @Test func `idle connections to origins give way to a client`() async throws {
        await #expect(processExitsWith: .success) {
            Descriptors.limit(to: 256)
            try await ProxyFixture.run { proxy in
                let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
                let early = try proxy.client()
                #expect(try early.get(origin.url()).status == 204)
                // The late client's own descriptor, and none behind it.
                var spare = Descriptors.takeAll()
                Descriptors.giveBackOne(of: &spare)
                let late = try proxy.client()
                #expect(try late.get("http://lupin/").status == 200)
                #expect(!early.stream.socket.isClosedByPeer)
                #expect(proxy.warnings.count == 1)
                Descriptors.giveBack(spare)
            }
        }
    }

    @Test func `a connect that gets no descriptor is a 503`() async throws {
        await #expect(processExitsWith: .success) {
            Descriptors.limit(to: 256)
            try await ProxyFixture.run { proxy in
                let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
                let client = try proxy.client()
                #expect(try client.get("http://\(proxy.address)/").status != 0)
                let spare = Descriptors.takeAll()
                let response = try client.get(origin.url())
                Descriptors.giveBack(spare)
                #expect(response.status == 503)
                #expect(response["Proxy-Status"]?.contains("connection_limit_reached") == true)
                #expect(try client.get(origin.url()).status == 204)
            }
        }
    }
}

/// This process's descriptors.
enum Descriptors {
    /// Lowers the hard limit too, since lupin raises the soft one to it.
    static func limit(to count: UInt) {
        var limit = rlimit(rlim_cur: count, rlim_max: count)
        // Safety: setrlimit reads the struct it is given.
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Takes every descriptor that is left.
    static func takeAll() -> [Int32] {
        var taken: [Int32] = []
        while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
        return taken
    }

    static func giveBackOne(of taken: inout [Int32]) {
        if let last = taken.popLast() { close(last) }
    }

    static func giveBack(_ taken: [Int32]) {
        for descriptor in taken { close(descriptor) }
    }
}
