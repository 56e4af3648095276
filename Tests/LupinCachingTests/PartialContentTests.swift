// Which parts make a whole, and which must never be put together.

import LupinCaching
import LupinCore
import LupinPolicy
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

    @Test func `held bytes lie one behind the other`() {
        let held = content(2..<4, 6..<10, 20..<21)
        #expect(held.heldBytes == 7)
        #expect(held.heldBytes(before: 0) == 0 && held.heldBytes(before: 3) == 1)
        #expect(held.heldBytes(before: 5) == 2 && held.heldBytes(before: 7) == 3)
        #expect(held.position(of: 6..<10) == 2..<6 && held.position(of: 20..<21) == 6..<7)
        #expect(HeldContent(complete: 9).position(of: 3..<5) == 3..<5)
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
        let behind = ("Content-Range", "bytes 5-11/*")
        #expect(reason([("ETag", "\"a\""), behind], to: part()) == "the lengths differ")
        let coded = [("ETag", "\"a\""), range, ("Content-Encoding", "gzip")]
        #expect(reason(coded, to: part()) == "the content codings differ")
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

    @Test func `what came of a response is combined as far as it came`() {
        let newer = reply([("ETag", "\"a\""), ("Content-Range", "bytes 5-9/10")], status: 206)
        let came = ContentRange(range: 5..<7, completeLength: 10)
        let held = HeldContent(range: 0..<7, completeLength: 10)
        #expect(part().combine(newer, came) == .combine(at: 5, held))
        #expect(part().combine(reply([("ETag", "\"a\"")]), came) == .combine(at: 5, held))
    }

    @Test func `of several gaps the span is asked for`() {
        var held = HeldContent(range: 0..<10, completeLength: 100)
        held.insert(20..<30)
        held.insert(90..<100)
        let response = stored(Self.strong, status: 206, content: held)
        #expect(response.completion(of: nil)?.range == "bytes=10-89")
        #expect(response.completion(of: 5..<95)?.range == "bytes=10-89")
        #expect(response.completion(of: 5..<40)?.range == "bytes=10-39")
        #expect(response.completion(of: 30..<40) == nil && response.completion(of: 10..<20) == nil)
    }

    @Test(
        arguments: [
            ([], "bytes=5-"), ([("Range", "bytes=2-7")], "bytes=5-7"),
            ([("Range", "bytes=2-")], "bytes=5-"), ([("Range", "bytes=-8")], "bytes=5-"),
            ([("Range", "bytes=6-7")], nil), ([("Range", "bytes=2-3,5-7")], nil),
            ([("Range", "bytes=2-7"), ("If-Range", "\"a\"")], "bytes=5-7"),
            ([("Range", "bytes=2-7"), ("If-Range", "\"b\"")], "bytes=5-"),
        ] as [(CacheFields, String?)]
    )
    func `a request is completed as far as it wants`(fields: CacheFields, range: String?) {
        let head = get(fields)
        let completion = part().completion(for: asked(head))
        #expect(completion?.range == range)
        var sent = head
        completion?.apply(to: &sent)
        guard let range else { return }
        #expect(sent.fields.values(of: "Range") == [range])
        #expect(sent.fields.values(of: "If-Range") == ["\"a\""])
    }

    @Test func `HEAD needs no bytes, and no length means no end`() {
        let head = get(method: .head)
        #expect(part().suffices(for: asked(head)))
        #expect(!part(length: nil).suffices(for: asked(head)))
        #expect(part(length: nil).completion(for: asked(head)) == nil)
        let open = get([("Range", "bytes=2-")])
        #expect(part(length: nil).completion(for: asked(open)) == nil)
        let closed = get([("Range", "bytes=2-7")])
        #expect(part(length: nil).completion(for: asked(closed))?.range == "bytes=5-7")
    }

    @Test(
        arguments: [
            ("bytes 5-9/10", 206, 5, true), ("bytes 5-9/*", 206, 5, true),
            ("bytes 5-9/10", 200, 5, false), ("bytes 5-8/10", 206, 4, false),
            ("bytes 4-9/10", 206, 6, false), ("bytes 5-9/10", 206, nil, false),
            ("bytes 5-9/10", 206, 4, false), ("bytes */10", 206, 5, false),
        ] as [(String, UInt16, UInt64?, Bool)]
    )
    func `only what was missing completes it, to the byte`(
        place: String,
        status: UInt16,
        length: UInt64?,
        fits: Bool
    ) throws {
        let completion = try #require(part().completion(of: nil))
        let response = reply([("ETag", "\"a\""), ("Content-Range", place)], status: status)
        #expect((completion.part(of: response, contentLength: length) != nil) == fits)
    }

    @Test func `where nobody knows the end, it has to be told`() throws {
        let completion = try #require(part(length: nil).completion(of: nil))
        func fits(_ place: String) -> Bool {
            let response = reply([("Content-Range", place)], status: 206)
            return completion.part(of: response, contentLength: 5) != nil
        }
        #expect(fits("bytes 5-9/10"))
        #expect(!fits("bytes 5-9/11") && !fits("bytes 5-9/*"))
    }

    @Test func `parts are served as what they are`() {
        var held = HeldContent(range: 2..<4, completeLength: 10)
        held.insert(6..<9)
        let fields = Self.strong + [("Content-Range", "bytes 6-8/10")]
        let response = stored(fields, status: 206, content: held)
        let served = response.served(.ranges([7..<9]), nowUs: us(), boundary: "b")
        #expect(served.ranges == [3..<5])
        #expect(served.head.fields.values(of: "Content-Range") == ["bytes 7-8/10"])
        let whole = response.served(.full, nowUs: us(), boundary: "b").head
        #expect(whole.status == 200)
        #expect(whole.fields.values(of: "Content-Range") == [])
        #expect(whole.fields.values(of: "Content-Length") == ["10"])
    }

    @Test func `a client that has it needs nothing of it`() {
        let fresh = part(Self.strong + [("Cache-Control", "max-age=60")])
        func reuse(_ fields: CacheFields) -> ReuseDecision? {
            let head = get(fields)
            return fresh.reuseUnchanged(for: asked(head), head, policy: .standard, nowUs: us())
        }
        #expect(reuse([("If-None-Match", "\"a\"")]) == .fresh(age: 0, ttl: 60))
        #expect(reuse([("If-None-Match", "\"b\"")]) == nil && reuse([]) == nil)
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
