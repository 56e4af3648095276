// What the page exports opens again, in the page and by `lupin har show`; long lists scroll.
import Foundation
import LupinCore
import LupinStore
import LupinTestKit
import Testing

extension InspectorPageTests {
    @Test func `an exported list opens again: as a file, and by lupin har show`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try origin(proxy)
            try proxy.client().get(origin.url("/kept"))
            try proxy.client().get(origin.url("/left-out"))
            #expect(try proxy.captured(0).side("response") != [:])
            try proxy.browse { browser, _ in
                try browser.waitFor("/kept", in: "#list")
                try browser.write("path:/kept", into: "//input[@type='search']", entering: true)
                try eventually("only what the filter keeps") {
                    (try? browser.text("#list").contains("/left-out")) == false
                }
                try browser.click("//*[@id='bar']//button[.='Export']")
                var file: String?
                try eventually("the file has come") {
                    file = browser.downloads.first { $0.hasSuffix(".har") }
                    return file != nil
                }
                let path = try #require(file)
                try browser.choose(path, for: "//input[@type='file']")
                try look(at: browser)
                // The page has left the list of lupin; a new address begins anew.
                let shown = try Lupin.run(
                    "har",
                    "show",
                    "--print",
                    path,
                    "--socket",
                    proxy.adminPath
                )
                #expect(shown.code == 0, "\(shown.errors)")
                try browser.open("about:blank")
                try browser.open(shown.output.trimmingCharacters(in: .whitespacesAndNewlines))
                try look(at: browser)
            }
        }
    }

    /// The one exchange of the archive, with its heads, its body and what lupin adds.
    private func look(at browser: Browser) throws {
        try browser.waitFor("1 exchange", in: "#bar")
        try browser.waitFor("read-only", in: "#bar")
        try browser.click("//*[@id='list']//*[contains(text(),'/kept')]")
        for (tab, words) in [("Response", "application/json"), ("Body", "got")] {
            try browser.click("//*[@role='tab'][.='\(tab)']")
            try browser.waitFor(words, in: "[role=tabpanel]")
        }
        let page = try browser.text("body")
        #expect(!page.contains("geheim") && !page.contains("/left-out"))
        #expect(
            try browser.value(
                "return document.querySelector('#detail')"
                    + ".innerText.includes('Send again')"
            ) as? Bool == false
        )
    }

    // MARK: A long list

    /// Captures this many exchanges, like one that there was.
    private func fill(_ proxy: ProxyFixture, _ count: Int, like line: String, id: String) throws {
        let file = try CaptureFile(folder: proxy.capturePath)
        defer { file.close() }
        let start = Int64(Date().timeIntervalSince1970 * 1_000_000) - Int64(count)
        var number: Int64 = 0
        while number < count {
            var batch = CaptureBatch()
            for _ in 0..<min(5000, count - Int(number)) {
                number += 1
                let own = ExchangeID(high: 0, low: UInt64(number))
                var row = CapturedExchange(number: number, id: own, start: start + number)
                (row.host, row.method, row.status) = ("127.0.0.1", "GET", 200)
                row.line = Array(
                    line.replacing(id, with: own.text).replacing("/row", with: "/n\(number)").utf8
                )
                batch.exchanges.append(row)
            }
            try file.write(batch)
        }
    }

    private static let scrolling = """
        window.gaps = [];
        const view = document.querySelector('#rows');
        view.scrollTop = 0;
        let last, count = 0;
        const step = (now) => {
          if (last !== undefined) gaps.push(now - last);
          last = now;
          count += 1;
          view.scrollTop += count % 20 === 0 ? 100_000 : 700;
          if (count < 300) requestAnimationFrame(step);
          else window.scrolled = true;
        };
        requestAnimationFrame(step);
        """

    @Test func `100,000 exchanges scroll, and half of all frames come within 100 ms`() async throws
    {
        try await ProxyFixture.run(ProxyFixture.captureFolder) { proxy in
            let origin = try origin(proxy)
            try proxy.client().get(origin.url("/row"))
            let id = try #require(try proxy.record()["id"])
            let line = try proxy.admin("GET", "/v1/exchanges?format=lines").bodyText
            try fill(proxy, 100_000, like: line.trimmingCharacters(in: .newlines), id: id)
            try proxy.browse { browser, _ in
                let toEnd =
                    "const v = document.querySelector('#rows'); v.scrollTop = v.scrollHeight;"
                // The end of the list fetches older ones.
                try eventually("all rows are in the list", within: .seconds(300)) {
                    _ = try? browser.value(toEnd)
                    usleep(50_000)
                    return (try? browser.text("#bar").contains("100,000 exchanges")) == true
                }
                _ = try browser.value(Self.scrolling)
                try eventually("the list was scrolled", within: .seconds(60)) {
                    (try? browser.value("return window.scrolled === true") as? Bool) == true
                }
                let gaps = try #require(try browser.value("return window.gaps") as? [Double])
                let sorted = gaps.sorted()
                #expect(sorted.count == 299)
                #expect(sorted[150] < 100, "median \(sorted[150]) ms, 99 %: \(sorted[295]) ms")
                try browser.waitFor("/n", in: "#list")
                let nodes = "return document.querySelectorAll('#list .row').length"
                #expect(try browser.value(nodes) as? Int ?? 0 < 200)
            }
        }
    }
}
