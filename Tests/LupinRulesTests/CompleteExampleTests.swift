// The complete example of the format: every key is known, and what comes later says so.

import LupinRules
import Testing

struct CompleteExampleTests {
    private static let text = #"""
        lupin: 1
        workers: auto
        listen:
          - address: 127.0.0.1:8080
            protocols: [h1, h2]
            tls: off
            auth: none
        access:
          clients: [127.0.0.0/8, "::1"]
          credentials: owner
          connect_ports: any
          deny_targets: [link-local, self]
          opaque_ports: []
          ech: any
          paths: strict
        upstream:
          proxy: direct
          no_proxy: [localhost, 127.0.0.0/8, "::1"]
          tls:
            {min: "1.2", alpn: [h2, http/1.1], roots: [system], client_cert: none,
             require_trust_rule: false}
          pool: {per_host: 32, idle: 60s, streams: 100}
          dns: {ttl: 30s}
          via: true
        intercept:
          mode: auto
          except: ["*.bank.example"]
          client_rejects: {then: tunnel, for: 1h}
          ca: {cert: ~/.config/lupin/ca.pem, key: ~/.config/lupin/ca.key, leaf: 7d, key_type: p256}
        timeouts:
          client_idle: 75s
          client_header: 10s
          min_rate: none
          sniff: 200ms
          expect: 1s
          dns: 5s
          connect: 15s
          tls: 15s
          response_header: 10m
          idle: 10m
          tunnel_idle: 2h
          drain: 30s
          total: none
        limits:
          connections: 4096
          client_connections: none
          request_line: 32KiB
          header_bytes: 64KiB
          header_fields: 256
          trailer_bytes: 8KiB
          body: none
          stream_buffer: 256KiB
          replay_memory: 64MiB
          replay_disk: 1GiB
          h2:
            {streams: 100, resets: 1000/30s, control: 1000/10s, table: 4KiB, window: auto}
        tokens:
          github: {bearer: "${env:GITHUB_TOKEN}"}
          nexus:
            basic: {user: ci, password: "${file:~/.secrets/nexus}", preemptive: true}
          vault:
            command: [vault, read, -field=token, secret/api]
            every: 10m
            timeout: 5s
          partner:
            oauth2:
              grant: client_credentials
              url: https://id.partner.example/oauth2/token
              client: {id: lupin, secret: "${file:~/.secrets/partner}", send: basic}
              scope: read write
            refresh: {before: auto, on: [401], window: 30s, max: 5, replay: true}
            on_missing: fail
          me:
            oauth2:
              grant: refresh_token
              url: https://id.acme.dev/token
              client: {id: cli}
              refresh_token: "${file:~/.secrets/acme-refresh}"
              store: ~/.local/state/lupin/acme.json
        retry:
          once: {limit: 1}
          patient:
            limit: 2
            methods: [DELETE, GET, HEAD, OPTIONS, PUT, TRACE]
            status: [408, 500, 502, 503, 504]
            errors: [dns, connect, reset, timeout, tls-transient, refused-stream, goaway,
                     stale-connection]
            backoff: {base: 2, scale: 500ms, max: 10s, jitter: full}
            retry_after: {honour: true, max: 30s}
            non_idempotent: never
            replay_body: 256KiB
            replay_spill: 64MiB
            per_try: none
            hold: 0
            hedge: none
            offline_wait: 0s
            budget: {ratio: 20%, floor: 100, window: 10s, per: host}
          lost: {limit: 2, status: [], errors: [stale-connection, reset]}
        trust:
          acme:
            all:
              - system
              - pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
                       "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="]
                chain: true
                host: true
              - revocation: {method: any, require: false, network: true}
          lab:
            any:
              - system
              - certificates: [~/certs/lab-ca.pem]
                self_signed: true
        cache:
          store:
            {memory: 64MiB, disk: off, path: ~/.cache/lupin, max_object: 8MiB,
             disk_max_object: 1GiB}
          standard:
            mode: shared
            heuristic: 10%
            stale_if_error: 0s
            stale_while_revalidate: 0s
            collapse: true
            targeted: [lupin-cache-control]
            ttl: origin
            ignore: []
            variants: 16
            no_vary_search: false
            status_header: lupin
            modify: {}
        rules:
          - name: everyone
            match: {}
            log: {level: exchange}
          - name: github
            match: {host: api.github.com, scheme: https}
            request:
              - auth: github
              - default: {Accept: application/vnd.github+json}
            retry: standard
            cache: {use: standard, mode: private}
          - name: acme api
            match:
              host: ["api.acme.dev", "*.api.acme.dev"]
              path: /v1/**
              not: {path: /v1/health}
            request:
              - auth: me
              - remove: [Cookie, "X-Debug-*"]
              - set: {X-Request-Id: "${id}"}
              - add: {X-Feature: beta}
              - query: {set: {tenant: dev}, remove: [debug]}
              - rewrite: {header: User-Agent, from: /^(\S+).*/, to: "$1 (via lupin)"}
            validate: {status: 200-399, content_type: accept, then: fail}
            retry: {use: standard, non_idempotent: with-idempotency-key}
            trust: acme
            timeouts: {total: 90s}
            response:
              - remove: [Server]
          - name: staging instead of production
            match:
              {host: www.acme.dev, header: {X-Env: staging}, client: 127.0.0.1, program: "curl*"}
            request:
              - url: {host: staging.acme.dev, port: 8443, path: {from: /^\/api/, to: /v2}}
            trust: lab
            redirect: {follow: true, max: 10, deny: ["*.apple.com"]}
          - name: packages
            match: {host: [packages.example, "*.mirror.example"], method: [GET, HEAD]}
            cache: {use: standard, stale_if_error: 1d}
            retry: patient
            resume: true
            throttle: {down: 5MiB/s}
          - name: telemetry
            match: {host: "telemetry.*.example"}
            respond: {status: 403}
            stop: true
          - name: keys that the other rules do not have
            match: {port: 443, user: ann, query: {a: b}}
            cookies: off
            client_cert: none
            cache: off
            proxy: direct
            intercept: true
            tls: {min: "1.2", alpn: [http/1.1]}
            request:
              - compress: {with: gzip, min: 1KiB, if_encoded: skip}
              - delay: 0s
            log: off
        log:
          to: stdout
          format: auto
          level: exchange
          headers: names
          bodies: off
          redact: {headers: ["*-token", "*-key"], query: [code], json: [password]}
          har: off
          rotate: {size: 100MiB, keep: 5}
          sync: off
        admin:
          socket: auto
          history: 1000
          http: off
        """#

    @Test func `every key is known, and exactly those of later versions are refused`() {
        var expected: [String] = []
        for (index, line) in Self.text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            guard let mark = line.firstRange(of: "# later: ") else { continue }
            expected.append("\(index + 1) E-AVAIL \(line[mark.upperBound...])")
        }
        let files = [
            "/users/ann/certs/lab-ca.pem": SampleFile.certificate,
            "/users/ann/.secrets/nexus": FileContents(bytes: Array("n3xus-pass\n".utf8)),
            "/users/ann/.secrets/acme-refresh": FileContents(bytes: Array("first-refresh".utf8)),
            "/users/ann/.secrets/partner": FileContents(bytes: Array("partner-pass\n".utf8)),
        ]
        let environment = ["GITHUB_TOKEN": "ghp_0123456789"]
        let problems = decodeWhole(Self.text, environment: environment, files: files).errors
        let found = problems.map { problem in
            let marked = problem.excerpt.dropFirst(problem.caretOffset).prefix(problem.caretCount)
            return "\(problem.line) \(problem.code.rawValue) \(marked)"
        }
        #expect(found == expected)
    }
}
