// Another user of the machine sits where lupin would be: at its port, or at its socket.
import Foundation
import LupinTestKit
import Testing

/// A user who is not the one who runs the tests.
enum OtherUser {
    /// `nobody`.
    static let number: UInt32 = 65534

    /// Whether a lupin can be run as that user: only root may, and the user must reach it.
    static let isThere: Bool = {
        guard geteuid() == 0 else { return false }
        var path = Lupin.path
        while path != "/" {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
            if mode & 0o001 == 0 { return false }
            path = (path as NSString).deletingLastPathComponent
        }
        return true
    }()
}

@Suite(
    .waitsForPrograms,
    .enabled(if: OtherUser.isThere, "only root can run a lupin of another user")
)
struct ImpostorTests {
    /// A lupin of the other user, and where this user's commands expect their own.
    private struct Story {
        let folder: Folder
        let impostor: RunningLupin
        let rules: String

        init() throws {
            folder = try Folder()
            impostor = try RunningLupin(
                ["--listen", "127.0.0.1:0"],
                environment: [:],
                user: OtherUser.number
            )
            rules = try folder.write(
                "lupin.yaml",
                "lupin: 1\nlisten: [{address: 127.0.0.1:\(impostor.port)}]\nlog: off\n"
            )
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/config/lupin",
                withIntermediateDirectories: true
            )
            _ = try folder.write(
                "config/lupin/lupin.yaml",
                "lupin: 1\nlisten: [{address: 127.0.0.1:\(impostor.port)}]\nlog: off\n"
            )
        }

        /// `socket` says whether the impostor's socket is at this user's place, too.
        func run(_ arguments: [String], socket: Bool) throws -> Lupin.Result {
            try Lupin.run(
                arguments,
                environment: [
                    "PATH": "/usr/bin:/bin", "HOME": folder.path, "SHELL": "/bin/sh",
                    "XDG_CONFIG_HOME": "\(folder.path)/config",
                    "XDG_STATE_HOME": "\(folder.path)/state",
                    "XDG_RUNTIME_DIR": socket ? impostor.runtime.path : "\(folder.path)/none",
                ]
            )
        }

        func expectLeftAlone(_ result: Lupin.Result) {
            #expect(result.errors.contains("is served by user "), "\(result)")
            #expect(result.errors.contains("left alone"), "\(result)")
            #expect(!result.output.contains(":\(impostor.port)"), "\(result)")
        }
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["reload"], ["log"], ["explain", "last"],
        ["cache", "stats"], ["cache", "list"], ["cache", "purge", "a.test/**"], ["cache", "clear"],
        ["curl", "last"], ["har", "export"], ["rules"], ["inspect", "--print"],
        ["explain", "http://a.test/"],
    ])
    func `no command asks another user's socket`(command: [String]) throws {
        let story = try Story()
        let result = try story.run(command, socket: true)
        story.expectLeftAlone(result)
    }

    @Test(arguments: [false, true])
    func `exec starts a proxy of its own rather than use it`(socket: Bool) throws {
        let story = try Story()
        let words = ["exec", "--", "sh", "-c", "echo proxy is $http_proxy"]
        let result = try story.run(words, socket: socket)
        #expect(result.code == 0)
        #expect(result.output.hasPrefix("proxy is http://127.0.0.1:"))
        story.expectLeftAlone(result)
    }

    @Test(arguments: [false, true], [[], ["--ca"], ["--shell", "fish"]])
    func `env prints no line that leads to it`(socket: Bool, options: [String]) throws {
        let story = try Story()
        let result = try story.run(["env"] + options, socket: socket)
        #expect(result.code != 0)
        #expect(!result.output.contains("proxy"))
        story.expectLeftAlone(result)
        #expect(result.errors.hasPrefix("lupin: warning: "), "\(result)")
        #expect(!result.errors.contains("Usage"), "\(result)")
    }

    @Test func `a path that a link leads to is no other's either`() throws {
        let story = try Story()
        let link = "\(story.folder.path)/link.sock"
        try FileManager.default.createSymbolicLink(
            atPath: link,
            withDestinationPath: "\(story.impostor.runtime.path)/lupin.sock"
        )
        story.expectLeftAlone(try story.run(["status", "--socket", link], socket: false))
    }

    @Test func `a proxy that is named is used, with a word of warning`() throws {
        let story = try Story()
        let url = "http://127.0.0.1:\(story.impostor.port)"
        let words = ["exec", "--proxy", url, "--", "sh", "-c", "echo $http_proxy"]
        let result = try story.run(words, socket: false)
        #expect(result.output == "\(url)\n")
        #expect(result.errors.contains("is served by user "))
        #expect(!result.errors.contains("left alone"))
    }
}
