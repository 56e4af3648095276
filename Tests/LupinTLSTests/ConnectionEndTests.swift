// How a connection ends: well, broken off, or with an alert; each is told apart.

import LupinCore
import LupinTLS
import Testing

struct ConnectionEndTests {
    private static let ends = [TLSVersion.tls12, .tls13].flatMap { version in
        [JoinedPair.Side.client, .server].map { (version: version, side: $0) }
    }

    private func other(_ side: JoinedPair.Side) -> JoinedPair.Side {
        side == .client ? .server : .client
    }

    @Test(arguments: ends)
    func `close_notify ends a side behind its last byte`(
        end: (version: TLSVersion, side: JoinedPair.Side)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(end.version))
        try pair.send(Array("last".utf8), from: end.side)
        pair.close(end.side)
        pair.close(end.side)
        pair.run()
        #expect(pair.plain[other(end.side)] == Array("last".utf8))
        #expect(pair.endedSides == [other(end.side)])
        #expect(pair.failures.isEmpty)
        // The other direction is still open in TLS 1.3 (RFC 8446 §6.1).
        if end.version == .tls13 {
            try pair.send([1], from: other(end.side))
            pair.run()
            #expect(pair.plain[end.side] == [1])
        }
    }

    @Test func `close_notify is written once`() throws {
        let pair = try JoinedPair.connected()
        var output: [UInt8] = []
        pair.client.close(output: &output)
        let count = output.count
        pair.client.close(output: &output)
        #expect(count > 0 && output.count == count)
        #expect(throws: TLSFailure.self) { try pair.client.encrypt([1].span, output: &output) }
        #expect(output.count == count)
        // Receiving goes on.
        try pair.send([1], from: .server)
        pair.run()
        #expect(pair.plain[.client] == [1])
    }

    @Test func `data before the handshake is refused and ends nothing`() throws {
        let pair = try JoinedPair(PairOptions(), identity: try MintedIdentity().identity)
        var output: [UInt8] = []
        #expect(throws: TLSFailure.self) { try pair.server.encrypt([1].span, output: &output) }
        #expect(output.isEmpty)
        pair.run()
        #expect(pair.isComplete == [.client: true, .server: true])
    }

    @Test(arguments: ends)
    func `an end without close_notify is a truncation`(
        end: (version: TLSVersion, side: JoinedPair.Side)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(end.version))
        try pair.send(Array("cut".utf8), from: end.side)
        (end.side == .client ? pair.server : pair.client).inputEnded()
        pair.run()
        #expect(pair.plain[other(end.side)] == Array("cut".utf8))
        #expect(pair.failures[other(end.side)]?.kind == .truncated)
    }

    @Test func `a truncation behind the last record is noticed without another event`() throws {
        let pair = try JoinedPair.connected()
        pair.run()
        var records: [UInt8] = []
        try pair.server.encrypt([1, 2, 3].span, output: &records)
        pair.client.inputEnded()
        var room = [UInt8](repeating: 0, count: 100)
        var span = room.mutableSpan
        var answer: [UInt8] = []
        let reading = try pair.client.decrypt(records.span, into: &span, output: &answer)
        #expect(reading.produced == 3 && !reading.ended)
        #expect(pair.client.holdsPlaintext, "the failure waits to be fetched")
    }

    @Test(arguments: ends)
    func `an end in the middle of a record is a truncation`(
        end: (version: TLSVersion, side: JoinedPair.Side)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(end.version))
        pair.run()
        try pair.send(Array("cut".utf8), from: end.side)
        pair.tamper(from: end.side) { $0.removeLast() }
        pair.run()
        #expect(pair.failures.isEmpty)
        (end.side == .client ? pair.server : pair.client).inputEnded()
        pair.run()
        #expect(pair.plain[other(end.side)] == [])
        #expect(pair.failures[other(end.side)]?.kind == .truncated)
    }

    @Test(arguments: ends)
    func `an end after close_notify is no truncation`(
        end: (version: TLSVersion, side: JoinedPair.Side)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(end.version))
        pair.close(end.side)
        (end.side == .client ? pair.server : pair.client).inputEnded()
        pair.run()
        #expect(pair.endedSides == [other(end.side)])
        #expect(pair.failures.isEmpty)
    }

    @Test(arguments: [JoinedPair.Side.client, .server])
    func `an end in the handshake is a truncation`(side: JoinedPair.Side) throws {
        let pair = try JoinedPair(PairOptions(), identity: MintedIdentity().identity)
        let session = side == .client ? pair.client : pair.server
        session.inputEnded()
        var output: [UInt8] = []
        let failure = #expect(throws: TLSFailure.self) {
            try session.handshake(Span(), output: &output)
        }
        #expect(failure?.kind == .truncated)
    }

    @Test(arguments: ends)
    func `a damaged record ends both sides, and one learns it by an alert`(
        end: (version: TLSVersion, side: JoinedPair.Side)
    ) throws {
        let pair = try JoinedPair.connected(PairOptions(end.version))
        pair.run()
        try pair.send(Array("damaged".utf8), from: end.side)
        pair.tamper(from: end.side) { $0[$0.count - 1] ^= 1 }
        pair.run()
        #expect(pair.plain[other(end.side)] == [])
        #expect(pair.failures[other(end.side)]?.kind == .protocolError)
        #expect(pair.failures[end.side]?.kind == .alertReceived(TLSAlert(rawValue: 20)))
    }

    @Test func `good records before a damaged one are delivered before the failure`() throws {
        let pair = try JoinedPair.connected()
        pair.run()
        var records: [UInt8] = []
        try pair.server.encrypt([1, 2, 3].span, output: &records)
        try pair.server.encrypt([4].span, output: &records)
        records[records.count - 1] ^= 1
        var room = [UInt8](repeating: 0, count: 100)
        var span = room.mutableSpan
        var answer: [UInt8] = []
        let reading = try pair.client.decrypt(records.span, into: &span, output: &answer)
        #expect(reading.produced == 3)
        #expect(!answer.isEmpty, "the alert")
        #expect(pair.client.holdsPlaintext)
        for _ in 0..<2 {
            var rest = [UInt8](repeating: 0, count: 1)
            var restSpan = rest.mutableSpan
            do {
                _ = try pair.client.decrypt(Span(), into: &restSpan, output: &answer)
                Issue.record("the failure is thrown by every later call")
            } catch {
                #expect(error.kind == .protocolError)
            }
        }
        #expect(throws: TLSFailure.self) { try pair.client.encrypt([1].span, output: &answer) }
    }
}
