// Stand-ins in requests that are sent more than once: refreshed, redirected, stored.
import LupinCore
import LupinProxy
import LupinTestKit
import Testing

struct StandInRepeatTests {
    private static let standIn = StandInTests.standIn
    private static let secret = StandInTests.secret

    @Test func `after a 401 the token is refreshed and the request sent again`() async throws {
        let server = try TokenServer()
        defer { server.stop() }
        let rules = """
            tokens:
              github:
                oauth2:
                  {grant: client_credentials, url: "\(server.url)", client: {id: a, secret: pw}}
            rules: [{name: api, match: {path: /api/**}, stand_ins: [github]}]
            """
        try await ProxyFixture.run(rules, hooks: StandInTests.hooks) { proxy in
            let accepted = Accepted(["t2"])
            let origin = try proxy.guardedOrigin(accepted)
            let client = try proxy.client()
            let field = "Authorization: Bearer \(Self.standIn)"
            #expect(try client.get(origin.url("/api/a"), field).bodyText == "welcome")
            #expect(accepted.asked == 2)
            #expect(server.count == 2)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "refresh")
            #expect(record["auth.version"] == "2")
            #expect(record.list("stand_ins.exchanged") == ["github"])
            // Without a stand-in no token is asked for, and a 401 is the client's.
            accepted.set([])
            #expect(try client.get(origin.url("/api/b")).status == 401)
            #expect(server.count == 2)
        }
    }

    @Test func `a followed redirect takes neither the credential nor its field to another host`()
        async throws
    {
        let rules = """
            rules:
              - name: a
                match: {host: a.test}
                stand_ins: {tokens: [github], in: [fields, query]}
                redirect: {follow: true}
            """
        try await StandInTests.run(rules) { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/?t=\(Self.standIn)"
            try client.send("GET", url, ["X-Key: \(Self.standIn)", "X-Other: 1"])
            let connection = try origin.accept()
            #expect(try connection.request()["x-key"] == Self.secret)
            let new = try PlayedOrigin()
            let query = "t=s3cret%2fvalue-of-github&u=\(Self.secret)"
            let location = "http://\(new.authority("b.test"))/?\(query)"
            try connection.reply(302, "Location: \(location)")
            let second = try new.accept()
            let request = try second.request()
            #expect(request["x-key"] == nil)
            #expect(request["x-other"] == "1")
            #expect(request.target == "/?t=\(Self.standIn)&u=\(Self.standIn)")
            try second.reply(body: "b")
            #expect(try client.response().bodyText == "b")
            #expect(try proxy.record().list("stand_ins.elsewhere") == ["github"])
        }
    }

    @Test func `a redirect that the client follows has the stand-in in it`() async throws {
        let keys = "stand_ins: {tokens: github, in: query}"
        try await StandInTests.run("rules: [{match: {host: a.test}, \(keys)}]") {
            let client = try $0.client()
            try client.send("GET", "http://\($1.authority("a.test"))/?t=\(Self.standIn)")
            let connection = try $1.accept()
            #expect(try connection.request().target == "/?t=s3cret%2Fvalue-of-github")
            try connection.reply(302, "Location: /b?t=s3cret%2Fvalue-of-github")
            #expect(try client.response()["location"] == "/b?t=\(Self.standIn)")
        }
    }

    @Test func `what is stored is the owner's, under the stand-in and never on disk`()
        async throws
    {
        let rules = """
            cache: {store: {path: DIR/cache}}
            rules:
              - {match: {host: a.test}, cache: standard}
              - match: {host: a.test, path: /own}
                stand_ins: {tokens: [github], in: [query]}
            """
        let users = LocalUsers()
        try await StandInTests.run(rules, identify: users) { proxy, origin in
            let url = "http://\(origin.authority("a.test"))/own?t=\(Self.standIn)"
            let client = try proxy.client()
            try client.send("GET", url)
            let connection = try origin.accept()
            #expect(try connection.request().target == "/own?t=s3cret%2Fvalue-of-github")
            let cacheControl = "Cache-Control: public, max-age=60"
            try connection.reply(200, cacheControl, "Connection: close", body: "mine")
            #expect(try client.response().bodyText == "mine")
            let again = try client.get(url)
            #expect(again.bodyText == "mine")
            #expect(again["cache-status"]?.contains("; hit") == true)
            #expect(try users.stranger(proxy).get(url).status == 403)
            // Without the stand-in it is another URL.
            try client.send("GET", "http://\(origin.authority("a.test"))/own?t=\(Self.secret)")
            let other = try origin.accept()
            _ = try other.request()
            try other.reply(body: "another")
            #expect(try client.response().bodyText == "another")
        }
    }
}
