// Which file below a folder a path names, and which paths name none.
import LupinCore
import LupinPolicy
import Testing

struct FolderPathTests {
    private func path(_ target: String, skipping skipped: Int = 0) -> FolderPath? {
        FolderPath(Array(target.utf8).span, skipping: skipped)
    }

    @Test func `segments are names, decoded, and a slash at the end means a folder`() throws {
        #expect(path("/a/b.js?x=/y")?.names == ["a", "b.js"])
        #expect(path("/a/b.js")?.isFolder == false)
        #expect(path("/a/b%20c/")?.names == ["a", "b c"])
        #expect(path("/a/")?.isFolder == true)
        #expect(path("/")?.names == [] && path("/")?.isFolder == true)
        #expect(path("/caf%C3%A9")?.names == ["café"])
        #expect(path("/.well-known/security.txt")?.names == [".well-known", "security.txt"])
    }

    @Test func `what the rule spells out is no part of it`() {
        #expect(path("/app/js/x.js", skipping: 1)?.names == ["js", "x.js"])
        #expect(path("/app", skipping: 1)?.names == [])
        #expect(path("/app", skipping: 1)?.isFolder == false)
    }

    @Test func `dot segments are gone before names are read`() {
        #expect(path("/a/../b")?.names == ["b"])
        #expect(path("/../../etc/passwd")?.names == ["etc", "passwd"])
        #expect(path("/a/%2e%2e/b")?.names == ["b"])
    }

    @Test(arguments: [
        "/a//b", "/a/..%2f..%2fetc", "/a%00b", "/.git/config", "/a/.env", "/a/%ff", "/a/%zz",
        "/..%2F", "/a/%2fetc/passwd", "*",
    ])
    func `a path that can be no file's is none`(target: String) {
        #expect(path(target) == nil)
    }

    @Test func `a rule spells out the segments before its first wildcard`() throws {
        var match = Match()
        match.paths = [try PathPattern("/v1/users/*"), try PathPattern("/static/**")]
        let rule = Rule.named("r", match) { _ in }
        let origin = Origin(scheme: .http, host: try #require(Host("a.example")), port: 80)
        for (target, count) in [("/v1/users/7?x", 2), ("/static/a/b", 1), ("/static", 1)] {
            #expect(rule.spelledSegments(of: Array(target.utf8).span, for: origin) == count)
        }
        let any = Rule.named("r", Match()) { _ in }
        #expect(any.spelledSegments(of: Array("/a/b".utf8).span, for: origin) == 0)
    }

    @Test func `the ending of a name tells the type`() {
        #expect(MediaTypes.type(ofFile: "/x/users.JSON") == "application/json")
        #expect(MediaTypes.type(ofFile: "a.html") == "text/html; charset=utf-8")
        #expect(MediaTypes.type(ofFile: "/a.b/readme") == "application/octet-stream")
        #expect(MediaTypes.type(ofFile: "x.unknown") == "application/octet-stream")
    }
}
