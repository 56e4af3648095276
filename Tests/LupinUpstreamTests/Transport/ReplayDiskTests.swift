// How the space on disk for kept bodies is shared.
import LupinUpstream
import Testing

struct ReplayDiskTests {
    @Test func `one user has half, and all have the whole`() {
        let disk = ReplayDisk(bytesMax: 100)
        #expect(disk.reserve(50, for: .number(1)))
        #expect(!disk.reserve(1, for: .number(1)))
        #expect(disk.reserve(30, for: .named("ann")))
        #expect(disk.reserve(20, for: .unknown))
        #expect(!disk.reserve(1, for: .named("bob")))
        #expect(disk.used == 100)
    }

    @Test func `what is unknown is one`() {
        let disk = ReplayDisk(bytesMax: 10)
        #expect(disk.reserve(3, for: .unknown))
        #expect(!disk.reserve(3, for: .unknown))
        #expect(disk.reserve(2, for: .unknown))
    }

    @Test func `what is released may be had again`() {
        let disk = ReplayDisk(bytesMax: 10)
        for _ in 0..<100 {
            #expect(disk.reserve(5, for: .number(7)))
            disk.release(5, of: .number(7))
        }
        #expect(disk.used == 0)
    }

    @Test(arguments: [0, 1])
    func `a limit below two bytes is for nobody`(bytesMax: Int) {
        #expect(!ReplayDisk(bytesMax: bytesMax).reserve(1, for: .unknown))
    }

    @Test func `a lower limit takes nothing back, and gives no more`() {
        let disk = ReplayDisk(bytesMax: 100)
        #expect(disk.reserve(40, for: .number(1)))
        disk.limit(20)
        #expect(!disk.reserve(1, for: .number(2)))
        disk.release(40, of: .number(1))
        #expect(disk.reserve(10, for: .number(2)))
    }

    @Test func `numbers without bounds overflow nothing`() {
        let disk = ReplayDisk(bytesMax: .max)
        #expect(disk.reserve(.max / 2, for: .number(1)))
        #expect(disk.reserve(.max / 2, for: .number(2)))
        #expect(!disk.reserve(.max, for: .number(3)))
    }
}
