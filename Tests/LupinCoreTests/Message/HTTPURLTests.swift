// Which texts are URLs of http and https, and where they lead.

import LupinCore
import Testing

struct HTTPURLTests {
    @Test(
        arguments: [
            ("https://id.example/token", "https://id.example/token", "/token"),
            ("HTTPS://ID.Example:443", "https://id.example/", "/"),
            ("http://127.0.0.1:8080/a?b=c#d", "http://127.0.0.1:8080/a", "/a?b=c"),
            ("https://[::1]:9/x", "https://[::1]:9/x", "/x"),
            ("https://a.dev:/x", "https://a.dev/x", "/x"),
            ("https://a.dev?x=1", "https://a.dev/", "/?x=1"),
            ("https://bücher.example/%20", "https://xn--bcher-kva.example/%20", "/%20"),
        ]
    )
    func `a URL has an origin and a path`(text: String, shown: String, path: String) throws {
        let url = try #require(HTTPURL(text))
        #expect(url.description == shown)
        #expect(url.path == path)
    }

    @Test(arguments: [
        "", "https://", "https:///x", "ftp://a.dev", "a.dev/x", "//a.dev", "https://u:p@a.dev/",
        "https://a.dev:0/", "https://a.dev:65536/", "https://a.dev:99999999999999999999/",
        "https://a.dev:x/", "https://a dev/", "https://a.dev/a b", "https://a.dev/ü",
        "https://a.dev/\u{7F}", "https://[::1/", "https://a..dev/", "://a.dev",
    ])
    func `another text is none`(text: String) {
        #expect(HTTPURL(text) == nil)
    }

    @Test func `loopback is a name or an address`() {
        for text in ["localhost", "api.localhost", "127.9.9.9", "::1"] {
            #expect(Host(text)?.isLoopback == true, "\(text)")
        }
        for text in ["localhost.example", "mylocalhost", "10.0.0.1", "0.0.0.0"] {
            #expect(Host(text)?.isLoopback == false, "\(text)")
        }
    }
}
