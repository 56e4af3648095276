// That an htpasswd file is read as Apache httpd reads it, and that weak hashes are told by line.

import LupinCore
import LupinPolicy
import Testing

struct PasswordFileTests {
    // Shapes only: what they hash is of no matter here.
    private static let bcrypt = "$2y$10$" + String(repeating: "a", count: 53)
    private static let sha256 = "$5$salt$" + String(repeating: "b", count: 43)
    private static let sha512 = "$6$rounds=10000$salt$" + String(repeating: "c", count: 86)
    private static let yescrypt = "$y$j9T$salt$" + String(repeating: "d", count: 43)

    private func file(_ text: String) throws -> PasswordFile {
        try PasswordFile(Array(text.utf8))
    }

    /// What is wrong with `text`.
    private func problems(_ text: String) -> [String] {
        do throws(PasswordFile.Unusable) {
            _ = try PasswordFile(Array(text.utf8))
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(arguments: [bcrypt, sha256, sha512, yescrypt])
    func `a strong hash is taken as it is`(hash: String) throws {
        let file = try file("alice:\(hash)\n")
        #expect(file.user("alice")?.hash == hash)
        #expect(file.user("alic") == nil)
        #expect(file.user("Alice") == nil)
        #expect(file.warnings == [])
    }

    @Test func `comments, empty lines and blanks around a line say nothing`() throws {
        let file = try file(
            "\u{FEFF}# users\r\n\n  \t\n  alice:\(Self.bcrypt) \t\r\n"
                + "   # bob:x\ncarol:\(Self.sha256)"
        )
        #expect(file.user("alice")?.hash == Self.bcrypt)
        #expect(file.user("carol")?.hash == Self.sha256)
        #expect(file.user("bob") == nil)
    }

    @Test func `what stands behind a second colon is ignored`() throws {
        let file = try file("alice:\(Self.bcrypt):Alice Smith:1000\n")
        #expect(file.user("alice")?.hash == Self.bcrypt)
    }

    @Test func `of two lines with one name the first counts and the second is told`() throws {
        let file = try file("alice:\(Self.bcrypt)\nbob:\(Self.bcrypt)\nalice:plain\n")
        #expect(file.user("alice")?.hash == Self.bcrypt)
        #expect(
            file.warnings.map(\.description) == [
                "line 3: alice stands on line 1 already, which counts"
            ]
        )
    }

    @Test func `a name is found in either form of Unicode and keeps the file's`() throws {
        let file = try file("zo\u{EB}:\(Self.bcrypt)\n")
        let found = try #require(file.user("zoe\u{308}"))
        #expect(Array(found.name.utf8) == Array("zo\u{EB}".utf8))
    }

    @Test(arguments: [
        ("$apr1$salt$abcdefghijklmnopqrstuv", "MD5 is too weak"),
        ("$1$salt$abcdefghijklmnopqrstuv", "MD5 is too weak"),
        ("{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "SHA-1 is too weak"),
        ("rqXexS6ZhobKA", "crypt (DES) is too weak"),
        ("open sesame", "this is no hash, but perhaps the password itself"),
        ("", "there is no hash"),
        ("$2x$10$" + String(repeating: "a", count: 53), "this kind of bcrypt hash has a"),
        ("$argon2id$v=19$m=4096$abc$def", "lupin does not know this kind of hash"),
        ("$2y$10$short", "the bcrypt hash is not complete"),
        ("$2y$1$" + String(repeating: "a", count: 53), "the bcrypt hash is not complete"),
        ("$2y$32$" + String(repeating: "a", count: 53), "the bcrypt hash is not complete"),
        ("$2y$10$" + String(repeating: "?", count: 53), "the bcrypt hash is not complete"),
        ("$5$salt$short", "the SHA-crypt hash is not complete"),
        ("$6$rounds=x$salt$" + String(repeating: "c", count: 86), "the SHA-crypt hash is not"),
        ("$y$j9T$salt$short", "the yescrypt hash is not complete"),
    ])
    func `a hash that will not do is told with what to write instead`(
        sample: (hash: String, problem: String)
    ) {
        let found = problems("bob:\(Self.bcrypt)\nalice:\(sample.hash)\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("line 2: alice: \(sample.problem)") == true)
        let cure = "; write one of bcrypt instead: htpasswd -B FILE NAME"
        #expect(found.first?.hasSuffix(cure) == true)
        let isSaid = sample.hash.utf8.count > 3 && found.first?.contains(sample.hash) == true
        #expect(!isSaid, "the problem repeats the hash")
    }

    @Test(arguments: [
        ("$2y$17$" + String(repeating: "a", count: 53), "a bcrypt cost of 17 takes too long"),
        ("$5$rounds=9000000$s$" + String(repeating: "b", count: 43), "9000000 rounds take"),
        ("!", "the password is locked; leave the line out"),
        ("*", "the password is locked; leave the line out"),
    ])
    func `a hash that can't be worked on is told`(sample: (hash: String, problem: String)) {
        let found = problems("alice:\(sample.hash)\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("line 1: alice: \(sample.problem)") == true)
    }

    @Test(arguments: [
        ("alice", "line 1: no colon between name and hash"),
        (":$2y$", "line 1: the name is missing"),
        ("a\u{1}:x", "line 1: the name has control characters"),
        (String(repeating: "n", count: 256) + ":x", "line 1: the name is longer than 255 bytes"),
        ("", "the file names no user"), ("# nobody\n", "the file names no user"),
    ])
    func `a line that is none is told`(sample: (text: String, problem: String)) {
        #expect(problems(sample.text) == [sample.problem])
    }

    @Test func `bytes that are not UTF-8 are told by line`() {
        let text = Array("alice:\(Self.bcrypt)\n".utf8) + [0xFF, 0x3A, 0x78]
        #expect(throws: PasswordFile.Unusable.self) { try PasswordFile(text) }
    }

    @Test func `all problems are told at once, up to a limit`() {
        #expect(problems("a:x\nb:y\nc:\(Self.bcrypt)\n").count == 2)
        let many = (0..<100).map { "u\($0):plain" }.joined(separator: "\n")
        #expect(problems(many).count == PasswordFile.problemsMax)
    }

    @Test func `a file that is too long is not read`() {
        let text = [UInt8](repeating: 0x23, count: PasswordFile.bytesMax + 1)
        #expect(throws: PasswordFile.Unusable.self) { try PasswordFile(text) }
    }

    @Test func `a stand-in is one of the hashes, and for one number always the same`() throws {
        let file = try file("a:\(Self.bcrypt)\nb:\(Self.sha256)\n")
        for number: UInt64 in [0, 1, 2, .max] {
            #expect(file.dummyHash(for: number) == file.dummyHash(for: number))
            #expect([Self.bcrypt, Self.sha256].contains(file.dummyHash(for: number)))
        }
        #expect(file.dummyHash(for: 0) != file.dummyHash(for: 1))
    }
}
