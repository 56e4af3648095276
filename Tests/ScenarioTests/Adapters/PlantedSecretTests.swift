// Credentials of all kinds leave no trace: five are planted, and looked for in six encodings.
import Foundation
import LupinTestKit
import Testing

/// What no log and no page may hold.
private enum Planted {
    static let bearer = "b3arer/S3cret+one"
    static let password = "p4ss/W0rd+two"
    static let client = "cl13nt/S3cret+three"
    static let refresh = "r3fresh/T0ken+four"
    static let command = "c0mmand/0utput+five"
    static let all = [bearer, password, client, refresh, command]

    /// A secret as it may travel.
    static func encodings(of secret: String) -> [String] {
        let base64 = Data(secret.utf8).base64EncodedString()
        let percent = ["%%%02X", "%%%02x"].map { format in
            secret.utf8.map { byte in
                byte.isLetterOrDigit
                    ? String(UnicodeScalar(byte)) : String(format: format, byte)
            }
            .joined()
        }
        let url = base64.replacing("+", with: "-").replacing("/", with: "_")
        return [
            secret, base64, percent[0], percent[1], String(url.prefix { $0 != "=" }),
        ]
    }

    static let texts =
        all.flatMap(encodings) + [
            Data("me:\(password)".utf8).base64EncodedString(),
            Data("cli:\(client)".utf8).base64EncodedString(),
        ]

    static func expectNone(in text: String, _ what: String) {
        for secret in texts where text.contains(secret) {
            Issue.record("\(secret) is in \(what)")
        }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20)
    }
}

struct PlantedSecretTests {
    private func rules(_ server: TokenServer, headers: String) -> String {
        """
        log: {headers: \(headers)}
        tokens:
          one: {bearer: "${env:BEARER}", header: {name: X-One}}
          two: {basic: {user: me, password: "${file:DIR/pw}", preemptive: true}}
          three:
            oauth2:
              grant: refresh_token
              url: "\(server.url)"
              client: {id: cli, secret: "${env:CLIENT}"}
              refresh_token: "${file:DIR/refresh}"
            header: {name: X-Three}
          four: {command: [/bin/echo, "\(Planted.command)"], header: {name: X-Four}}
        rules:
          - name: all
            match: {path: /**}
            request: [{auth: one}, {auth: two}, {auth: three}, {auth: four}]
            redirect: {follow: true}
            cookies: {jar: DIR/jar}
        """
    }

    private let environment = ["BEARER": Planted.bearer, "CLIENT": Planted.client]
    private let files = [
        "pw": Array(Planted.password.utf8), "refresh": Array(Planted.refresh.utf8),
    ]

    @Test(arguments: ["none", "names", "all", "[x-echo, location, x-one, authorization]"])
    func `credentials and their echoes are in no record and on no page`(_ headers: String)
        async throws
    {
        let server = try TokenServer()
        defer { server.stop() }
        server.expect(Planted.refresh.replacing("/", with: "%2F").replacing("+", with: "%2B"))
        try await ProxyFixture.run(
            rules(server, headers: headers),
            environment: environment,
            files: files
        ) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request["x-one"] == Planted.bearer || request.method == "CONNECT")
                    let echo = request["x-echo"] ?? "none"
                    let isRedirect = request.target.hasPrefix("/follow")
                    try connection.reply(
                        isRedirect ? 302 : 200,
                        "X-Echo: \(echo) \(request["authorization"] ?? "")",
                        "Location: /there?a=\(echo)",
                        "Set-Cookie: id=5; Max-Age=100",
                        body: "ok"
                    )
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/warm")).status == 200)
            #expect(origin.receivedText.contains(Planted.command))
            for text in Planted.texts {
                let query = text.replacing("+", with: "%2B").replacing("=", with: "%3D")
                for path in ["/", "/follow"] {
                    let response = try client.get(
                        origin.url("\(path)?x=\(query)&page=2"),
                        "X-Echo: \(text)",
                        "Referer: http://a.test/?b=\(query)"
                    )
                    #expect(response.status == 200)
                }
            }
            _ = try proxy.records(1 + Planted.texts.count * 2)
            Planted.expectNone(in: proxy.logText, "the record")
            Planted.expectNone(in: proxy.warnings.joined(separator: "\n"), "the warnings")
            let jar = try? String(contentsOfFile: proxy.directory + "/jar", encoding: .utf8)
            Planted.expectNone(in: jar ?? "", "the cookie jar")
        }
    }

    @Test func `a token server's refusal shows nothing that it was told`() async throws {
        for secret in [Planted.client, Planted.refresh] {
            let server = try TokenServer()
            defer { server.stop() }
            server.change { manners in
                let text = #"{"error":"\#(secret)","error_description":"\#(secret)"}"#
                manners.refusal = (400, text)
            }
            try await ProxyFixture.run(
                rules(server, headers: "all"),
                environment: environment,
                files: files
            ) { proxy in
                for accept in ["text/plain", "application/json"] {
                    let url = "http://127.0.0.1:1/?q=\(secret)"
                    let response = try proxy.client().get(url, "Accept: \(accept)")
                    #expect(response.status == 502)
                    Planted.expectNone(in: response.bodyText, "the page")
                    Planted.expectNone(in: response["proxy-status"] ?? "", "Proxy-Status")
                }
                _ = try proxy.records(2)
                Planted.expectNone(in: proxy.logText, "the record")
                Planted.expectNone(in: proxy.warnings.joined(separator: "\n"), "the warnings")
            }
        }
    }

    @Test func `an origin that cannot be reached leaves nothing on the page`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        server.expect(Planted.refresh.replacing("/", with: "%2F").replacing("+", with: "%2B"))
        try await ProxyFixture.run(
            rules(server, headers: "all"),
            environment: environment,
            files: files
        ) { proxy in
            for text in Planted.texts {
                let query = text.replacing("+", with: "%2B").replacing("=", with: "%3D")
                let response = try proxy.client().get(
                    "http://127.0.0.1:1/\(query)?x=\(query)",
                    "X-Echo: \(text)"
                )
                #expect(response.status == 502)
                Planted.expectNone(in: response.bodyText, "the page")
                Planted.expectNone(in: response["proxy-status"] ?? "", "Proxy-Status")
            }
            _ = try proxy.records(Planted.texts.count)
            Planted.expectNone(in: proxy.logText, "the record")
        }
    }
}
