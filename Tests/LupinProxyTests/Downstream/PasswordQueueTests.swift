// That passwords are checked in turns of their clients, and that no client fills the queue.

import LupinCore
import LupinProxy
import Testing

struct PasswordQueueTests {
    private let alice = IPAddress.v4(0x7F00_0001)
    private let mallory = IPAddress.v4(0x0A00_0001)
    private var queue = PasswordQueue()

    private func entry(_ number: Int, name: String? = nil) -> PasswordQueue.Entry {
        let key = [UInt8(number >> 8), UInt8(number & 0xFF)]
        return PasswordQueue.Entry(key: key, name: name ?? "user \(number)")
    }

    /// Lets passwords wait, and says how many found room.
    private mutating func add(_ numbers: Range<Int>, name: String? = nil, from client: IPAddress)
        -> Int
    {
        var count = 0
        for i in numbers where queue.append(entry(i, name: name), from: client) { count += 1 }
        return count
    }

    /// The next `count` passwords, as far as there are any.
    private mutating func take(_ count: Int) -> [Int] {
        (0..<count).compactMap { _ in queue.next()?.reduce(0) { $0 << 8 | Int($1) } }
    }

    private mutating func remove(_ number: Int, from client: IPAddress) -> Bool {
        queue.remove(entry(number).key, from: client)
    }

    @Test mutating func `one client's passwords come in order`() {
        let added = add(0..<5, from: alice)
        #expect(added == 5)
        #expect(queue.count == 5)
        let taken = take(6)
        #expect(taken == [0, 1, 2, 3, 4])
        #expect(queue.count == 0)
    }

    @Test mutating func `a flood of one client does not delay another`() {
        let added = [add(0..<20, from: mallory), add(100..<102, from: alice)]
        #expect(added == [20, 2])
        let taken = take(5)
        #expect(taken == [0, 100, 1, 101, 2])
    }

    @Test mutating func `a client has so much room and no more`() {
        let flood = add(0..<1000, from: mallory)
        #expect(flood == PasswordQueue.perClientMax)
        let others = add(1000..<1001, from: alice)
        #expect(others == 1)
        let first = take(1)
        let more = add(1001..<1010, from: mallory)
        #expect(first == [0])
        #expect(more == 1)
    }

    @Test mutating func `one name has less room than its client`() {
        let bobs = add(0..<100, name: "bob", from: mallory)
        let carols = add(1000..<1001, name: "carol", from: mallory)
        let bobsElsewhere = add(1001..<1002, name: "bob", from: alice)
        #expect(bobs == PasswordQueue.perNameMax)
        #expect([carols, bobsElsewhere] == [1, 1])
    }

    @Test mutating func `all clients together have so much room and no more`() {
        let room = PasswordQueue.waitingMax
        var count = 0
        for i in 0..<room { count += add(i..<i + 1, from: .v4(UInt32(i))) }
        let more = add(room..<room + 1, from: alice)
        #expect(count == room)
        #expect(more == 0)
    }

    @Test mutating func `addresses of one IPv6 network are one client`() {
        var count = 0
        for i in 0..<100 { count += add(i..<i + 1, from: .v6(high: 7, low: UInt64(i))) }
        let others = add(1000..<1001, from: .v6(high: 8, low: 0))
        #expect(count == PasswordQueue.perClientMax)
        #expect(others == 1)
    }

    @Test mutating func `what nobody waits for any more leaves its place`() {
        let added = [add(0..<3, from: alice), add(9..<10, from: mallory)]
        #expect(added == [3, 1])
        let removed = [
            remove(1, from: alice), remove(1, from: alice), remove(9, from: mallory),
        ]
        #expect(removed == [true, false, true])
        #expect(queue.count == 2)
        let taken = take(3)
        #expect(taken == [0, 2])
    }
}
