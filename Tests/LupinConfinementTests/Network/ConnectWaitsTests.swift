// How often calls that wait are tried.
import LupinConfinement
import Testing

struct ConnectWaitsTests {
    @Test func `the pause grows while nothing happens, up to a bound`() {
        var pause = ConnectPause()
        var pauses: [Int32] = []
        for _ in 0..<8 {
            pauses.append(pause.milliseconds)
            pause.grow(after: 10, isNews: false)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 50, 50])
        pause.grow(after: 10, isNews: true)
        #expect(pause.milliseconds == 1)
    }

    @Test(arguments: [(5000, true, 50), (5000, false, 50), (90_000, true, 900), (.max, true, .max)])
    func `attempts take a tenth of the time at most`(took: UInt64, isNews: Bool, pause: Int32) {
        var found = ConnectPause()
        found.grow(after: took, isNews: isNews)
        #expect(found.milliseconds == pause)
        // Long ones are forgotten.
        found.grow(after: 0, isNews: false)
        #expect(found.milliseconds <= 50)
    }
}
