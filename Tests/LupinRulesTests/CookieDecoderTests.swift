// What `cookies:` of a rule may say, and what is said of anything else.

import LupinPolicy
import LupinRules
import Testing

struct CookieDecoderTests {
    private func rule(_ keys: String) throws -> Rule {
        let rules = try configuration("rules: [{match: a.dev, \(keys)}]").rules.rules
        return try #require(rules.first)
    }

    @Test(arguments: [
        ("/var/jar.txt", "/var/jar.txt"), ("jar.txt", "/etc/lupin/jar.txt"),
        ("~/jar.txt", "/users/ann/jar.txt"),
    ])
    func `a jar is a file, found from anywhere`(written: String, path: String) throws {
        let jar: String?? = .some(path)
        #expect(try rule("cookies: {jar: \(written)}").cookieJar == jar)
    }

    @Test func `off and absent are told apart`() throws {
        let none: String?? = .some(nil)
        #expect(try rule("cookies: off").cookieJar == none)
        #expect(try rule("cookies: \"off\"").cookieJar == none)
        #expect(try rule("stop: true").cookieJar == nil)
    }

    @Test func `the environment may name the file`() {
        let result = decode(
            "rules: [{match: a.dev, cookies: {jar: \"${env:JAR}\"}}]",
            environment: ["JAR": "/x/jar"]
        )
        let jar: String?? = .some("/x/jar")
        #expect(result.configuration?.rules.rules.first?.cookieJar == jar)
    }

    @Test(arguments: [
        ("cookies: jar.txt", "2:33: expected off or a jar, found \"jar.txt\"  [E-TYPE]"),
        ("cookies: ", "2:33: expected off or a jar, found nothing  [E-TYPE]"),
        ("cookies: [a]", "2:33: expected off or a jar, found a list  [E-TYPE]"),
        ("cookies: {}", "2:24: \"cookies\" has no \"jar\"  [E-KEY]"),
        ("cookies: {jar: \"\"}", "2:39: expected a file, found \"\"  [E-TYPE]"),
        ("cookies: {jar: [a]}", "2:39: expected a file, found a list  [E-TYPE]"),
        ("cookies: {jar: dir/}", "2:39: \"dir/\" is a directory  [E-FILE]"),
        ("cookies: {jar: a, path: /}", "2:42: unknown key \"path\" in \"cookies\"  [E-KEY]"),
    ])
    func `a wrong value is told with its place`(key: String, first: String) {
        let problems = decode("rules: [{match: a.dev, \(key)}]").errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
    }

    @Test func `a jar that others can read is told, and used`() throws {
        var contents = SampleFile.text("# Netscape HTTP Cookie File\n")
        contents.isOpenToOthers = true
        let result = decode(
            "rules: [{match: a.dev, cookies: {jar: jar.txt}}]",
            files: ["/etc/lupin/jar.txt": contents]
        )
        #expect(result.errors.isEmpty && result.warnings.count == 1)
        #expect(result.warnings.first?.hint == "chmod 600 /etc/lupin/jar.txt")
    }
}
