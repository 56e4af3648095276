// A real browser with two sites open: one with the owner's token, one that would like to use it.
import Foundation
import LupinIO
import LupinTestKit
import Synchronization
import Testing

@Suite(.enabled(if: SmallInternet.has("/usr/bin/chromium"), "chromium is not installed"))
struct ChromiumPageTests {
    private static let path = "/usr/bin/chromium"

    /// Asks the API in every way that a page has, and says in its title what it could read.
    private static let page = """
        <iframe name=i></iframe><form id=f method=post target=i></form>
        <script>
        const api = "https://api.test:" + location.search.slice(1)
        document.write('<img src="' + api + '/img"><iframe src="' + api + '/frame"></iframe>')
        const ask = async (path, options) => {
          try { return await (await fetch(api + path, options)).text() } catch { return "nothing" }
        }
        (async () => {
          f.action = api + "/form"; f.submit()
          new WebSocket(api.replace("https", "wss") + "/socket")
          await ask("/no-cors", {method: "POST", mode: "no-cors", body: "1"})
          await ask("/preflight", {method: "PUT"})
          document.title = "read " + await ask("/cors")
        })()
        </script>
        """

    /// Opens the page of `site` and returns its document, and what the API received.
    private func open(
        _ site: String,
        _ keys: String = ""
    ) async throws -> (document: String, received: String) {
        let indented = Self.page.replacing("\n", with: "\n          ")
        let rules = """
            tokens: {acme: {bearer: owner-token}}
            rules:
              - {name: acme, match: {host: api.test}, request: [{auth: acme}]\(keys)}
              - match: {host: evil.test}
                intercept: true
                respond:
                  status: 200
                  headers: {Content-Type: text/html}
                  body: |
                      \(indented)
            """
        let found = Mutex((document: "", received: ""))
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let server = try proxy.authority.server("api.test", ["http/1.1"])
            let origin = try proxy.origin(security: server) { connection in
                while let request = try connection.nextRequest() {
                    let fields = [
                        "Access-Control-Allow-Origin: *", "Access-Control-Allow-Methods: PUT",
                    ]
                    let isOwner = request["authorization"] == "Bearer owner-token"
                    try connection.reply(200, fields[0], fields[1], body: isOwner ? "mine" : "open")
                }
            }
            let port = origin.address.port
            let url = "https://\(site)\(site == "api.test" ? ":\(port)/" : "/?\(port)")"
            let document = try Self.document(of: url, through: proxy)
            found.withLock { $0 = (document, origin.receivedText) }
        }
        return found.withLock { $0 }
    }

    private static func document(of url: String, through proxy: ProxyFixture) throws -> String {
        let browser = ChildProgram(
            path,
            [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--user-data-dir=\(proxy.directory)/browser", "--ignore-certificate-errors",
                "--proxy-server=http://127.0.0.1:\(proxy.address.port)", "--timeout=20000",
                "--virtual-time-budget=3000", "--dump-dom", url,
            ]
        )
        let output = Pipe()
        browser.standardOutput = output
        browser.standardError = FileHandle.nullDevice
        try browser.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        browser.waitUntilExit()
        return String(decoding: text, as: UTF8.self)
    }

    @Test func `a page of another site reads nothing, and nothing is done in the owner's name`()
        async throws
    {
        let (document, received) = try await open("evil.test")
        #expect(document.contains("<title>read nothing</title>"), "\(document)")
        #expect(received.isEmpty, "\(received)")
    }

    @Test func `a page that cross_site lists reads it`() async throws {
        let list = #", cross_site: ["https://evil.test"]"#
        let (document, received) = try await open("evil.test", list)
        #expect(document.contains("<title>read mine</title>"), "\(document)")
        for path in ["img", "frame", "form", "no-cors", "preflight", "cors", "socket"] {
            #expect(received.contains("/\(path) HTTP/1.1"), "\(path)")
        }
    }

    @Test func `the user who asks for the API is served`() async throws {
        let (document, _) = try await open("api.test")
        #expect(document.contains("mine"), "\(document)")
    }
}
