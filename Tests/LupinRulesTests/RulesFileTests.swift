// Finding, reading and versioning the file; large files.

import LupinPolicy
import LupinRules
import LupinTestKit
import Testing

struct RulesFileTests {
    @Test(
        arguments: [
            (
                nil, [:], ["/users/ann/.config/lupin/lupin.yaml"],
                "/users/ann/.config/lupin/lupin.yaml"
            ),
            (nil, [:], ["/etc/lupin/lupin.yaml"], "/etc/lupin/lupin.yaml"),
            (nil, [:], ["lupin.yaml", "./lupin.yaml", "lupin/lupin.yaml"], nil),
            (nil, ["XDG_CONFIG_HOME": "/x"], ["/x/lupin/lupin.yaml"], "/x/lupin/lupin.yaml"),
            (nil, ["XDG_CONFIG_HOME": "/x"], ["/users/ann/.config/lupin/lupin.yaml"], nil),
            (
                nil, ["XDG_CONFIG_HOME": "."], ["./lupin/lupin.yaml", "/etc/lupin/lupin.yaml"],
                "/etc/lupin/lupin.yaml"
            ),
            (nil, ["LUPIN_RULES": "/l.yaml"], [], "/l.yaml"),
            (nil, ["LUPIN_RULES": ""], [], nil),
            ("r.yaml", ["LUPIN_RULES": "/l.yaml"], ["/etc/lupin/lupin.yaml"], "r.yaml"),
        ] as [(String?, [String: String], Set<String>, String?)]
    )
    func `the file is looked for in order, and never in the working directory`(
        explicit: String?,
        environment: [String: String],
        existing: Set<String>,
        found: String?
    ) {
        let path = RulesFile.locate(
            explicit: explicit,
            environment: environment,
            home: "/users/ann",
            exists: existing.contains
        )
        #expect(path == found)
    }

    @Test func `the system's file counts as missing where only its lupin may read it`() {
        func found(_ existing: Set<String>, _ readable: Set<String>) -> String? {
            RulesFile.locate(
                explicit: nil,
                environment: [:],
                home: "/users/ann",
                exists: existing.contains,
                isReadable: readable.contains
            )
        }
        let (own, system) = ("/users/ann/.config/lupin/lupin.yaml", "/etc/lupin/lupin.yaml")
        #expect(found([system], []) == nil)
        #expect(found([system], [system]) == system)
        // A file of the user's own that can't be read is a mistake.
        #expect(found([own, system], [system]) == own)
    }

    /// A reload names the file by its whole path, and must find the same settings.
    @Test func `files beside a file named relatively have whole paths`() throws {
        let text = "lupin: 1\ncapture: {path: ./kept}\ncache: {store: {path: store}}\n"
        for path in ["a.yaml", "below/a.yaml"] {
            let result = RulesFile.load(path: path, text: Array(text.utf8), environment: [:])
            let settings = try #require(result.configuration).settings
            #expect(settings.capture.path?.hasPrefix("/") == true)
            #expect(settings.cacheStore.path?.hasPrefix("/") == true)
        }
    }

    @Test func `a file that is not there is an error about the file`() {
        let result = RulesFile.load(path: "/nowhere/a.yaml", environment: [:])
        #expect(result.configuration == nil)
        #expect(
            result.errors.report()
                == "/nowhere/a.yaml: cannot read the rules file: there is no such file  [E-FILE]"
        )
        let directory = RulesFile.load(path: "/", environment: [:])
        #expect(
            directory.errors.report()
                == "/: cannot read the rules file: it is a directory  [E-FILE]"
        )
    }

    @Test func `the version is eight digits of the content's hash`() throws {
        // Test vectors of FNV-1a: cbf29ce484222325, af63dc4c8601ec8c, 85944171f73967e8.
        #expect(RulesFile.version(of: "") == "cbf29ce4")
        #expect(RulesFile.version(of: "a") == "af63dc4c")
        #expect(RulesFile.version(of: "foobar") == "85944171")
        #expect(try configuration("").version == RulesFile.version(of: "lupin: 1\n"))
    }

    @Test func `a mount table tells where containers put secrets`() {
        let table = """
            22 28 0:21 / /proc rw,nosuid shared:5 - proc proc rw
            40 28 0:35 / /run/secrets rw,nosuid shared:9 - tmpfs tmpfs rw,size=64k
            41 28 8:1 / /mnt ro,relatime - ext4 /dev/sda1 rw
            42 28 259:3 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p3 rw
            """
        #expect(MountTable.isSecretMount(device: 35, in: table))
        #expect(MountTable.isSecretMount(device: 8 << 8 | 1, in: table))
        #expect(!MountTable.isSecretMount(device: 21, in: table))
        #expect(!MountTable.isSecretMount(device: 259 << 8 | 3, in: table))
        #expect(!MountTable.isSecretMount(device: 21, in: "nonsense - \n\n- -"))
    }

    @Test func `ten thousand rules are read in reasonable time`() throws {
        var body = "rules:\n"
        for number in 0..<10_000 {
            body += "  - {name: r\(number), match: {host: h\(number).example}, log: off}\n"
        }
        let time = try processorTime {
            let rules = try configuration(body).rules.rules
            #expect(rules.count == 10_000)
        }
        // Without optimisation; a release build takes a tenth.
        #expect(time < .seconds(20))
    }
}
