// That a client's first bytes are told apart from everything else, however they arrive.

import LupinCore
import LupinTLS
import Testing

struct ClientHelloTests {
    private func reading(_ bytes: [UInt8]) -> ClientHello.Reading { ClientHello.parse(bytes.span) }

    /// What OpenSSL's client says first.
    private func real(
        _ version: TLSVersion = .tls13,
        host: String = "example.com",
        protocols: [String] = ["h2", "http/1.1"]
    ) throws -> [UInt8] {
        var configuration = ClientTLSConfiguration()
        configuration.maximum = version
        configuration.protocols = protocols
        let session = try TLSSession.client(
            TLSContext.client(configuration),
            serverName: Host(host),
            check: { _ in .accepted }
        )
        var output: [UInt8] = []
        _ = try session.handshake(Span(), output: &output)
        return output
    }

    /// A hello of exactly these parts, in one record.
    private func made(
        version: [UInt8] = [3, 3],
        sessionID: [UInt8] = [],
        suites: [UInt8] = [0x13, 0x01],
        extensions: [(type: UInt8, content: [UInt8])]? = [],
        rest: [UInt8] = []
    ) -> [UInt8] {
        var body = version + [UInt8](repeating: 9, count: 32)
        body += vector(1, sessionID) + vector(2, suites) + vector(1, [0])
        if let extensions {
            body += vector(2, extensions.flatMap { [0, $0.type] + vector(2, $0.content) })
        }
        return records([1] + vector(3, body + rest))
    }

    private func vector(_ width: Int, _ content: [UInt8]) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: content.count >> ($0 * 8)) }
            + content
    }

    /// A message in records of at most `size` bytes.
    private func records(_ message: [UInt8], size: Int = 16384) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = message[...]
        while !rest.isEmpty {
            bytes += [22, 3, 1] + vector(2, Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return bytes
    }

    private func nameList(_ name: [UInt8]) -> [UInt8] { vector(2, [0] + vector(2, name)) }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a real hello says host, protocols and versions`(version: TLSVersion) throws {
        let expected = ClientHello.Reading.hello(
            ClientHello(
                serverName: "example.com",
                protocols: ["h2", "http/1.1"],
                versions: version == .tls13 ? [.tls13, .tls12] : [.tls12]
            )
        )
        #expect(try reading(real(version)) == expected)
    }

    @Test func `a hello may lack name and protocols`() throws {
        let hello = try real(host: "127.0.0.1", protocols: [])
        #expect(reading(hello) == .hello(ClientHello(versions: [.tls13, .tls12])))
    }

    @Test func `a hello in pieces needs more until its last byte`() throws {
        let hello = try real()
        for count in hello.indices {
            #expect(reading(Array(hello.prefix(count))) == .needsMore)
        }
        guard case .hello = reading(hello + [22, 3, 3]) else {
            Issue.record("bytes behind the hello don't matter")
            return
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 100])
    func `a hello in several records is one hello, byte by byte too`(size: Int) throws {
        let hello = try real()
        let split = records(Array(hello.dropFirst(5)), size: size)
        #expect(reading(split) == reading(hello))
        for count in split.indices {
            #expect(reading(Array(split.prefix(count))) == .needsMore)
        }
    }

    @Test(
        arguments: [
            Array("GET / HTTP/1.1\r\n".utf8), Array("SSH-2.0-x\r\n".utf8), [0], [22, 2],
            [22, 3, 5],
            [22, 3, 1, 0, 0], [22, 3, 1, 0x40, 1], [22, 3, 1, 0, 5, 2], [0x80, 0x2E, 1, 3, 1],
            Array("PRI * HTTP/2.0".utf8), [21, 3, 1, 0, 2, 1, 0],
        ] as [[UInt8]]
    )
    func `other protocols are told by their first bytes`(bytes: [UInt8]) {
        #expect(reading(bytes) == .notTLS)
    }

    @Test func `an old hello may end before the extensions`() {
        let hello = made(extensions: nil)
        #expect(reading(hello) == .hello(ClientHello(versions: [.tls12])))
        #expect(reading(made(version: [3, 1])) == .hello(ClientHello()))
    }

    @Test func `GREASE and unknown values are passed over`() {
        let hello = made(extensions: [
            (0x1A, []), (16, vector(2, vector(1, [0x2A, 0x2A]) + vector(1, Array("h2".utf8)))),
            (43, vector(1, [0x6A, 0x6A, 3, 4, 3, 1])),
        ])
        let expected = ClientHello(protocols: ["h2"], versions: [.tls13])
        #expect(reading(hello) == .hello(expected))
    }

    @Test func `malformed hellos are unreadable`() {
        let name = Array("a.example".utf8)
        let samples: [[UInt8]] = [
            made(sessionID: [UInt8](repeating: 0, count: 33)), made(suites: []),
            made(suites: [1]),
            // The same extension twice.
            made(extensions: [(0, nameList(name)), (0, nameList(name))]),
            // Names: none, of another type, two of them, with a space, with a zero, not ASCII.
            made(extensions: [(0, [])]), made(extensions: [(0, vector(2, [1] + vector(2, name)))]),
            made(extensions: [(0, vector(2, [0] + vector(2, name) + [0] + vector(2, name)))]),
            made(extensions: [(0, nameList(Array("a b".utf8)))]),
            made(extensions: [(0, nameList([0x61, 0]))]), made(extensions: [(0, nameList([0xE4]))]),
            made(extensions: [(0, nameList([]))]),
            made(extensions: [(0, nameList([UInt8](repeating: 0x61, count: 256)))]),
            // ALPN and versions: empty lists, empty names, odd lengths.
            made(extensions: [(16, vector(2, []))]), made(extensions: [(16, vector(2, [0]))]),
            made(extensions: [(43, [0])]), made(extensions: [(43, vector(1, [3]))]),
            // Bytes behind the extensions.
            made(rest: [0]),
            // Longer than anybody's, by its header, whole and in pieces; another record in between.
            [22, 3, 1, 0, 4, 1, 0, 0x40, 0], records([1, 0, 0x40, 0], size: 1),
            records([1, 0, 1, 0, 3, 3]) + [21, 3, 1, 0, 2, 2, 0],
            records([1, 0, 1, 0, 3, 3]) + [23],
        ]
        for sample in samples {
            #expect(reading(sample) == .unreadable, "\(sample)")
        }
    }

    @Test func `mutated hellos never stop the process`() throws {
        var random = SeededGenerator(seed: 7)
        let hello = try real()
        for round in 0..<4000 {
            var bytes =
                round % 2 == 0
                ? hello
                : records(Array(hello.dropFirst(5)), size: Int.random(in: 1...99, using: &random))
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.remove(at: place)
                default: bytes.insert(bytes[place], at: place)
                }
            }
            _ = reading(bytes)
        }
    }
}
