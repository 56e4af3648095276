// That a client's first bytes are told apart from everything else, however they arrive.

import LupinCore
import LupinTLS
import LupinTestKit
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
        extensions: [(type: UInt16, content: [UInt8])]? = [],
        rest: [UInt8] = []
    ) -> [UInt8] {
        var hello = ScriptedHello(extensions: extensions)
        hello.version = version
        hello.sessionID = sessionID
        hello.suites = suites
        hello.rest = rest
        return hello.bytes
    }

    private func vector(_ width: Int, _ content: [UInt8]) -> [UInt8] {
        ScriptedHello.vector(width, content)
    }

    private func records(_ message: [UInt8], size: Int = 16384) -> [UInt8] {
        ScriptedHello.records(message, size: size)
    }

    private func nameList(_ name: [UInt8]) -> [UInt8] { ScriptedHello.list(of: [name]) }

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
            Array("GET / HTTP/1.1\r\n".utf8), Array("SSH-2.0-x\r\n".utf8), [0], [22, 16],
            [0x80, 0x2E, 1, 3, 1], Array("PRI * HTTP/2.0".utf8), [21, 2], [25, 3], [19, 3],
        ] as [[UInt8]]
    )
    func `other protocols are told by their first bytes`(bytes: [UInt8]) {
        #expect(reading(bytes) == .notTLS)
    }

    /// OpenSSL reads over an empty record and over a warning, Go over a version it doesn't know.
    @Test(
        arguments: [
            [22, 2], [22, 15], [22, 3, 1, 0, 0], [22, 3, 1, 0x40, 1], [22, 3, 1, 0, 5, 2],
            [21, 3, 1, 0, 2, 1, 0], [20, 3], [23, 3], [24, 3],
        ] as [[UInt8]]
    )
    func `what a lenient server may read as TLS is no other protocol`(bytes: [UInt8]) {
        #expect(reading(bytes) == .unreadable)
        for count in 1..<bytes.count {
            #expect([.needsMore, .unreadable].contains(reading(Array(bytes.prefix(count)))))
        }
    }

    @Test(arguments: [0, 5, 0x7F, 0xFF] as [UInt8])
    func `a record's minor version says nothing`(minor: UInt8) {
        var hello = ScriptedHello(name: "a.example").bytes
        hello[2] = minor
        #expect(reading(hello) == .hello(ClientHello(serverName: "a.example", versions: [.tls12])))
    }

    @Test func `Encrypted ClientHello is seen, whatever is in it`() {
        for content in [[], [0], [UInt8](repeating: 7, count: 300)] as [[UInt8]] {
            let hello = made(extensions: [(0xFE0D, content)])
            #expect(reading(hello) == .hello(ClientHello(versions: [.tls12], offersECH: true)))
        }
        let other = made(extensions: [(0xFE0E, [])])
        #expect(reading(other) == .hello(ClientHello(versions: [.tls12])))
    }

    @Test(arguments: [16384, 4096, 1000])
    func `a hello may be longer than a record, up to its limit`(size: Int) {
        let name = (UInt16(0), ScriptedHello.list(of: [Array("a.example".utf8)]))
        // The rest of the message takes 69 bytes, its header included.
        for (count, isReadable) in [(20000, true), (65536 - 69, true), (65536 - 68, false)] {
            var hello = ScriptedHello(
                extensions: [name, (21, [UInt8](repeating: 0, count: count))]
            )
            hello.recordBytes = size
            let bytes = hello.bytes
            let expected = ClientHello(serverName: "a.example", versions: [.tls12])
            #expect(reading(bytes) == (isReadable ? .hello(expected) : .unreadable), "\(count)")
            #expect(bytes.count < ClientHello.wireBytesMax)
            guard isReadable else { continue }
            #expect(reading(Array(bytes.dropLast())) == .needsMore)
        }
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
            [22, 3, 1, 0, 4, 1, 1, 0, 0], records([1, 1, 0, 0], size: 1),
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
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.remove(at: index)
                default: bytes.insert(bytes[index], at: index)
                }
            }
            _ = reading(bytes)
        }
    }
}
