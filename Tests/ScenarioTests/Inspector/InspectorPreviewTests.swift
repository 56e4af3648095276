// The preview of a captured page: a frame in which nothing runs, loads or leaves.
import LupinTestKit
import Testing

extension InspectorPageTests {
    /// A page that tries to act in every way there is; the form's button is at the top.
    private static func hostilePage(_ origin: String) -> String {
        """
        <!doctype html><title>hostile</title>
        <base href="http://\(origin)/">
        <meta http-equiv="refresh" content="0;url=http://\(origin)/refreshed">
        <link rel="preconnect" href="http://\(origin)/"><link rel="stylesheet" href="/styled">
        <form action="http://\(origin)/sent" method="post">
        <button>the button of the form</button></form>
        <p>words of the page</p>
        <script>parent.document.title = "run"; fetch("http://\(origin)/fetched")</script>
        <img src="http://\(origin)/loaded" onerror="top.document.title = 'run'">
        <iframe src="http://\(origin)/framed"></iframe>
        <form><math><mtext></form><form><mglyph><style></math><link rel="preconnect"
        href="http://\(origin)/"><iframe src="http://\(origin)/framed"></iframe></style></form>
        <div><template shadowrootmode="open"><iframe src="http://\(origin)/framed"></iframe>
        </template></div>
        """
    }

    @Test func `the preview of a page runs no script, loads no image and sends no form`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    let page = Self.hostilePage(connection.localAuthority)
                    try connection.reply(200, "Content-Type: text/html; charset=utf-8", body: page)
                }
            }
            try proxy.client().get(origin.url("/page"))
            try proxy.browse(refusing: true) { browser, _ in
                try browser.waitFor("/page", in: "#list")
                try browser.click("//*[@id='list']//*[contains(text(),'/page')]")
                try browser.click("//*[@role='tab'][.='Body']")
                try browser.click("//button[.='Preview']")
                try browser.waitFor("words of the page", in: ".beside .textview")
                try browser.press("iframe.preview", x: 60, y: 20)
                // Behind the press: whatever the frame does is done before the next page is there.
                try proxy.client().get(origin.url("/next"))
                try browser.waitFor("/next", in: "#list")
                let frame = try browser.value(
                    "const f = document.querySelector('iframe.preview');"
                        + "return f.getAttribute('sandbox') + (f.contentDocument === null)"
                )
                #expect(frame as? String == "true")
                #expect(try browser.value("return document.title") as? String == "lupin inspector")
            }
            // Not even a connection was made; lupin's own is used again.
            #expect(origin.connections.count == 1)
            for path in ["sent", "fetched", "loaded", "framed", "refreshed", "styled"] {
                #expect(!origin.receivedText.contains("/\(path)"), "\(path)")
            }
        }
    }
}
