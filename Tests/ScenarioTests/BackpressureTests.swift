// Who reads slowly slows down who sends: nothing piles up in between, and nothing is lost.
import LupinIO
import LupinTestKit
import Testing

struct BackpressureTests {
    /// What lupin may hold itself of a body that nobody takes: a buffer, a pipe, what is staged.
    private static let heldBytesMax = 256 << 10
    private static let bodyBytes = 12 << 20
    /// What is sent before anybody reads, if the kernel takes as much.
    private static let sentMax = 10 << 20

    @Test(arguments: ["GET / HTTP/1.0", "GET / HTTP/1.1"])
    func `a client that reads nothing stops the origin`(request: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 128 << 10)
            let words = request.split(separator: " ")
            try client.send("GET \(origin.url()) \(words[2])\r\nHost: a\r\n\r\n")
            let connection = try origin.accept()
            connection.stream.socket.narrow()
            try connection.request()
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Length: \(Self.bodyBytes)\r\n\r\n"
            )
            let sent = try proxy.fill(connection.stream.socket, Self.sentMax)
            try proxy.holdsLittle(of: sent, to: origin, Self.heldBytesMax)
            let rest = Self.bodyBytes - sent
            let sending = TestThread {
                try connection.stream.socket.send(pattern: 7, count: rest)
            }
            let socket = client.stream.socket
            #expect(try socket.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            #expect(try socket.receive(exactly: sent).allSatisfy { $0 == 0 })
            try socket.receive(pattern: 7, count: rest)
            try sending.join()
            #expect(try proxy.record()["http.response.body.size"] == "\(Self.bodyBytes)")
        }
    }

    @Test func `a chunked body waits as well`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 128 << 10)
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            let connection = try origin.accept()
            connection.stream.socket.narrow()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nC00000\r\n")
            let sent = try proxy.fill(connection.stream.socket, Self.sentMax)
            try proxy.holdsLittle(of: sent, to: origin, Self.heldBytesMax)
            let rest = Self.bodyBytes - sent
            let sending = TestThread {
                try connection.stream.socket.send(pattern: 7, count: rest)
                try connection.send("\r\n0\r\n\r\n")
            }
            let socket = client.stream.socket
            #expect(try socket.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            #expect(try socket.receive(exactly: sent).allSatisfy { $0 == 0 })
            try socket.receive(pattern: 7, count: rest)
            #expect(try socket.receiveUntilEOF().isEmpty)
            try sending.join()
        }
    }

    @Test func `an origin that reads nothing stops the client`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            client.stream.socket.narrow()
            try client.send("PUT", origin.url(), ["Content-Length: \(Self.bodyBytes)"])
            let connection = try origin.accept()
            connection.stream.socket.narrow()
            let sent = try proxy.fill(client.stream.socket, Self.sentMax)
            try proxy.holdsLittle(of: sent, to: origin, Self.heldBytesMax)
            let rest = Self.bodyBytes - sent
            let sending = TestThread {
                try client.stream.socket.send(pattern: 7, count: rest)
            }
            let socket = connection.stream.socket
            #expect(try socket.receive(until: "\r\n\r\n").hasPrefix("PUT / HTTP/1.1"))
            #expect(try socket.receive(exactly: sent).allSatisfy { $0 == 0 })
            try socket.receive(pattern: 7, count: rest)
            try sending.join()
            try connection.reply(201)
            #expect(try client.response().status == 201)
            #expect(try proxy.record()["http.request.body.size"] == "\(Self.bodyBytes)")
        }
    }

    @Test(arguments: [true, false])
    func `a tunnel holds no more than its buffers`(isUpward: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client(receiveBuffer: 128 << 10)
            #expect(try client.connect(origin.authority).status == 200)
            let far = try origin.accept().stream.socket
            let near = client.stream.socket
            near.narrow()
            far.narrow()
            let (from, to) = isUpward ? (near, far) : (far, near)
            let sent = try proxy.fill(from, Self.sentMax)
            try proxy.holdsLittle(of: sent, to: origin, Self.heldBytesMax)
            // The other direction is free meanwhile.
            try to.send("hello")
            #expect(try from.receive(exactly: 5) == Array("hello".utf8))
            let sending = TestThread { try from.send(pattern: 7, count: 1 << 20) }
            #expect(try to.receive(exactly: sent).allSatisfy { $0 == 0 })
            try to.receive(pattern: 7, count: 1 << 20)
            try sending.join()
        }
    }
}

extension ProxyFixture {
    /// What lupin holds of `sent` bytes comes to less than `bytesMax`, once nothing moves any more.
    fileprivate func holdsLittle(of sent: Int, to origin: PlayedOrigin, _ bytesMax: Int) throws {
        try eventually("lupin holds less than \(bytesMax) bytes") {
            heldBytes(of: sent, to: origin) < bytesMax
        }
    }

    /// What of `sent` bytes the kernel has not, and so lupin has.
    ///
    /// How much the kernel keeps is its own affair: several MiB where the machine is set so.
    private func heldBytes(of sent: Int, to origin: PlayedOrigin) -> Int {
        sent - SocketEntry.queuedBytes(ports: [address.port, origin.address.port])
    }
}
