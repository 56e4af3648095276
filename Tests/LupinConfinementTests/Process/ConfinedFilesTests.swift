// Which folders a confined command can't rename, so that nobody takes the place of hidden files.
import Glibc
import LupinConfinement
import LupinIO
import Testing

struct ConfinedFilesTests {
    @Test func `every folder above a hidden file is one, from the outermost on`() {
        let folders = ConfinedTree.ancestors(of: ["/srv/a/.config/lupin", "/srv/a/ci/lupin.yaml"])
        #expect(folders == ["/srv", "/srv/a", "/srv/a/ci", "/srv/a/.config"])
        #expect(ConfinedTree.ancestors(of: ["/lupin.yaml"]) == [])
    }

    @Test func `a path is followed to its end, and each link is named with its place`() throws {
        let folder = try PrivateFolder(in: "/tmp")
        let root = try #require(PublicFile.target(of: folder.path))
        try WholeFile.makeDirectories("\(root)/real/below")
        for (name, target) in [("way", "real"), ("real/last", "below/../none"), ("a", "a")] {
            #expect(unsafe symlink(target, "\(root)/\(name)") == 0)
        }
        let trail = PathTrail("way/./last", from: root)
        #expect(trail.target == "\(root)/real/none")
        #expect(
            trail.links.map(\.path) == ["\(root)/way", "\(root)/real/last"]
                && trail.links.map(\.isLast) == [false, true]
        )
        #expect(PathTrail("../../x", from: "/srv").target == "/x")
        #expect(PathTrail("\(root)/a", from: "/").links.count == 40)
    }

    @Test func `of a hosts file only the loopback interface's names are left`() {
        let file = """
            # 127.0.0.1 comment
            127.0.0.1\tlocalhost own
              ::1 ip6-localhost
            10.0.0.7 intranet.test
            0.0.0.0 blocked.test
            127.0.1.1 machine
            """
        let expected = "127.0.0.1\tlocalhost own\n  ::1 ip6-localhost\n127.0.1.1 machine\n"
        #expect(Confinement.ownHosts(Array(file.utf8)) == expected)
        #expect(Confinement.ownHosts([]) == "")
        let names = ["localhost", "own", "ip6-localhost", "machine"]
        #expect(Confinement.ownNames(Array(file.utf8)) == names)
        let many = (0..<100).map { "127.0.0.1 a\($0).test b.test # c.test\n" }.joined()
        let first = Confinement.ownNames(Array(many.utf8))
        #expect(first.count == 32 && first.prefix(3) == ["a0.test", "b.test", "a1.test"])
    }

    @Test func `what is made anew is none, and a name that begins alike is`() {
        #expect(ConfinedTree.ancestors(of: ["/dev/shm/x", "/proc/1/x", "/sys/x"]) == [])
        let folders = ConfinedTree.ancestors(of: ["/devel/a/x", "/system/x", "/process/x"])
        #expect(folders == ["/devel", "/system", "/devel/a", "/process"])
    }
}
