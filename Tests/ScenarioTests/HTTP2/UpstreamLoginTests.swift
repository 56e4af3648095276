// A request that logs in to its connection never goes over one of HTTP/2, which clients share.
import LupinTLS
import LupinTestKit
import Testing

struct UpstreamLoginTests {
    @Test(arguments: ["NTLM", "Negotiate", "kerberos", "CredSSP"])
    func `a login goes by HTTP 1_1 past the shared connection`(scheme: String) async throws {
        try await UpstreamStory.run { story in
            let (user, other) = (try story.client(), try story.client())
            let shared = try story.served(by: other)
            try user.send("GET", story.url("/in"), ["Authorization: \(scheme) one"])
            let own = try story.acceptHTTP1()
            #expect(try own.request()["authorization"] == "\(scheme) one")
            try own.reply(401, "WWW-Authenticate: \(scheme) two")
            #expect(try user.response().status == 401)
            // Somebody else's request comes between, and goes elsewhere.
            try other.send("GET", story.url("/other"))
            let between = try shared.request()
            #expect(between.path == "/other")
            #expect(between["authorization"] == nil)
            try shared.reply(to: between.stream, body: "other")
            #expect(try other.response().bodyText == "other")
            try user.send("GET", story.url("/in"), ["Authorization: \(scheme) three"])
            #expect(try own.request()["authorization"] == "\(scheme) three")
            try own.reply(body: "secret")
            #expect(try user.response().bodyText == "secret")
            // Later requests of the user's are the user's by the connection.
            try user.send("GET", story.url("/page"))
            #expect(try own.request().target == "/page")
            try own.reply(body: "page")
            #expect(try user.response().bodyText == "page")
            try other.send("GET", story.url("/last"))
            let last = try shared.request()
            #expect(last.path == "/last")
            try shared.reply(to: last.stream, body: "last")
            #expect(try other.response().bodyText == "last")
            try shared.expectNoRequest()
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `where the answer shows a login the connection is shared no longer`() async throws {
        try await UpstreamStory.run { story in
            let (user, other) = (try story.client(), try story.client())
            let shared = try story.served(by: other)
            try user.send("GET", story.url("/in"), ["Authorization: X-Corp one"])
            let first = try shared.request()
            let step: HTTP2Fields = ["www-authenticate": "X-Corp two"]
            try shared.reply(to: first.stream, 401, step)
            #expect(try user.response().status == 401)
            // The login begins anew where it can go on.
            try user.send("GET", story.url("/in"), ["Authorization: X-Corp one"])
            let own = try story.acceptHTTP1()
            #expect(try own.request()["authorization"] == "X-Corp one")
            try own.reply(401, "WWW-Authenticate: X-Corp two")
            #expect(try user.response().status == 401)
            try other.send("GET", story.url("/other"))
            let between = try story.acceptHTTP1()
            #expect(try between.request()["authorization"] == nil)
            try between.reply(body: "other")
            #expect(try other.response().bodyText == "other")
            try user.send("GET", story.url("/in"), ["Authorization: X-Corp three"])
            #expect(try own.request()["authorization"] == "X-Corp three")
            try own.reply(body: "secret")
            #expect(try user.response().bodyText == "secret")
        }
    }

    @Test func `the login of a client of HTTP 2 goes by HTTP 1_1, too`() async throws {
        try await UpstreamStory.run { story in
            let (user, other) = (try story.streams(), try story.client())
            let shared = try story.served(by: other)
            let head = story.head("GET", "/in") + ["authorization": "NTLM one"]
            let stream = try user.send(head)
            let own = try story.acceptHTTP1()
            #expect(try own.request()["authorization"] == "NTLM one")
            try own.reply(401, "WWW-Authenticate: NTLM two")
            try user.frames.expectReset(stream, .http11Required)
            // Its connection is nobody else's, not even that of another stream.
            let next = try user.send(story.head("GET", "/next"))
            let request = try shared.request()
            #expect(request.path == "/next")
            try shared.reply(to: request.stream, body: "next")
            #expect(try user.response(on: next).bodyText == "next")
            _ = try own.waitForEnd()
        }
    }

    @Test func `a login keeps nobody from HTTP 2`() async throws {
        try await UpstreamStory.run { story in
            let (user, other) = (try story.client(), try story.client())
            try user.send("GET", story.url("/in"), ["Authorization: Negotiate one"])
            let own = try story.acceptHTTP1()
            _ = try own.request()
            // Nobody waits for the login's connection, nor shares it.
            let shared = try story.served(by: other)
            try own.reply(body: "secret")
            #expect(try user.response().bodyText == "secret")
            try shared.expectNoRequest()
        }
    }

    @Test func `credentials of a rule's log in to a connection of their own`() async throws {
        let rules = """
            rules:
              - name: in
                match: {path: /in}
                request: [{set: {Authorization: "Negotiate one"}}]
            """
        try await UpstreamStory.run(rules) { story in
            let client = try story.client()
            let shared = try story.served(by: client)
            try client.send("GET", story.url("/in"))
            let own = try story.acceptHTTP1()
            #expect(try own.request()["authorization"] == "Negotiate one")
            try own.reply(body: "secret")
            #expect(try client.response().bodyText == "secret")
            try shared.expectNoRequest()
        }
    }

    @Test func `a server of HTTP 2 alone is no place for a login, and the client is told`()
        async throws
    {
        try await UpstreamStory.run(everywhere("retry: none")) { story in
            let client = try story.client()
            try client.send("POST", story.url(), ["Authorization: NTLM one"], body: "x")
            var server = try story.proxy.authority.server("origin.test", ["h2"])
            server.refusesOtherProtocols = true
            #expect(throws: TLSFailure.self) { _ = try story.origin.acceptSecurely(server) }
            let response = try client.response(to: "POST")
            #expect(response.status == 502)
            #expect(response.bodyText.contains("HTTP/1.1 alone was offered"))
        }
    }
}
