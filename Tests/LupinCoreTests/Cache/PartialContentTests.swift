// Which parts make a whole, and which must never be put together.

import LupinCore
import Testing

struct PartialContentTests {
    private func content(_ ranges: Range<UInt64>..., length: UInt64? = nil) -> HeldContent {
        var content = HeldContent(range: ranges[0], completeLength: length)
        for range in ranges.dropFirst() { content.insert(range) }
        return content
    }

    @Test func `ranges that touch become one`() {
        #expect(content(0..<5, 5..<9).ranges == [0..<9])
        #expect(content(0..<5, 6..<9).ranges == [0..<5, 6..<9])
        #expect(content(6..<9, 0..<5, 4..<7).ranges == [0..<9])
        #expect(content(10..<20, 0..<5, 30..<40, 7..<8).ranges == [0..<5, 7..<8, 10..<20, 30..<40])
        #expect(content(0..<3, 5..<8, 1..<6, length: 8).isComplete)
        #expect(!content(0..<8).isComplete && !content(1..<8, length: 8).isComplete)
        #expect(HeldContent(complete: 0).isComplete && HeldContent(complete: 9).holds(0..<9))
    }

    @Test func `what is missing is what is not held`() {
        let held = content(2..<4, 6..<8, length: 10)
        #expect(held.missing(in: 0..<10) == [0..<2, 4..<6, 8..<10])
        #expect(held.missing(in: 3..<7) == [4..<6])
        #expect(held.missing(in: 2..<4) == [] && held.holds(2..<4) && !held.holds(2..<5))
        #expect(held.missing(in: 4..<6) == [4..<6] && held.missing(in: 5..<5) == [])
    }

    @Test func `there are only so many pieces`() {
        var held = HeldContent(range: 0..<1, completeLength: nil)
        for i in 1..<64 { held.insert(UInt64(i * 2)..<UInt64(i * 2 + 1)) }
        #expect(held.ranges.count == 64)
        let isKept = held.insert(1000..<1001)
        #expect(!isKept && held.ranges.count == 64)
        // One that joins two others needs no place.
        let isJoined = held.insert(1..<2)
        #expect(isJoined && held.ranges.count == 63)
    }

    @Test func `it agrees with a set of bytes`() {
        var seed: UInt64 = 11
        func random(_ bound: UInt64) -> UInt64 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (seed >> 33) % bound
        }
        for _ in 0..<200 {
            var held = HeldContent(range: 0..<0, completeLength: 40)
            var bytes: Set<UInt64> = []
            for _ in 0..<8 {
                let start = random(38)
                let range = start..<min(40, start + 1 + random(6))
                held.insert(range)
                bytes.formUnion(range)
            }
            #expect(held.ranges.flatMap { Array($0) } == bytes.sorted())
            #expect(
                held.missing(in: 0..<40).flatMap { Array($0) }.allSatisfy { !bytes.contains($0) }
            )
            #expect(held.isComplete == (bytes.count == 40))
        }
    }

    // MARK: Combining

    private static let strong: CacheFields = [("ETag", "\"a\""), ("Date", date())]

    private func part(_ pairs: CacheFields = strong, length: UInt64? = 10) -> StoredResponse {
        let content = HeldContent(range: 0..<5, completeLength: length)
        return stored(pairs, status: 206, content: content)
    }

    private func reason(
        _ newer: CacheFields,
        status: UInt16 = 206,
        to stored: StoredResponse
    ) -> String? {
        if case .replace(let reason) = stored.combine(reply(newer, status: status)) {
            return reason
        }
        return nil
    }

    @Test func `parts with one strong validator make more`() {
        let newer = reply([("ETag", "\"a\""), ("Content-Range", "bytes 5-9/10")], status: 206)
        #expect(part().combine(newer) == .combine(at: 5, HeldContent(complete: 10)))
        #expect(part(length: nil).combine(newer) == .combine(at: 5, HeldContent(complete: 10)))
    }

    @Test func `other parts do not`() {
        let range = ("Content-Range", "bytes 5-9/10")
        let none = "there is no common strong validator"
        #expect(reason([("ETag", "\"b\""), range], to: part()) == none)
        #expect(reason([range], to: part()) == none)
        #expect(reason([("ETag", "W/\"a\""), range], to: part([("ETag", "W/\"a\"")])) == none)
        #expect(reason([range], to: part([])) == none)
        let other = ("Content-Range", "bytes 5-9/11")
        #expect(reason([("ETag", "\"a\""), other], to: part()) == "the lengths differ")
        #expect(reason([("ETag", "\"a\"")], to: part()) == "it is not a single range")
        let whole = reason([("ETag", "\"a\""), range], status: 200, to: part())
        #expect(whole == "it is not a single range")
    }

    @Test func `parts that make the whole are the whole`() {
        let whole = stored(Self.strong, status: 206, content: HeldContent(complete: 10))
        #expect(whole.status == 200)
        let head = get()
        #expect(whole.answer(to: head, asked(head)) == .full)
    }

    @Test func `what is missing is asked for by one range`() throws {
        let all = try #require(part().completion(of: nil))
        #expect(all.range == "bytes=5-" && all.ifRange == "\"a\"")
        #expect(part().completion(of: 3..<8)?.range == "bytes=5-7")
        #expect(part(length: nil).completion(of: nil)?.range == "bytes=5-")
        #expect(part().completion(of: 0..<3) == nil)
        #expect(part([("ETag", "W/\"a\"")]).completion(of: nil) == nil)
        let middle = stored(
            Self.strong,
            status: 206,
            content: HeldContent(range: 4..<6, completeLength: 10)
        )
        #expect(middle.completion(of: nil) == nil)
    }

    @Test func `a body that broke off is a part if it can be completed`() {
        let head = reply(Self.strong)
        let held = head.brokenOff(received: 5, contentLength: 10)
        #expect(held == HeldContent(range: 0..<5, completeLength: 10))
        #expect(head.brokenOff(received: 0, contentLength: 10) == nil)
        #expect(head.brokenOff(received: 10, contentLength: 10) == nil)
        #expect(head.brokenOff(received: 5, contentLength: nil)?.isComplete == false)
        #expect(reply([]).brokenOff(received: 5, contentLength: 10) == nil)
        #expect(reply(Self.strong, status: 404).brokenOff(received: 5, contentLength: 10) == nil)
    }
}
