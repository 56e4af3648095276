// Confined commands of a lupin that an ordinary user runs in a user namespace, as its root.
import Foundation
import LupinIO
import LupinTestKit
import Testing

/// An ordinary user, who is root in a user namespace.
private enum OuterUser {
    /// For root of the machine: without an account and a home, as in a container without root.
    static let number: UInt32 = 54321
    static let isAnother = ProcessOwner.userNumber == 0

    private static let unshare = ["/usr/bin/unshare", "-rm"]

    /// What makes programs run as that user.
    private static var words: [String] {
        let identity = ["--reuid=\(number)", "--regid=\(number)", "--clear-groups"]
        let other = isAnother ? ["/usr/bin/setpriv"] + identity : []
        return other + unshare
    }

    static let isPossible =
        ConfinedFixture.isPossible && (try? run(["version"], in: nil))?.code == 0

    /// Runs lupin in a namespace, or with `isNested` in one in that.
    static func run(
        _ arguments: [String],
        in folder: String?,
        isNested: Bool = false
    ) throws -> Lupin.Result {
        let all = words + (isNested ? unshare : []) + [Lupin.path] + arguments
        return try Lupin.run(program: all[0], Array(all.dropFirst()), in: folder)
    }
}

@Suite(
    .waitsForPrograms,
    .enabled(if: OuterUser.isPossible, "this machine gives users no namespaces")
)
struct OuterUserTests {
    /// A working folder of the user's, with rules beside it.
    private struct Fixture {
        private let base: Folder
        let work: String
        private let rules: String

        init() throws {
            base = try Folder()
            let path = try #require(PublicFile.target(of: base.path))
            work = "\(path)/work"
            rules = "\(path)/own.yaml"
            try WholeFile.makeDirectories(work)
            try WholeFile.write(Array("lupin: 1\nintercept: {mode: none}\n".utf8), to: rules)
            guard OuterUser.isAnother else { return }
            let owner = NSNumber(value: OuterUser.number)
            for fixture in [path, work, rules] {
                try FileManager.default.setAttributes(
                    [.ownerAccountID: owner, .groupOwnerAccountID: owner],
                    ofItemAtPath: fixture
                )
            }
        }

        func confined(_ words: String..., isNested: Bool = false) throws -> Lupin.Result {
            let options = ["exec", "--confine", "--rules", rules, "--log", "/dev/null", "--"]
            return try OuterUser.run(options + words, in: work, isNested: isNested)
        }
    }

    /// The home of the machine's root can't be looked into then.
    @Test func `a command runs, and writes into its working folder`() throws {
        let fixture = try Fixture()
        let result = try fixture.confined("sh", "-c", "id -u; echo written > file")
        #expect(result.code == 0 && result.output == "0\n", "\(result.errors)")
        #expect(WholeFile.content(of: "\(fixture.work)/file") == Array("written\n".utf8))
    }

    /// The kernel tells nobody who root of the outer one is.
    @Test func `in a namespace in a namespace the command is not run, and why is told`() throws {
        let result = try Fixture().confined("echo", "run", isNested: true)
        #expect(result.code == 126 && result.output == "")
        let lines = result.errors.split(separator: "\n").filter { $0.hasPrefix("lupin: error: ") }
        #expect(lines.count == 1, "\(result.errors)")
        #expect(lines.first?.contains("in a user namespace that lies in another one") == true)
    }

    @Test(.enabled(if: !OuterUser.isAnother, "the user of the namespace has no lupins"))
    func `a lupin of the user outside is found, and its files are kept from the command`() throws {
        let fixture = try Fixture()
        let other = try Folder()
        try WholeFile.write(Array("planted\n".utf8), to: "\(fixture.work)/token")
        let rules = try other.write(
            "rules.yaml",
            """
            lupin: 1
            listen: [{address: "127.0.0.1:0"}]
            tokens: {t: {bearer: "${file:\(fixture.work)/token}"}}

            """
        )
        let running = try RunningLupin("serve", "--rules", rules)
        let result = try fixture.confined("cat", "token")
        #expect(result.code == 126 && result.output == "")
        #expect(result.errors.contains("\(fixture.work)/token"), "\(result.errors)")
        withExtendedLifetime(running) {}
    }
}
