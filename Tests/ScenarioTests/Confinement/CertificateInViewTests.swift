// That a confined command reads the certificates that rules name, and changes them by no name.
import Foundation
import LupinIO
import LupinTestKit
import Testing

@Suite(
    .waitsForPrograms,
    .enabled(if: ConfinedFixture.isPossible, "this machine gives users no namespaces")
)
struct CertificateInViewTests {
    /// A working folder with certificates, one of them beside a key, and rules that name all.
    private struct Place {
        let base: Folder
        let path: String
        var work: String { "\(path)/work" }

        init() throws {
            base = try Folder()
            path = try #require(PublicFile.target(of: base.path))
            let pem = try TestAuthority().pem
            try WholeFile.makeDirectories("\(work)/certs")
            for name in ["work/certs/ca.pem", "elsewhere.pem", "own.pem"] {
                try WholeFile.write(pem, to: "\(path)/\(name)")
            }
            let key = "-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----\n"
            try WholeFile.write(pem + Array("# \(key)".utf8), to: "\(work)/both.pem")
            try FileManager.default.createSymbolicLink(
                atPath: "\(work)/link.pem",
                withDestinationPath: "../elsewhere.pem"
            )
            let roots =
                ["certs/ca.pem", "link.pem", "both.pem"].map { "\(work)/\($0)" }
                + ["\(path)/own.pem"]
            let text = """
                lupin: 1
                intercept: {ca: {cert: \(path)/local.pem, key: \(path)/local.key}}
                upstream: {tls: {roots: [\(roots.joined(separator: ", "))]}}

                """
            try WholeFile.write(Array(text.utf8), to: "\(path)/rules.yaml")
        }

        func confined(_ script: String, _ options: [String] = []) throws -> Lupin.Result {
            let rules = ["--rules", "\(path)/rules.yaml", "--log", "/dev/null"]
            return try Lupin.run(
                ["exec", "--confine"] + rules + options + ["--", "sh", "-c", script],
                in: work
            )
        }
    }

    @Test func `they are read where they lie, by links, too, and a key among them is not`() throws {
        let place = try Place()
        let result = try place.confined(
            """
            for file in certs/ca.pem link.pem both.pem
            do grep -c BEGIN $file; done
            """
        )
        #expect(result.output == "1\n1\n0\n", "\(result.errors)")
    }

    @Test func `nothing else takes their place`() throws {
        let place = try Place()
        let before = WholeFile.content(of: "\(place.work)/certs/ca.pem")
        let result = try place.confined(
            """
            echo planted > other
            for file in certs/ca.pem link.pem
            do
                (echo planted >> $file) 2>/dev/null && echo appended
                cp other $file 2>/dev/null && echo copied
                mv other $file 2>/dev/null && echo replaced
                rm -f $file 2>/dev/null && echo removed
                mv $file moved 2>/dev/null && echo moved
            done
            mv certs moved 2>/dev/null && echo moved the folder
            echo done
            """
        )
        #expect(result.output == "done\n", "\(result.errors)")
        #expect(WholeFile.content(of: "\(place.work)/certs/ca.pem") == before)
        #expect(PublicFile.target(of: "\(place.work)/link.pem") == "\(place.path)/elsewhere.pem")
    }

    @Test func `--show gives one, and --write does not`() throws {
        let place = try Place()
        let file = "\(place.work)/certs/ca.pem"
        #expect(try place.confined("grep -c BEGIN certs/ca.pem", ["--show", file]).output == "1\n")
        let refused = try place.confined("echo run", ["--write", file])
        #expect(refused.code == 126 && refused.output == "")
        #expect(refused.errors.contains("can't change: --show gives it"), "\(refused.errors)")
        for option in ["--show", "--write"] {
            let key = try place.confined("echo run", [option, "\(place.work)/both.pem"])
            #expect(key.code == 126 && key.errors.contains("lupin's own"), "\(key.errors)")
        }
    }
}
