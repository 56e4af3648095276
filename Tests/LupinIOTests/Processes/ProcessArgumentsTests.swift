// That the arguments are known without /proc.

import LupinIO
import Testing

struct ProcessArgumentsTests {
    @Test func `the arguments are those that Swift reads from /proc`() {
        #expect(ProcessArguments.all == CommandLine.arguments)
    }
}
