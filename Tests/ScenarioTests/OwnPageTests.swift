// What the proxy says when it is asked as a web server: only under its own names.

import LupinIO
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
        }
    }
}
