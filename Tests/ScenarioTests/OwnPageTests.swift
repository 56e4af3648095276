// What the proxy says when it is asked as a web server: only under its own names.

import LupinCore
import LupinIO
import LupinTLS
import LupinTestKit
import Testing

struct OwnPageTests {
    @Test(arguments: ["127.0.0.1", "localhost", "LOCALHOST", "127.0.0.9"])
    func `its pages answer to names of its own`(host: String) async throws {
        try await ProxyFixture.run { proxy in
            let port = proxy.address.port
            let client = try proxy.client()
            try client.send(head("GET / HTTP/1.1", "Host: \(host):\(port)"))
            let page = try client.response()
            #expect(page.status == 200)
            #expect(page.bodyText.contains("http_proxy=http://127.0.0.1:\(port)"))
            try client.send(head("GET /proxy.pac?x HTTP/1.1", "Host: \(host):\(port)"))
            let script = try client.response()
            #expect(script["content-type"] == "application/x-ns-proxy-autoconfig")
            #expect(script.bodyText.contains("PROXY 127.0.0.1:\(port)"))
            #expect(!script.bodyText.contains("DIRECT"))
            try client.send(head("HEAD /proxy.pac HTTP/1.1", "Host: \(host):\(port)"))
            #expect(try client.response(to: "HEAD")["content-length"] == script["content-length"])
            #expect(try proxy.records(3).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test(arguments: ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "127.0.0.1:1"])
    func `another name learns nothing`(host: String) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            let name = host.contains(":") ? host : "\(host):\(proxy.address.port)"
            for path in ["/", "/proxy.pac", "/x"] {
                try client.send(head("GET \(path) HTTP/1.1", "Host: \(name)"))
                let response = try client.response()
                #expect(response.status == 400)
                #expect(!response.bodyText.contains("FindProxyForURL"))
                #expect(!response.bodyText.contains("\(proxy.address.port)"))
            }
        }
    }

    @Test func `an unknown page is a 404 and the connection lives on`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            for _ in 0..<2 {
                try client.send(head("GET /x HTTP/1.1", "Host: \(proxy.address)"))
                #expect(try client.response().status == 404)
            }
            #expect(try proxy.record()["url.full"] == "http://\(proxy.address)/x")
        }
    }

    @Test func `http://lupin/ is a page for whoever sets up a device`() async throws {
        try await ProxyFixture.run(Inside.rule) { proxy in
            let client = try proxy.client()
            let page = try client.get("http://lupin/", "Accept: text/html")
            #expect(page.status == 200)
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
            #expect(page.bodyText.contains("<code>http://127.0.0.1:\(proxy.address.port)</code>"))
            let own = try proxy.ownAuthority()
            let pem = try client.get("http://lupin/ca.pem")
            #expect(pem["Content-Type"] == "application/x-x509-ca-cert")
            #expect(pem.body == own.pem)
            let profile = try client.get("http://lupin/lupin.mobileconfig")
            #expect(profile["Content-Type"] == "application/x-apple-aspen-config")
            #expect(profile.bodyText.contains("<data>\(Base64Text.encode(own.der))</data>"))
            #expect(profile.bodyText.contains("<string>com.apple.security.root</string>"))
            let script = try client.get("http://lupin/proxy.pac")
            #expect(script.bodyText.contains("PROXY 127.0.0.1:\(proxy.address.port)"))
            // Another port is another host's business.
            #expect(try client.get("http://lupin:81/").status == 502)
        }
    }

    @Test func `who may not use lupin gets no page of it, and a rule for the name comes first`()
        async throws
    {
        try await ProxyFixture.run("access: {clients: [10.0.0.0/8]}") { proxy in
            let client = try proxy.client()
            #expect(try client.get("http://lupin/").status == 403)
        }
        let rule = "rules: [{match: {host: lupin}, respond: {status: 418}}]"
        try await ProxyFixture.run(rule) { proxy in
            let client = try proxy.client()
            #expect(try client.get("http://lupin/").status == 418)
        }
    }

    @Test func `who only looks whether a lupin is there leaves no record`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send(head("GET / HTTP/1.1", "Host: \(proxy.address)", "Lupin-Probe: 1"))
            #expect(try client.response().status == 200)
            try client.send(head("GET /proxy.pac HTTP/1.1", "Host: \(proxy.address)"))
            #expect(try client.response().status == 200)
            let size = try proxy.records(1)[0]["http.response.body.size"]
            #expect(size.flatMap(Int.init).map { $0 < 200 } == true)
        }
    }
}
