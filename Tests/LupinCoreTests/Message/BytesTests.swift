// Copies of bytes, of every length at which the way of copying changes.
import LupinCore
import Testing

struct BytesTests {
    @Test(arguments: 0..<10)
    func `a copy has the bytes that were asked for, behind what was there`(start: Int) {
        let all = (0..<200).map { UInt8($0) }
        let former = Array("former".utf8)
        for count in 0...(all.count - start) {
            var bytes = former
            bytes.append(copying: all.span.extracting(start..<(start + count)))
            let expected: [UInt8] = former + all[start..<(start + count)]
            #expect(bytes == expected)
        }
    }
}
