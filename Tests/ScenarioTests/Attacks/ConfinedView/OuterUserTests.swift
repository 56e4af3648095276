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

    static let unshare = ["/usr/bin/unshare", "-rm"]

    /// What makes programs run as that user.
    private static var identity: [String] {
        let identity = ["--reuid=\(number)", "--regid=\(number)", "--clear-groups"]
        return isAnother ? ["/usr/bin/setpriv"] + identity : []
    }

    static let isPossible =
        ConfinedFixture.isPossible && (try? run(["version"], in: nil, by: unshare))?.code == 0

    /// Runs lupin by the words of other programs, as what makes namespaces.
    static func run(
        _ arguments: [String],
        in folder: String?,
        by words: [String]
    ) throws -> Lupin.Result {
        let all = identity + words + [Lupin.path] + arguments
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
            for fixture in [path, work, rules] { try Self.give(fixture) }
        }

        /// Makes a file the user's.
        private static func give(_ path: String) throws {
            guard OuterUser.isAnother else { return }
            let owner = NSNumber(value: OuterUser.number)
            try FileManager.default.setAttributes(
                [.ownerAccountID: owner, .groupOwnerAccountID: owner],
                ofItemAtPath: path
            )
        }

        func confined(
            _ words: String...,
            by programs: [String] = OuterUser.unshare
        ) throws -> Lupin.Result {
            let options = ["exec", "--confine", "--rules", rules, "--log", "/dev/null", "--"]
            return try OuterUser.run(options + words, in: work, by: programs)
        }

        /// Another lupin of the user, whose cookies will be in the working folder.
        func other(by programs: [String]) throws -> RunningLupin {
            let file = try base.write(
                "other.yaml",
                """
                lupin: 1
                listen: [{address: "127.0.0.1:0"}]
                intercept: {mode: none}
                rules: [{match: "http://a.test", cookies: {jar: \(work)/jar.txt}}]

                """
            )
            try Self.give(file)
            return try RunningLupin(
                ["serve", "--rules", file],
                environment: [:],
                user: OuterUser.isAnother ? OuterUser.number : nil,
                by: programs
            )
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
        let result = try Fixture().confined(
            "echo",
            "run",
            by: OuterUser.unshare + OuterUser.unshare
        )
        #expect(result.code == 126 && result.output == "")
        let lines = result.errors.split(separator: "\n").filter { $0.hasPrefix("lupin: error: ") }
        #expect(lines.count == 1, "\(result.errors)")
        #expect(lines.first?.contains("in a user namespace that lies in another one") == true)
    }

    /// Whose it is the kernel tells, not the number in its name.
    @Test(
        arguments: [[], ["/usr/bin/unshare", "-r"], OuterUser.unshare],
        [[], OuterUser.unshare]
    )
    func `a lupin in a namespace, or without a folder for its socket, is found by its name`(
        programs: [String],
        own: [String]
    ) throws {
        let fixture = try Fixture()
        let running = try fixture.other(by: programs)
        let result = try fixture.confined("echo", "run", by: own)
        #expect(result.code == 126 && result.output == "")
        #expect(result.errors.contains("\(fixture.work)/jar.txt"), "\(result.errors)")
        withExtendedLifetime(running) {}
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
