// That a variable which shows a secret is found, however it is written.
import LupinPolicy
import Testing

struct SecretVariablesTests {
    private static let secret = "planted-s3cret-value"

    private static func shows(
        _ value: String,
        in name: String = "X",
        secrets: [String] = [secret],
        environment: [String: String] = [:]
    ) -> Bool {
        SecretVariables(secrets, in: environment).show(in: name, value)
    }

    @Test(arguments: [
        secret, "a \(secret) b", "--token=\(secret)", "https://u:\(secret)@h.test/",
        // In base64, with 0, 1 and 2 bytes before it, and for URLs.
        "cGxhbnRlZC1zM2NyZXQtdmFsdWU=", "OnBsYW50ZWQtczNjcmV0LXZhbHVl",
        "YTpwbGFudGVkLXMzY3JldC12YWx1ZQ", "Basic dTpwbGFudGVkLXMzY3JldC12YWx1ZQ==",
        "706c616e7465642d7333637265742d76616c7565", "706C616E7465642D7333637265742D76616C7565",
        "%70%6c%61%6e%74%65%64%2d%73%33%63%72%65%74%2d%76%61%6c%75%65", "planted%2Ds3cret%2Dvalue",
        #"{"token": "planted-s3cret-value"}"#, #"{"token": "planted\u002ds3cret-value"}"#,
    ])
    func `a secret is found in any form`(value: String) { #expect(Self.shows(value)) }

    @Test(arguments: ["", "planted", "plantedXs3cretXvalue", "/usr/bin:/bin", "value"])
    func `other values stay`(value: String) { #expect(!Self.shows(value)) }

    @Test(arguments: [
        "pw1", "u:pw1@h", "https://u:pw1@h.test/", "token=pw1", "a=b&k=pw1", "pw1,pw2", "\"pw1\"",
        "cHcx", "707731", "%70%77%31", "PGPASSWORD=pw1 psql",
    ])
    func `a short one is found as a whole part`(value: String) {
        #expect(Self.shows(value, secrets: ["pw1"]))
    }

    @Test(arguments: ["apw1", "pw12", "/opt/pw1/bin", "x-pw1", "pw"])
    func `and not in other words`(value: String) { #expect(!Self.shows(value, secrets: ["pw1"])) }

    @Test(arguments: [
        ("ALL_PROXY", "http://u:parent-pw@p.test:3128"), ("ftp_proxy", "u:parent-pw@p.test"),
        ("RSYNC_PROXY", "u:x@p.test:873"), ("https_proxy", "http://only-a-user@p.test"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"), ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x=y"),
    ])
    func `some are secrets by their meaning`(name: String, value: String) {
        #expect(Self.shows(value, in: name))
    }

    @Test(arguments: [
        ("ALL_PROXY", "http://p.test:3128"), ("no_proxy", "a.test,b.test"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.test:4318"),
        ("DATABASE_URL", "postgres://u:mine@db.test/x"),
    ])
    func `their relatives are not`(name: String, value: String) {
        #expect(!Self.shows(value, in: name))
    }

    @Test func `what one variable gives away, another may not hold`() {
        let environment = [
            "HTTP_PROXY": "http://u:p%40rent-password@p.test:1",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20collectors-key,x=short",
        ]
        for value in ["p@rent-password", "p%40rent-password", "collectors-key", "a=short"] {
            #expect(Self.shows(value, secrets: [], environment: environment), "\(value)")
        }
        // The pair for Basic.
        #expect(Self.shows("dTpwQHJlbnQtcGFzc3dvcmQ=", secrets: [], environment: environment))
    }
}
