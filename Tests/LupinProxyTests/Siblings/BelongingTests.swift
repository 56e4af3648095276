// What of a lupin's files is kept from confined commands: by the role of each path in its rules.
import Foundation
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import Testing

struct BelongingTests {
    /// What belongs to a lupin whose rules name one path, without what every lupin has.
    private func belongings(_ role: PathRole) -> [Belonging] {
        var configuration = Configuration.defaults
        let usual = Set(configuration.belongings(["HOME": "/users/ann"]))
        configuration.paths = [NamedPath(role, "/srv/it")]
        return configuration.belongings(["HOME": "/users/ann"]).filter { !usual.contains($0) }
    }

    @Test(arguments: PathRole.allCases)
    func `what a role does not show to everybody is kept, unless it is a program or served`(
        role: PathRole
    ) {
        let found = belongings(role)
        switch role {
        // Those in force are settings.
        case .program, .log, .folder, .socket: #expect(found.isEmpty)
        case .answers: #expect(found == [Belonging(.served, "/srv/it")])
        default:
            #expect(found.first?.path == "/srv/it")
            #expect(found.first?.kind.mayBeShown == role.isPublic)
        }
    }

    @Test func `a file in a folder that is held is told by its name`() throws {
        let held = try HeldFolder("/usr")
        #expect(Belonging(.kept, held.path).path == "/usr")
        #expect(Belonging(.kept, "\(held.path)/own.jsonl").path == "/usr/own.jsonl")
        #expect(Belonging(.kept, "\(held.path)/a/b").path == "/usr/a/b")
    }

    @Test func `what a lupin of another mount namespace names and is not here is not hidden`()
        throws
    {
        let folder = NSTemporaryDirectory() + "lupin-belongings-\(UUID().uuidString)"
        try WholeFile.makeDirectories(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let here = [Belonging(.kept, folder), Belonging(.replaced, "\(folder)/jar.txt")]
        let all = here + [Belonging(.watched, "\(folder)/none/rules.yaml")]
        let own = try #require(Belonging.ownMounts)
        #expect(Belonging.all(in: Belonging.text(of: all), for: own) == all)
        // Nobody knows that they differ.
        #expect(Belonging.all(in: Belonging.text(of: all, in: nil), for: own) == all)
        #expect(Belonging.all(in: Belonging.text(of: all), for: nil) == all)
        #expect(Belonging.all(in: Belonging.text(of: all, in: "mnt:[1]"), for: own) == here)
        for cut in ["kept:/a\0mnt:[1", "kept:/a\0mnt", "kept:/a\0", "mnt:[1]\0kept:/a\0", ""] {
            #expect(Belonging.all(in: cut, for: own) == nil, "\(cut)")
        }
    }

    @Test func `where lupin replaces a file, its lock is kept, too`() {
        for role in [PathRole.cookies, .token] {
            #expect(
                belongings(role) == [
                    Belonging(.replaced, "/srv/it"), Belonging(.kept, "/srv/it.lock"),
                ]
            )
        }
    }
}
