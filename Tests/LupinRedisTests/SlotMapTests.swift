// Keys have the slots of the specification, and nodes are found by them.

import LupinRedis
import Testing

struct SlotMapTests {
    private let asked = NodeAddress(host: "10.0.0.9", port: 7000)

    /// Values that `CLUSTER KEYSLOT` of a server gives.
    @Test(arguments: [
        ("123456789", 12739), ("foo", 12182), ("", 0), ("{foo}bar", 12182), ("x{foo}", 12182),
        ("foo{}{bar}", 8363), ("{bar", 4015), ("foo{{bar}}zap", 4015), ("foo{bar}{zap}", 5061),
        ("bar", 5061),
    ])
    func `a key has its slot`(key: String, slot: Int) {
        #expect(HashSlot.of(Array(key.utf8).span) == slot)
    }

    private func node(_ host: String, _ port: Int64) -> RedisReply {
        .list([.text(Array(host.utf8)), .integer(port), .text(Array("id".utf8))])
    }

    @Test func `a map is read, and moves`() throws {
        let reply = RedisReply.list([
            .list([.integer(0), .integer(8000), node("10.0.0.1", 7001), node("10.0.0.4", 7004)]),
            .list([.integer(8001), .integer(16000), node("", 7002)]),
        ])
        var map = try #require(SlotMap(slots: reply, asked: asked))
        #expect(map.node(of: 0) == NodeAddress(host: "10.0.0.1", port: 7001))
        #expect(map.node(of: 8000) == NodeAddress(host: "10.0.0.1", port: 7001))
        #expect(map.node(of: 8001) == NodeAddress(host: "10.0.0.9", port: 7002))
        #expect(map.node(of: 16001) == nil && map.node(of: -1) == nil && map.node(of: 16384) == nil)
        #expect(map.allNodes.count == 2)
        map.move(16001, to: asked)
        map.move(20000, to: asked)
        #expect(map.node(of: 16001) == asked)
        var empty = SlotMap()
        #expect(empty.node(of: 3) == nil)
        empty.move(3, to: asked)
        #expect(empty.node(of: 3) == asked && empty.node(of: 4) == nil)
    }

    @Test func `what is no map is none`() {
        let replies: [RedisReply] = [
            .nothing, .failure("ERR This instance has cluster support disabled"), .list([]),
            .list([.integer(1)]),
            .list([.list([.integer(5), .integer(4), node("a", 1)])]),
            .list([.list([.integer(-1), .integer(4), node("a", 1)])]),
            .list([.list([.integer(0), .integer(16384), node("a", 1)])]),
            .list([.list([.integer(0), .integer(1), node("a", 70000)])]),
            .list([.list([.integer(0), .integer(1), node("a", 0)])]),
            .list([.list([.integer(0), .integer(1), .list([])])]),
            .list([
                .list([.integer(0), .integer(16383), node("a", 1)]),
                .list([.integer(0), .integer(0), node("a", 1)]),
            ]),
        ]
        for reply in replies { #expect(SlotMap(slots: reply, asked: asked) == nil, "\(reply)") }
    }

    @Test func `an answer that sends elsewhere is understood`() {
        func told(_ text: String) -> Redirection? { Redirection(.failure(text), asked: asked) }
        let there = NodeAddress(host: "127.0.0.1", port: 6381)
        #expect(told("MOVED 3999 127.0.0.1:6381") == .moved(slot: 3999, there))
        #expect(told("ASK 3999 127.0.0.1:6381") == .ask(there))
        #expect(told("MOVED 1 :6381") == .moved(slot: 1, NodeAddress(host: "10.0.0.9", port: 6381)))
        #expect(
            told("MOVED 1 fe80::1:6381")
                == .moved(slot: 1, NodeAddress(host: "fe80::1", port: 6381))
        )
        for text in [
            "MOVED", "MOVED 1", "MOVED x 127.0.0.1:1", "MOVED 16384 a:1", "MOVED 1 a",
            "MOVED 1 a:0",
            "ASK 1 a:99999", "ERR 1 a:1", "moved 1 a:1",
        ] { #expect(told(text) == nil, "\(text)") }
        #expect(Redirection(.status("MOVED 1 a:1"), asked: asked) == nil)
    }
}
