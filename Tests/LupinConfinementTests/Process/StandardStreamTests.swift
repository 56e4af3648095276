// Which standard streams a confined command gets as they are.
import Glibc
import LupinConfinement
import Testing

struct StandardStreamTests {
    typealias Facts = StandardStream.Facts

    private static let byName: Int32 = 0o10_000_000

    private static let rows: [(number: Int32, Facts, StandardStream.Treatment)] = [
        (0, Facts(mode: S_IFREG, flags: O_RDONLY), .input),
        (1, Facts(mode: S_IFREG, flags: O_RDONLY | O_NONBLOCK), .input),
        (0, Facts(mode: S_IFREG, flags: O_RDWR), .input),
        (2, Facts(mode: S_IFREG, flags: O_RDWR | O_APPEND), .output),
        (0, Facts(mode: S_IFREG, flags: O_WRONLY), .output),
        (1, Facts(mode: S_IFREG | 0o4755, flags: O_WRONLY | O_APPEND), .output),
        (0, Facts(mode: S_IFIFO, flags: O_RDONLY), .kept),
        (1, Facts(mode: S_IFSOCK, flags: O_RDWR, isConnected: true), .kept),
        (1, Facts(mode: S_IFSOCK, flags: O_RDWR), .refused("a socket of a network outside")),
        (1, Facts(mode: S_IFCHR, flags: O_WRONLY, device: (1, 3)), .kept),
        (1, Facts(mode: S_IFCHR, flags: O_WRONLY, device: (1, 7)), .kept),
        (2, Facts(mode: S_IFCHR, flags: O_RDWR, device: (136, 4), isTerminal: true), .kept),
        (0, Facts(mode: S_IFCHR, flags: O_RDONLY, device: (1, 1)), .refused("a device")),
        (0, Facts(mode: S_IFCHR, flags: O_RDONLY, device: (10, 229)), .refused("a device")),
        (1, Facts(mode: S_IFBLK, flags: O_RDONLY, device: (1, 3)), .refused("a block device")),
        (0, Facts(mode: S_IFDIR, flags: O_RDONLY | O_DIRECTORY), .refused("a folder")),
        (
            0, Facts(mode: S_IFREG, flags: O_RDONLY, link: "net:[4026531840]"),
            .refused("net:[4026531840], no file")
        ),
        (0, Facts(mode: S_IFREG, flags: O_RDWR, link: "pidfd:[7]"), .refused("pidfd:[7], no file")),
        (
            0, Facts(mode: 0, flags: O_RDWR, link: "anon_inode:[eventpoll]"),
            .refused("anon_inode:[eventpoll], no file")
        ),
        (0, Facts(mode: S_IFREG, flags: O_RDONLY, link: "/memfd:a (deleted)"), .input),
        (0, Facts(mode: S_IFIFO, flags: O_RDONLY, link: "pipe:[7]"), .kept),
        (
            0, Facts(mode: S_IFCHR, flags: O_RDWR, device: (5, 2), isTerminal: true),
            .refused("the other end of a terminal")
        ),
        (
            2, Facts(mode: 0, flags: O_RDWR),
            .refused("neither a file nor a pipe, a socket or a terminal")
        ),
        (
            0, Facts(mode: S_IFREG, flags: byName),
            .refused("no opened file, but only the name of one")
        ),
        (
            0, Facts(mode: S_IFDIR, flags: byName | O_DIRECTORY),
            .refused("no opened file, but only the name of one")
        ),
    ]

    @Test func `what can be opened for more than it was given for is not given`() {
        for (number, facts, treatment) in Self.rows {
            #expect(StandardStream.treatment(of: number, facts) == treatment, "\(number) \(facts)")
        }
    }
}
