// The table of open streams beside a dictionary, whatever numbers come and go.
import LupinUpstream
import Testing

struct StreamTableTests {
    private final class Value {
        let id: Int32
        init(_ id: Int32) { self.id = id }
    }

    /// A few numbers in a row, and numbers that all belong in one place.
    @Test(arguments: [2, 16, 1 << 20] as [Int32])
    func `it has what was put in and not taken out`(step: Int32) {
        var table = StreamTable<Value>()
        var known: [Int32: Value] = [:]
        var generator = SystemRandomNumberGenerator()
        for i in 0..<600 {
            let id = 1 + Int32(i) * step
            let value = Value(id)
            table.insert(value, at: id)
            known[id] = value
            while known.count > Int.random(in: 0...40, using: &generator) {
                guard let gone = known.keys.randomElement(using: &generator) else { break }
                #expect(table.remove(gone) === known.removeValue(forKey: gone))
            }
            #expect(table.count == known.count)
            #expect(known.allSatisfy { table.find($0.key) === $0.value })
            #expect(table.find(id + 2 * step) == nil)
            #expect(table.remove(id + 2 * step) == nil)
        }
        #expect(Set(table.all.map(\.id)) == Set(known.keys))
    }
}
