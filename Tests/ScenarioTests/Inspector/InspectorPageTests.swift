// The inspector's page in a real browser, against a running proxy.
import Foundation
import LupinTestKit
import Testing

@Suite(
    .serialized,
    .enabled(if: Browser.isInstalled, "the packages chromium and chromium-driver are missing")
)
struct InspectorPageTests {
    static let rules = """
        \(ProxyFixture.adminSocket)tokens: {api: {bearer: "planted-geheim", plain_http: true}}
        rules:
          - name: kept
            match: {path: /**}
            capture: true
            request: [{set: {X-Rule: marked}}, {auth: api}]

        """

    func origin(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            while let request = try connection.nextRequest() {
                let json = "{\"path\":\"\(request.target)\",\"got\":\"\(request.bodyText)\"}"
                try connection.reply(200, "Content-Type: application/json", body: json)
            }
        }
    }

    @Test func `the list follows and is filtered, and every tab tells of an exchange`() async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try origin(proxy)
            try proxy.browse { browser, _ in
                // The code is gone from the address, so no history has it.
                #expect(try browser.value("return location.href") as? String != nil)
                #expect(
                    try browser.value("return location.hash.includes('code')") as? Bool == false
                )
                try proxy.client().get(origin.url("/one"), "X-Sent: by-client")
                try browser.waitFor("/one", in: "#list")
                try proxy.client().get(origin.url("/two"))
                try browser.waitFor("/two", in: "#list")
                try browser.write("path:/one", into: "//input[@type='search']", entering: true)
                try eventually("only what the filter keeps") {
                    let list = try? browser.text("#list")
                    return list?.contains("/one") == true && list?.contains("/two") == false
                }
                try browser.click("//*[@id='list']//*[contains(text(),'/one')]")
                for (tab, words) in [
                    ("Request", "X-Rule"), ("Response", "Content-Type"), ("Body", "got"),
                    ("Timeline", "Attempts"), ("Trust", ""), ("Cache", ""), ("Rules", "kept"),
                    ("Record", "127.0.0.1"),
                ] {
                    try browser.click("//*[@role='tab'][.='\(tab)']")
                    try browser.waitFor(tab, in: "[role=tab][aria-selected=true]")
                    if !words.isEmpty { try browser.waitFor(words, in: "[role=tabpanel]") }
                }
                #expect(try browser.text("body").contains("geheim") == false)
            }
        }
    }

    @Test func `a request is edited and sent, and a rule is made that acts`() async throws {
        try await ProxyFixture.run(Self.rules, watchesRules: true) { proxy in
            let origin = try origin(proxy)
            try proxy.client().get(origin.url("/first"))
            try proxy.browse { browser, _ in
                try browser.waitFor("/first", in: "#list")
                try browser.click("//*[@id='list']//*[contains(text(),'/first')]")
                try browser.click("//button[.='Edit and send']")
                try browser.write(
                    origin.url("/edited"),
                    into: "//label[contains(.,'URL')]//input"
                )
                try browser.click("//dialog//button[.='Send']")
                try browser.waitFor("/edited", in: "#list")
                #expect(origin.receivedText.contains("GET /edited HTTP/1.1\r\n"))
                try browser.click("//button[.='Make a rule']")
                let snippet = "- match: {path: /edited}\n  respond: {status: 418, body: brewed}"
                try browser.write(snippet, into: "//dialog//textarea")
                try browser.click("//dialog//button[.='Preview']")
                try browser.waitFor("lupin accepts the rule", in: "dialog")
                try browser.click("//dialog//button[.='Append to the file']")
                try eventually("the rule acts") {
                    (try? proxy.client().get(origin.url("/edited")).status) == 418
                }
            }
        }
    }

    @Test func `what an exchange holds is text to the page, never markup or a script`() async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let hostile =
                "<script>document.title='run'</script><img src=x onerror=document.title='run'>"
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(
                        200,
                        "Content-Type: text/html",
                        "X-Hostile: \(hostile)",
                        "Content-Disposition: attachment; filename=\"\(hostile)\"",
                        body: "<title>run</title>\(hostile)"
                    )
                }
            }
            try proxy.client().get(
                origin.url("/h?<script>alert(1)</script>"),
                "X-\u{7E}: \(hostile)"
            )
            try proxy.browse { browser, _ in
                try browser.waitFor("/h", in: "#list")
                try browser.click("//*[@id='list']//*[contains(text(),'/h')]")
                for tab in ["Request", "Response", "Body", "Timeline", "Rules", "Record"] {
                    try browser.click("//*[@role='tab'][.='\(tab)']")
                    try browser.waitFor(tab, in: "[role=tab][aria-selected=true]")
                }
                #expect(try browser.value("return document.title") as? String == "lupin inspector")
                let scripts = try browser.value("return document.scripts.length") as? Int
                #expect(scripts == 1)
            }
        }
    }
}
