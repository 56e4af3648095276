// Whether a group is one user's alone, by the files of users and groups.
import LupinCore
import Testing

struct PrivateGroupTests {
    private static let users = """
        root:x:0:0::/root:/bin/sh
        ann:x:1000:1000::/users/ann:/bin/sh
        bob:x:1001:1001::/users/bob:/bin/sh
        eve:x:1002:1003::/users/eve:/bin/sh
        """
    private static let groups = """
        root:x:0:
        ann:x:1000:
        bob:x:1001:ann,bob
        staff:x:1003:
        own:x:1004:ann,root
        gone:x:1005:nobody-knows
        """

    @Test(
        arguments: [
            (1000, true), (0, true), (1001, false), (1003, false), (1004, true), (1005, false),
            (4711, false),
        ]
    )
    func `it has no members but the user and root`(_ group: UInt32, _ isPrivate: Bool) {
        let found = PrivateGroup.isPrivate(
            group,
            of: 1000,
            groups: Self.groups,
            users: Self.users
        )
        #expect(found == isPrivate)
    }
}
