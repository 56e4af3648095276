// Who a user of a user namespace is outside, by the kernel's table.
import LupinCore
import Testing

struct UserMapTests {
    @Test(
        arguments: [
            // The whole machine, `unshare -r`, and a container without root.
            ("         0          0 4294967295\n", 0, 0),
            ("         0          0 4294967295\n", 4_294_967_294, 4_294_967_294),
            ("         0       1000          1\n", 0, 1000),
            ("         0       1000          1\n", 1, nil),
            ("         0       1000          1\n         1     100000      65536\n", 1000, 100999),
            ("         0       1000          1\n         1     100000      65536\n", 65537, nil),
            ("0 4294967295 2\n", 1, nil), ("0 99999999999999999999 1\n", 0, nil),
            ("0 1000\n", 0, nil), ("0 x 1000 1\n", 0, nil), ("", 0, nil),
        ] as [(String, UInt32, UInt32?)]
    )
    func `the number outside`(table: String, user: UInt32, outer: UInt32?) {
        #expect(UserMap(table: Array(table.utf8)).outer(of: user) == outer)
    }

    @Test func `outside of all namespaces no user is left out`() {
        func isWhole(_ table: String) -> Bool { UserMap(table: Array(table.utf8)).isWhole }
        #expect(isWhole("         0          0 4294967295\n"))
        for table in ["", "0 0 1\n", "0 1000 4294967295\n", "0 0 65536\n", "1 1 4294967294\n"] {
            #expect(!isWhole(table), "\(table)")
        }
    }
}
