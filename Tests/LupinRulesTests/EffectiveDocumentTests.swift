// The effective file: it loads again, means the same, says where each value is from, and no secret.

import LupinCore
import LupinRules
import Testing

struct EffectiveDocumentTests {
    private func effective(_ body: String) -> String {
        WrittenFile(text: "lupin: 1\n\(body)", redaction: RedactionSettings()).effectiveYAML
    }

    /// What rules mean, without the lines that they are on.
    private func meaning(_ configuration: Configuration) -> [String] {
        configuration.rules.rules.map { rule in
            var rule = rule
            rule.line = 0
            rule.keyLines = [:]
            return String(reflecting: rule)
        }
    }

    private func checkRoundTrip(
        _ body: String,
        environment: [String: String] = [:],
        files: [String: FileContents] = [:]
    ) throws {
        let first = try configuration(body, environment: environment, files: files)
        let text = effective(body)
        let again = decodeWhole(text, environment: environment, files: files)
        #expect(again.errors.report() == "", "\(text)")
        let second = try #require(again.configuration)
        var (a, b) = (first.settings, second.settings)
        for i in a.tokens.indices { a.tokens[i].line = 0 }
        for i in b.tokens.indices { b.tokens[i].line = 0 }
        #expect(a == b, "\(text)")
        #expect(meaning(first) == meaning(second), "\(text)")
        #expect(first.rules.rules.map(\.name) == second.rules.rules.map(\.name))
    }

    @Test func `the defaults are themselves`() throws {
        try checkRoundTrip("")
        #expect(effective("").contains("\n  connect: 15s                            # default\n"))
    }

    @Test func `every kind of value survives`() throws {
        try checkRoundTrip(
            #"""
            workers: 2
            listen:
              - {address: "127.0.0.1:9000", protocols: [h1]}
              - {address: "[::1]:9001"}
            access: {clients: ["::1", 10.0.0.0/8], connect_ports: [443, 8000-8999]}
            upstream:
              proxy: http://parent.example:3128
              pool: {per_host: 4}
            intercept: {except: ["*.bank.example"], client_rejects: {then: fail}}
            timeouts: {connect: 5s, total: 90s}
            limits: {body: 10MiB, h2: {resets: 5/10s}}
            log: {to: stderr, headers: [x-a], redact: {headers: ["*-mine"]}}
            tokens:
              gh: {bearer: "${env:GH}"}
              box: {basic: {user: "${env:U:-ann}", password: "${env:P}"}, hosts: ["*.dev"]}
            trust:
              lab: {all: [system, {pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}]}
            rules:
              - match: {}
                log: off
              - name: "a: #b"
                match:
                  {host: ["*.dev", /^a\.b$/], path: "/x y/**", header: {X-E: ["", "*"]},
                   not: {method: GET}}
                request:
                  - auth: gh
                  - set: {X-A: "tab\there", X-B: "it's \"q\" \\ é\u00A0", X-C: "no", X-D: '- x'}
                  - rewrite: {header: User-Agent, from: /^(\S+).*/, to: "$1 (x)"}
                  - query: {set: {t: "${header:X-T}"}, remove: [d]}
                  - auth: box
                response:
                  - remove: [Server]
                trust: lab
                validate: {status: 200-399, json: {/a: "1", /b: 1, /c: null}}
                timeouts: {total: none}
              - match: b.dev/**
                respond: {status: 451, headers: {Content-Type: text/plain}, body: "two\nlines\n"}
                stop: true
            """#,
            environment: ["GH": "ghp_1234567", "P": "geheim", "U": "eve"]
        )
    }

    @Test func `log off, block texts and aliases survive`() throws {
        try checkRoundTrip(
            """
            log: off
            rules:
              - match: &m {host: a.dev}
                respond:
                  status: 403
                  body: |
                    one
                      two
              - {match: *m, stop: true}
            """
        )
    }

    @Test func `each value says where it is from`() {
        let text = effective("\ntimeouts:\n  connect: 5s\nrules:\n  - match: {}\n    stop: true\n")
        #expect(text.contains("\n  connect: 5s                             # line 4\n"))
        #expect(text.contains("\n  - name: rule@6                          # line 6\n"))
        #expect(text.contains("\n    stop: true                            # line 7\n"))
    }

    @Test func `secrets of the file itself are never shown, references always`() {
        let text = effective(
            #"""
            upstream: {proxy: "http://u:geheim@p.dev:1"}
            tokens:
              a: {bearer: geheim}
              b: {bearer: "${env:B:-geheim}"}
              c: {basic: {user: ann, password: geheim}}
              d:
                oauth2:
                  {grant: refresh_token, url: "https://id.dev/t?key=geheim", params: {x: geheim},
                   client: {id: x, secret: geheim}, refresh_token: geheim}
              e: {bearer: "x", header: {name: X, value: "geheim ${token}"}}
            rules:
              - match: {header: {Authorization: geheim, X-A: seen}, query: {token: geheim}}
                request:
                  - set: {Cookie: geheim, Authorization: "Bearer ${secret:S}", X-B: seen}
                  - query: {set: {code: geheim}}
                  - rewrite: {header: X-Api-Key, from: "*", to: geheim}
                respond: {status: 200, headers: {Set-Cookie: geheim}}
                proxy: "http://u:${env:PW}@p.dev:1"
            """#
        )
        #expect(!text.contains("geheim"), "\(text)")
        for kept in [
            "http://u:REDACTED@p.dev:1", "${env:B:-REDACTED}", "user: ann", "Bearer ${secret:S}",
            "X-B: seen", "X-A: seen", "http://u:${env:PW}@p.dev:1", "REDACTED${token}",
        ] {
            #expect(text.contains(kept), "\(kept) is missing in \(text)")
        }
    }
}
