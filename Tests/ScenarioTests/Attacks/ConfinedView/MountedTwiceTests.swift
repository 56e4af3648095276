// That what is kept from a confined command is so by every path, where folders are mounted again.
import Foundation
import LupinConfinement
import LupinCore
import LupinIO
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct MountedTwiceTests {
    /// Runs a script where `$B/road` shows the home, and `$B/keys` its `.ssh`.
    private func run(_ script: String) throws -> Lupin.Result {
        let folder = try Folder()
        let base = try #require(PublicFile.target(of: folder.path))
        for name in [
            "own/.ssh/id", "own/.config/lupin/ca.key", "own/docs", "own/work/file",
            "own/.cache/pip/x", "own/.ssh/deep/file",
        ] {
            let path = "\(base)/\(name)"
            try WholeFile.makeDirectories(CanonicalPath.parent(of: path))
            try WholeFile.write(Array("\(name)\n".utf8), to: path)
        }
        for name in ["road", "keys"] { try WholeFile.makeDirectories("\(base)/\(name)") }
        let rules = "lupin: 1\nintercept: {mode: none}\ntokens: {t: {bearer: \"${file:token}\"}}\n"
        for (name, text) in [("rules.yaml", rules), ("token", "a-planted-secret")] {
            try WholeFile.write(Array(text.utf8), to: "\(base)/own/\(name)")
        }
        let setup = """
            cd "$B"; mount --bind own road; mount --bind own/.ssh keys
            options="--rules $B/own/rules.yaml --log /dev/null --show $B"
            confined() { '\(Lupin.path)' exec --confine $options -- "$@"; }

            """
        let process = Lupin.process(
            "/usr/bin/unshare",
            ["-cm", "--keep-caps", "sh", "-c", setup + script],
            in: base
        )
        process.environment?.merge([
            "HOME": "\(base)/own", "TMPDIR": base, "XDG_CONFIG_HOME": "\(base)/own/.config",
            "B": base,
        ]) { $1 }
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError) = (output, errors)
        try process.run()
        let texts = [output, errors].map {
            String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        process.waitUntilExit()
        return Lupin.Result(code: process.terminationStatus, output: texts[0], errors: texts[1])
    }

    private static let reading = """
        cat $B/road/.ssh/id $B/keys/id $B/road/.config/lupin/ca.key $B/road/token $B/own/.ssh/id \
          $B/own/token $B/road/rules.yaml 2>/dev/null; cat $B/road/docs
        """

    @Test func `what is absent is so by every path`() throws {
        let result = try run(
            "cd own/work; confined sh -c '\(Self.reading); echo x > $B/road/work/new'"
        )
        #expect(result.output == "own/docs\n", "\(result.errors)")
    }

    @Test func `and where the command works in the other path`() throws {
        let result = try run(
            """
            cd road/work; confined sh -c '\(Self.reading); echo new > file; cat file'
            cd ..; confined sh -c 'echo x > new' 2>/dev/null; ls $B/own
            """
        )
        #expect(
            result.output == "own/docs\nnew\ndocs\nrules.yaml\ntoken\nwork\n",
            "\(result.errors)"
        )
    }

    /// As a home server has /home on another disk: a temporary folder is new inside, and holds it.
    @Test func `a home in a mount of a temporary folder is seen by its own path`() throws {
        let result = try run(
            """
            mkdir homes homes/me homes/me/work homes/me/.ssh; echo key > homes/me/.ssh/id
            mount --bind homes /mnt; export HOME=/mnt/me XDG_CONFIG_HOME=/mnt/me/.config
            options="--rules $B/own/rules.yaml --log /dev/null"; cd /mnt/me/work
            confined sh -c 'echo new > file; cat ../.ssh/id' 2>/dev/null; cat file
            """
        )
        #expect(result.output == "new\n", "\(result.errors)")
    }

    @Test func `a file that lupin replaces is found by the other path`() throws {
        let result = try run(
            """
            echo 'rules: [{match: "http://a.test", cookies: {jar: work/jar.txt}}]' >> own/rules.yaml
            cd road/work; confined echo begun; echo $?
            """
        )
        #expect(result.output == "126\n", "\(result.errors)")
        #expect(result.errors.contains("lupin replaces"), "\(result.errors)")
    }

    @Test func `a certificate is read by every path, and changed by none`() throws {
        let result = try run(
            """
            printf '%s\\n' '-----BEGIN CERTIFICATE-----' MAMCAQE= '-----END CERTIFICATE-----' \
                > own/work/ca.pem
            echo 'upstream: {tls: {roots: [work/ca.pem]}}' >> own/rules.yaml
            cd road/work
            usual=$options
            for given in '' "--write $B/own/work"; do
                options="$usual $given"
                confined sh -c 'cat ca.pem $B/own/work/ca.pem | grep -c BEGIN
                    for file in ca.pem $B/own/work/ca.pem; do
                        (echo x > $file) || rm -f $file || mv $file moved || continue
                        echo changed $file
                    done' 2>/dev/null
            done
            wc -l < $B/own/work/ca.pem
            """
        )
        #expect(result.output == "2\n2\n3\n", "\(result.errors)")
    }

    @Test func `a folder of credentials is no working folder, by whatever path`() throws {
        let result = try run(
            """
            mkdir -p own/.config/gh own/.dotfiles
            for folder in own/.ssh own/.ssh/deep keys keys/deep road/.ssh own/.config \
                road/.config own/.dotfiles; do
                (cd $folder; confined echo begun; echo $?)
            done
            """
        )
        let expected = String(repeating: "126\n", count: 7) + "begun\n0\n"
        #expect(result.output == expected, "\(result.errors)")
        #expect(result.errors.contains("where credentials are"), "\(result.errors)")
    }

    @Test func `but if the user names it`() throws {
        let result = try run(
            """
            usual=$options
            cd keys
            options="$usual --show $B/own/.ssh"
            confined sh -c 'cat id; echo new > id' 2>/dev/null; cat id
            options="$usual --write $B/keys"
            confined sh -c 'echo new > id'; cat id
            """
        )
        #expect(
            result.output == "own/.ssh/id\nown/.ssh/id\nnew\n",
            "\(result.errors)"
        )
    }
}
