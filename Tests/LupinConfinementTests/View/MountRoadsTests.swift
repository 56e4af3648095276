// By which paths a place is reached besides its own, by the table of mounts.
import LupinConfinement
import Testing

struct MountRoadsTests {
    typealias Road = MountRoads.Road

    /// `/users` is a file system of its own; `/mnt/all` shows it, `/keys` and `/srv/code` parts.
    private static let table = """
        21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
        22 21 0:5 / /dev rw - devtmpfs udev rw
        30 21 8:2 / /users rw - ext4 /dev/sda2 rw
        31 21 8:2 / /mnt/all rw shared:1 - ext4 /dev/sda2 rw
        32 21 8:2 /u/.ssh /keys ro - ext4 /dev/sda2 rw
        33 21 8:2 /u/code /srv/my\\040code rw - ext4 /dev/sda2 rw
        34 30 8:1 /opt/x /users/u/x rw - ext4 /dev/sda1 rw
        35 30 0:9 / /users/u/.vault rw - tmpfs none rw
        36 21 0:9 /in /vault rw - tmpfs none rw
        37 21 8:1 /etc/hosts /old/hosts rw - ext4 /dev/sda1 rw
        38 21 0:7 / /old rw - tmpfs none rw
        39 21 8:3 /@home /a rw - btrfs /dev/sdb rw
        40 21 8:3 / /b rw - btrfs /dev/sdb rw

        """

    private static let rows: [(path: String, roads: [Road])] = [
        ("/usr", []), ("/dev/null", []), ("/etc/passwd", []),
        ("/vault", [.whole("/users/u/.vault/in")]),
        ("/users/v", [.whole("/mnt/all/v")]),
        ("/mnt/all/v", [.whole("/users/v")]),
        ("/users/u/.ssh", [.whole("/mnt/all/u/.ssh"), .whole("/keys")]),
        ("/users/u/.ssh/id", [.whole("/mnt/all/u/.ssh/id"), .whole("/keys/id")]),
        ("/keys/id", [.whole("/users/u/.ssh/id"), .whole("/mnt/all/u/.ssh/id")]),
        ("/srv/my code/a", [.whole("/users/u/code/a"), .whole("/mnt/all/u/code/a")]),
        (
            "/users/u",
            [
                .whole("/mnt/all/u"), .part("/keys", inside: ".ssh"),
                .part("/srv/my code", inside: "code"), .part("/opt/x", inside: "x"),
                .part("/vault", inside: ".vault/in"),
            ]
        ),
        ("/opt/x/y", [.whole("/users/u/x/y")]), ("/users/u/x", [.whole("/opt/x")]),
        ("/opt", [.part("/users/u/x", inside: "x")]),
        // What is mounted over is no road.
        ("/etc/hosts", []),
        ("/a/u", [.whole("/b/@home/u")]), ("/b", [.part("/a", inside: "@home")]),
    ]

    @Test(arguments: rows.indices) func `every other road is found`(row: Int) {
        let (path, roads) = Self.rows[row]
        #expect(MountRoads(table: Self.table).others(of: path) == roads, "\(path)")
    }

    @Test(arguments: ["", "\n", "1 2", "x y z a b", "1 1 8:1 / /\\04 rw", "1 1 8:1 \\777 /\\ rw"])
    func `a table that can't be read has no roads`(table: String) {
        #expect(MountRoads(table: table).others(of: "/a").isEmpty)
    }
}
