// A rate that a rule allows: kept in both directions, shared by all, and waited for in peace.
import LupinIO
import LupinTestKit
import Testing

struct ThrottleTests {
    /// What may go at once after a silence: 100 ms of the rate.
    private static let burst = (1 << 20) / 10
    /// What is left of it is left to grow to so much: 50 ms of the rate.
    private static let quantum = (1 << 20) / 20
    private static let rules = """
        rules:
          - {name: slow, match: {path: /**}, throttle: {down: 1MiB/s, up: 1MiB/s}}
        """

    /// Reads what a client gets while time stands still: until it is more than `count` bytes, and
    /// then until nothing comes any more.
    private func read(
        moreThan count: Int,
        _ sockets: [PlainSocket],
        _ total: inout Int,
        _ proxy: ProxyFixture
    ) throws {
        // Who sends is a thread of its own, which a busy machine may keep waiting for long.
        try eventually("more than \(count) bytes") {
            for socket in sockets { read(socket, &total) }
            return total > count
        }
        try proxy.rest {
            for socket in sockets { read(socket, &total) }
            return total
        }
    }

    /// Bytes of the body that the client gets while time stands still or moves.
    private func read(_ socket: PlainSocket, _ total: inout Int) {
        while socket.hasInput, let some = try? socket.receiveSome(), !some.isEmpty {
            total += some.count
        }
    }

    @Test func `a download has its rate and no more`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            let count = 500_000
            try connection.send(head("HTTP/1.1 200 OK", "Content-Length: \(count)"))
            let sending = TestThread { try connection.stream.socket.send(pattern: 5, count: count) }
            let socket = client.stream.socket
            #expect(try socket.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            var total = 0
            try read(moreThan: Self.burst - Self.quantum, [socket], &total, proxy)
            #expect(total <= Self.burst)
            let start = clock.now
            for _ in 0..<20 {
                try clock.advance(by: .milliseconds(10))
                try proxy.settle()
                read(socket, &total)
                let due = Self.burst + Int(clock.now - start) * (1 << 20) / 1_000_000
                // What is less than 50 ms worth waits, and so does what is on its way.
                #expect(total > due - (160 << 10) && total <= due)
            }
            try proxy.advance(by: .milliseconds(100), until: "the rest") {
                read(socket, &total)
                return total >= count
            }
            #expect(total == count)
            try sending.join()
        }
    }

    @Test func `an upload has its rate, and its bytes are the same`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let count = 200_000
            try client.send("POST", origin.url(), ["Content-Length: \(count)"])
            let sending = TestThread { try client.stream.socket.send(pattern: 6, count: count) }
            let connection = try origin.accept()
            _ = try connection.requestHead()
            try connection.stream.socket.receive(pattern: 6, count: 0)
            let start = clock.now
            let reading = TestThread {
                var pattern = BytePattern(6)
                var left = count
                while left > 0 {
                    let size = min(left, 64 << 10)
                    guard try connection.stream.bytes(size) == pattern.next(size) else {
                        throw SocketFailure("other bytes")
                    }
                    left -= size
                }
                try connection.reply(body: "in")
            }
            let socket = client.stream.socket
            try proxy.advance(by: .milliseconds(10), until: "the answer") { socket.hasInput }
            #expect(try client.response(to: "POST").bodyText == "in")
            let due = UInt64((count - Self.burst) * 1_000_000 / (1 << 20))
            #expect(clock.now - start >= due)
            try reading.join()
            try sending.join()
        }
    }

    @Test func `two exchanges share the rate of their rule`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Content-Length: 60000")
                    + String(repeating: "x", count: 60000)
            )
            let clients = [try proxy.client(), try proxy.client()]
            for client in clients { try client.send("GET", origin.url()) }
            var total = 0
            try read(moreThan: 60_000, clients.map(\.stream.socket), &total, proxy)
            // Both heads, and no more than one burst for the two: a small rest is left to grow.
            #expect(total < Self.burst + 1000)
            try proxy.advance(by: .milliseconds(100), until: "the rest") {
                for client in clients { read(client.stream.socket, &total) }
                return total > 120_000
            }
        }
    }

    @Test func `a tunnel keeps to the rate too`() async throws {
        let rules = "rules: [{match: {}, throttle: {down: 1MiB/s}}]"
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "CONNECT \(origin.authority) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\n"
            )
            let connection = try origin.accept()
            #expect(try client.response(to: "CONNECT").status == 200)
            let count = 200_000
            let sending = TestThread { try connection.stream.socket.send(pattern: 5, count: count) }
            var total = 0
            let socket = client.stream.socket
            try read(moreThan: Self.burst - Self.quantum, [socket], &total, proxy)
            #expect(total <= Self.burst)
            try proxy.advance(by: .milliseconds(50), until: "the rest") {
                read(socket, &total)
                return total >= count
            }
            try sending.join()
        }
    }
}
