// NTLM and Negotiate log in to a connection: nobody else may use it (RFC 4559 section 6).
import LupinTestKit
import Testing

struct ConnectionLoginTests {
    /// An origin that knows a user by the connection alone, once the handshake is done.
    private static func origin(
        _ proxy: ProxyFixture,
        _ scheme: String,
        control: String = "max-age=600"
    ) throws -> ScriptedOrigin {
        try proxy.origin { connection in
            var (isChallenged, isUser) = (false, false)
            while let request = try connection.nextRequest() {
                let credentials = request["authorization"]
                if isUser || (isChallenged && credentials == "\(scheme) three") {
                    isUser = true
                    try connection.reply(200, "Cache-Control: \(control)", body: "secret")
                } else if credentials == "\(scheme) one" {
                    isChallenged = true
                    try connection.reply(401, "WWW-Authenticate: \(scheme) two")
                } else {
                    try connection.reply(401, "WWW-Authenticate: \(scheme)")
                }
            }
        }
    }

    private static func logIn(
        _ client: ScriptedClient,
        at url: String,
        _ scheme: String
    ) throws {
        #expect(try client.get(url).status == 401)
        #expect(try client.get(url, "Authorization: \(scheme) one").status == 401)
        #expect(try client.get(url, "Authorization: \(scheme) three").bodyText == "secret")
    }

    @Test(arguments: ["NTLM", "Negotiate", "nTLM", "CredSSP", "PKU2U", "X-Corp"])
    func `who has not logged in does not get the connection of who has`(scheme: String)
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try Self.origin(proxy, scheme)
            let user = try proxy.client()
            try Self.logIn(user, at: origin.url(), scheme)
            #expect(try proxy.client().get(origin.url()).status == 401)
            // The user's own connection stays logged in, whatever others did meanwhile.
            #expect(try user.get(origin.url()).bodyText == "secret")
            #expect(try proxy.client().get(origin.url()).status == 401)
        }
    }

    @Test(arguments: ["NTLM", "CredSSP", "X-Corp"])
    func `a handshake goes over one connection, whoever comes between`(scheme: String)
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try Self.origin(proxy, scheme)
            let (one, two) = (try proxy.client(), try proxy.client())
            for client in [one, two] {
                #expect(try client.get(origin.url(), "Authorization: \(scheme) one").status == 401)
            }
            #expect(try proxy.client().get(origin.url()).status == 401)
            for client in [one, two] {
                let response = try client.get(origin.url(), "Authorization: \(scheme) three")
                #expect(response.bodyText == "secret")
            }
        }
    }

    @Test func `logins to several origins live together, and of too many the oldest goes`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let user = try proxy.client()
            let origins = try (0..<9).map { _ in try Self.origin(proxy, "NTLM") }
            for origin in origins.prefix(8) { try Self.logIn(user, at: origin.url(), "NTLM") }
            for origin in origins.prefix(8) {
                #expect(try user.get(origin.url()).bodyText == "secret")
            }
            try Self.logIn(user, at: origins[8].url(), "NTLM")
            #expect(try user.get(origins[0].url()).status == 401)
            for origin in origins.dropFirst() {
                #expect(try user.get(origin.url()).bodyText == "secret")
            }
        }
    }

    @Test func `when its client leaves the connection is closed`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Authorization: NTLM one"])
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(401)
            #expect(try client.response().status == 401)
            client.close()
            #expect(try connection.waitForEnd() == .finished)
        }
    }

    @Test(arguments: ["max-age=600", "public, max-age=600", "s-maxage=600"])
    func `what comes over a connection with a login is not stored for all`(
        control: String
    ) async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let origin = try Self.origin(proxy, "NTLM", control: control)
            let user = try proxy.client()
            try Self.logIn(user, at: origin.url("/in"), "NTLM")
            let response = try user.get(origin.url("/page"))
            #expect(response.bodyText == "secret")
            #expect(response.caching == "lupin; fwd=bypass; detail=login")
            #expect(try proxy.client().get(origin.url("/page")).status == 401)
        }
    }

    @Test(arguments: ["Basic dTpw, NTLM one", ", NTLM one", "X-Corp one"])
    func `where the server alone says that it knows its client, that one has it`(
        credentials: String
    ) async throws {
        // `validate` holds the response back, whose connection is not at hand when it is stored.
        let rules = everywhere("cache: standard, validate: {json: {/page: 1}}")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                var isUser = false
                while let request = try connection.nextRequest() {
                    if request["authorization"] == credentials { isUser = true }
                    guard isUser else {
                        try connection.reply(401)
                        continue
                    }
                    try connection.reply(
                        200,
                        "Persistent-Auth: true",
                        "Cache-Control: public, max-age=60",
                        "Content-Type: application/json",
                        body: "{\"page\": 1}"
                    )
                }
            }
            let user = try proxy.client()
            let field = "Authorization: \(credentials)"
            for _ in 0..<2 {
                #expect(try user.get(origin.url("/page"), field).bodyText == "{\"page\": 1}")
                // The origin's 401, which `validate` refuses.
                #expect(try proxy.client().get(origin.url("/page")).status == 502)
            }
            #expect(try user.get(origin.url("/page")).bodyText == "{\"page\": 1}")
        }
    }
}
