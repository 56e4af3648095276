// Which ClientHello a client sends in clear, wherever it stands and however it is cut.
import LupinTLS
import LupinTestKit
import Testing

struct ClientRecordsTests {
    /// The names of the hellos that are found, `unreadable` and `no TLS`.
    private func found(_ bytes: [UInt8], size: Int) -> [String] {
        var records = ClientRecords()
        var found: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start...].prefix(size))
            for finding in records.follow(piece.span) {
                switch finding {
                case .hello(let hello): found.append(hello.serverName ?? "no name")
                case .unreadable: found.append("unreadable")
                case .notTLS: found.append("no TLS")
                }
            }
        }
        return found
    }

    private static func hello(_ name: String, recordBytes: Int = 16384) -> [UInt8] {
        var hello = ScriptedHello(name: name)
        hello.recordBytes = recordBytes
        return hello.bytes
    }

    private static func record(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        [type, 3, 3] + ScriptedHello.vector(2, content)
    }

    private static let change = record(20, [1])
    private static let noise = [UInt8](repeating: 0xC5, count: 400)
    /// A TLS 1.2 client's second flight: ClientKeyExchange, ChangeCipherSpec, Finished.
    private static let flight =
        record(22, [16] + ScriptedHello.vector(3, noise)) + change + record(22, noise)
    private static let message = Array(hello("b.test").dropFirst(5))

    private static let rows: [([UInt8], [String])] = [
        (hello("a.test"), ["a.test"]),
        (hello("a.test") + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test", recordBytes: 3) + hello("b.test", recordBytes: 7), ["a.test", "b.test"]),
        (hello("a.test") + record(21, [2, 40]) + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test") + change + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test") + change + record(23, noise) + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test") + record(23, noise) + change + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test") + record(22, []) + hello("b.test"), ["a.test", "b.test"]),
        (hello("a.test") + flight + record(23, noise), ["a.test"]),
        (hello("a.test") + flight + hello("b.test"), ["a.test", "b.test"]),
        (record(22, Array(hello("a.test").dropFirst(5)) + message), ["a.test", "b.test"]),
        (
            hello("a.test")
                + record(22, [11] + ScriptedHello.vector(3, noise) + message.prefix(9))
                + record(22, Array(message.dropFirst(9))), ["a.test", "b.test"]
        ),
        (hello("a.test") + record(22, [1, 0, 0, 2, 3, 3]), ["a.test", "unreadable"]),
        (hello("a.test") + record(22, [1, 0, 0, 0, 1]), ["a.test", "unreadable"]),
        (hello("a.test") + record(22, [1, 255, 255, 255]), ["a.test", "unreadable"]),
        (hello("a.test") + change + record(22, [1, 0, 0, 2, 3, 3]), ["a.test"]),
        (hello("a.test") + Array("GET / HTTP/1.1".utf8), ["a.test", "no TLS"]),
        (hello("a.test") + [22, 2, 0, 0, 1, 0], ["a.test", "no TLS"]),
        (hello("a.test") + [22, 3, 3, 0xFF, 0xFF, 0], ["a.test", "no TLS"]),
    ]

    @Test(arguments: rows.indices)
    func `each hello is found, in pieces of any size`(row: Int) {
        let (bytes, names) = Self.rows[row]
        for size in [1, 2, 5, 7, 100, bytes.count] {
            #expect(found(bytes, size: size) == names, "\(size)")
        }
    }

    @Test func `behind many bytes nothing is looked at`() {
        var records = ClientRecords()
        let record = Self.record(23, [UInt8](repeating: 7, count: 16384))
        while !records.isDone {
            let found = records.follow(record.span)
            #expect(found == [])
        }
        let hello = Self.hello("b.test")
        let found = records.follow(hello.span)
        #expect(found == [])
    }

    @Test(arguments: 1...8)
    func `any bytes are survived`(seed: UInt64) {
        var numbers = Numbers(state: seed)
        for _ in 0..<50 {
            var bytes = Self.hello("a.test") + Self.flight + Self.hello("b.test")
            for _ in 0..<numbers.next(below: 5) {
                let index = numbers.next(below: bytes.count)
                bytes[index] = UInt8(truncatingIfNeeded: numbers.next(below: 256))
            }
            let whole = found(bytes, size: bytes.count)
            #expect(found(bytes, size: 1 + numbers.next(below: 40)) == whole)
        }
    }
}
