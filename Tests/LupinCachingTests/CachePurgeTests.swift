// What clients and records are told of a PURGE.

import LupinCaching
import LupinCore
import Testing

struct CachePurgeTests {
    @Test(arguments: [
        (0, 404, "lupin has nothing stored of this URL."),
        (1, 200, "lupin dropped 1 stored response of this URL."),
        (12, 200, "lupin dropped 12 stored responses of this URL."),
    ])
    func `the answer says how many there were`(count: Int, status: UInt16, sentence: String) {
        let purge = CachePurge(responses: count, bytes: 100)
        #expect(purge.status == status)
        #expect(purge.sentence == sentence)
        #expect(purge.text() == "lupin; detail=\"purged \(count)\"")
        #expect(purge.text(name: "edge 1") == "\"edge 1\"; detail=\"purged \(count)\"")
    }

    @Test func `the method is PURGE, in capitals`() {
        #expect(Method("PURGE") == .purge)
        #expect(Method("purge") != .purge)
    }
}
