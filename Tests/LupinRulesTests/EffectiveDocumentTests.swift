// The effective file: it loads again, means the same, says where each value is from, and no secret.

import LupinCore
import LupinPolicy
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
            // Its sets have no order to be compared by.
            rule.retry = nil
            rule.cache = rule.cache.map { $0.map(unplaced) }
            return String(reflecting: rule)
        }
    }

    /// The policies of the rules; one in place is called by its line.
    private func policies(_ configuration: Configuration) -> [RetryPolicy?] {
        configuration.rules.rules.map { rule in
            guard var policy = rule.retry else { return nil }
            policy.name = String(policy.name.prefix { $0 != "@" })
            return policy
        }
    }

    /// A policy in place is called by its line.
    private func unplaced(_ policy: CachePolicy) -> CachePolicy {
        var policy = policy
        policy.name = String(policy.name.prefix { $0 != "@" })
        return policy
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
        #expect(policies(first) == policies(second), "\(text)")
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
              lab:
                all: [system, {pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}]
                max_depth: 3
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

    @Test func `a trust policy in place is printed as it is written`() {
        let rules = effective("rules: [{match: a.dev, trust: {all: [system], max_depth: 3}}]")
        #expect(rules.contains("trust: {all: [system], max_depth: 3}"))
    }

    @Test func `retry policies are printed in full and read back as the same ones`() throws {
        let body = """
            retry:
              "odd: name": {methods: [], status: [500-503, 429], errors: [], budget: none}
              mine:
                backoff: {base: 1.5, jitter: decorrelated}
                hedge: {after: p95}
                budget: {ratio: 7%}
                non_idempotent: always
                methods: [POST, PROPFIND]
              plain:
            rules:
              - {match: a.dev, retry: mine, resume: true}
              - {match: b.dev, retry: {use: mine, backoff: {base: 3}, limit: "${env:N:-4}"}}
              - {match: c.dev, retry: {use: safe, per_try: 5s, hedge: {after: 20ms, max: 2}}}
              - {match: d.dev, retry: {hold: 1MiB, replay_spill: 1GiB}, resume: false}
              - {match: e.dev, retry: {use: "odd: name"}}
              - {match: f.dev, retry: {}}
              - {match: g.dev, retry: {use: "${env:P:-plain}", limit: 9}}
              - {match: h.dev, retry: plain}
            """
        try checkRoundTrip(body)
        let text = effective(body)
        for line in [
            "retry:                                    # line 2",
            "    backoff: {base: 1.5, scale: 500ms, max: 10s, jitter: decorrelated}  # line 5",
            "    hold: 0                               # as in standard",
            "      use: mine                           # line 13",
            "      backoff: {base: 3, scale: 500ms, max: 10s, jitter: full}  # line 13",
            "      non_idempotent: always              # as in mine",
            "      retry_after: {honour: false, max: 30s}  # as in safe",
            "      per_try: 5s                         # line 14",
            "    resume: true                          # line 12",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line) is missing in \(text)")
        }
    }

    @Test func `the built-in retry policies stand there as remarks, each a good policy`() throws {
        let text = effective("")
        #expect(text.contains("\nretry: {}                                 # default\n"))
        let begin = try #require(text.firstRange(of: "  # Built in;"))
        let lines = text[begin.lowerBound...].split(separator: "\n").dropFirst()
            .prefix { $0.hasPrefix("  # ") }
            .map { line in
                // Under names of their own, as built-in ones can't be written.
                let bare = String(line.dropFirst(4))
                return bare.hasPrefix(" ") ? "  \(bare)" : "  my-\(bare)"
            }
        let policies = try configuration("retry:\n" + lines.joined(separator: "\n")).settings.retry
        #expect(policies.count == RetryPolicy.builtIn.count)
        for (policy, builtIn) in zip(policies, RetryPolicy.builtIn) {
            var policy = policy
            policy.name.removeFirst(3)
            #expect(policy == builtIn)
        }
    }

    @Test func `cache policies are printed in full and read back as the same ones`() throws {
        let body = """
            cache:
              "odd: name": {ignore: [vary, no-store], targeted: [], ttl: 0}
              standard: {mode: private, heuristic: 7%, targeted: [a, b]}
              mine:
                modify: {set: {X-A: "1: 2"}, remove: [Server, "X-*"]}
                status_header: off
              plain:
              store: {path: /var/cache/l}
            rules:
              - {match: a.dev, cache: mine}
              - {match: b.dev, cache: {use: mine, mode: shared, ttl: "${env:N:-4h}"}}
              - {match: c.dev, cache: {use: standard, stale_if_error: 1d}}
              - {match: d.dev, cache: {modify: [{remove: Via}]}}
              - {match: e.dev, cache: {use: "odd: name"}}
              - {match: f.dev, cache: {}}
              - {match: g.dev, cache: {use: "${env:P:-plain}", variants: 9}}
              - {match: h.dev, cache: plain}
              - {match: i.dev, cache: off}
            """
        try checkRoundTrip(body)
        let text = effective(body)
        for line in [
            "cache:", "    memory: 64MiB                         # default",
            "    path: /var/cache/l                    # line 9",
            "    heuristic: 7%                         # line 4",
            "    stale_if_error: 0s                    # default",
            "  mine:                                   # line 5",
            "    heuristic: 7%                         # as in standard",
            "    status_header: off                    # line 7",
            "      use: mine                           # line 12",
            "      mode: shared                        # line 12",
            "      status_header: off                  # as in mine",
            "      stale_if_error: 1d                  # line 13",
            "      modify: {}                          # as in standard",
            "    cache: plain                          # line 18",
            "    cache: off                            # line 19",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line) is missing in \(text)")
        }
    }

    @Test func `the defaults of the cache are printed too`() {
        let text = effective("")
        for line in [
            "    # path: ~/.cache/lupin                # default",
            "  standard:", "    targeted: [lupin-cache-control]       # default",
            "    modify: {}                            # default",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line) is missing in \(text)")
        }
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
