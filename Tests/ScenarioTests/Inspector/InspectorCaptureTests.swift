// What is captured is decided in the page: it deletes captures and holds hosts.
import LupinTestKit
import Testing

extension InspectorPageTests {
    @Test func `captures are deleted: the open one, those of the filter, and all`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try origin(proxy)
            for path in ["/one", "/two", "/two", "/three"] {
                try proxy.client().get(origin.url(path))
            }
            for index in 0..<4 { #expect(try proxy.captured(index).side("response") != [:]) }
            func isCaptured(_ index: Int) throws -> Bool {
                try proxy.captured(index).side("response") != [:]
            }
            try proxy.browse { browser, _ in
                func delete(_ choice: String, told: String) throws {
                    try browser.click("//*[@id='bar']//button[.='Delete']")
                    try browser.click("//dialog//label[contains(.,'\(choice)')]/input")
                    try browser.click("//dialog//button[.='Delete']")
                    try browser.waitFor(told, in: "#notice")
                }
                try browser.click("//*[@id='list']//*[contains(text(),'/one')]")
                try browser.click("//*[@role='tab'][.='Body']")
                try browser.waitFor("got", in: "[role=tabpanel]")
                // Nothing is deleted where the question is not answered.
                try browser.click("//*[@id='bar']//button[.='Delete']")
                try browser.click("//dialog//button[@aria-label='Close']")
                #expect(try isCaptured(0))
                try delete("The open exchange", told: "Deleted: 1 captured exchange.")
                try browser.waitFor("not captured", in: "[role=tabpanel]")
                #expect(try !isCaptured(0))
                #expect(try isCaptured(1))
                try browser.write("path:/two", into: "//input[@type='search']", entering: true)
                try delete("path:/two", told: "Deleted: 2 captured exchanges.")
                for index in [1, 2] { #expect(try !isCaptured(index)) }
                #expect(try isCaptured(3))
                try delete("All 1 captured exchange", told: "All captures are deleted.")
                #expect(try !isCaptured(3))
            }
        }
    }

    @Test func `a page renews the hold that it was opened with, and can end it`() async throws {
        try await ProxyFixture.run(ProxyFixture.adminSocket) { proxy in
            let hosts = "{\"hosts\":[\"a.example\"]}"
            try proxy.admin("PUT", "/v1/capture/holds/of-a-page", json: hosts)
            func holds() throws -> Int { try proxy.adminJSON("/v1/capture").count("holds") }
            try proxy.browse(holding: "of-a-page") { browser, _ in
                let address = try browser.value("return location.href") as? String
                #expect(address?.contains("hold") == false)
                let stored = "return sessionStorage.getItem('lupin.hold') ?? ''"
                try eventually("the page has the hold") {
                    (try? browser.value(stored) as? String)?.contains("a.example") == true
                }
                // Where lupin has lost it, the page begins it again; here after a reload.
                #expect(try proxy.admin("DELETE", "/v1/capture/holds/of-a-page").status == 200)
                _ = try browser.value("location.reload()")
                try eventually("the hold is back") { (try? holds()) == 1 }
                try browser.click("//*[@id='bar']//button[.='Capture']")
                try browser.click("//dialog//button[@aria-label='Capture a.example no longer']")
                try eventually("the hold is over") { (try? holds()) == 0 }
            }
        }
    }
}
