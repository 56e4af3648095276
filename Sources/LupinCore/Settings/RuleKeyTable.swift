// Every key that a rule may have, in its three places: the rule, its match, its request steps.

/// A key of a rule, of its match or of a step, as the documentation shows it.
package struct DocumentedKey: Sendable {
    package var key: String
    /// What stands behind the key, in words or as an example.
    package var form: String
    package var sentence: String
}

/// The keys of rules, in the order of the documentation.
package enum RuleKeyTable {
    /// The keys of a rule itself.
    package static let rule = RuleKey.allCases.map(\.documented)

    package static let match: [DocumentedKey] = [
        DocumentedKey(
            key: "host",
            form: "\"*.api.example\"",
            sentence: "globs, /regex/ or {file: hosts.txt}"
        ),
        DocumentedKey(key: "scheme", form: "http", sentence: "http or https"),
        DocumentedKey(key: "port", form: "8000-8999", sentence: "ports and ranges"),
        DocumentedKey(key: "path", form: "/v1/**", sentence: "globs or /regex/, without the query"),
        DocumentedKey(key: "method", form: "[GET, HEAD]", sentence: "case-sensitive"),
        DocumentedKey(key: "header", form: "{X-Env: staging}", sentence: "field names and values"),
        DocumentedKey(key: "query", form: "{debug: \"1\"}", sentence: "parameters and values"),
        DocumentedKey(key: "client", form: "192.168.0.0/16", sentence: "addresses and networks"),
        DocumentedKey(key: "program", form: "\"curl*\"", sentence: "the client's program"),
        DocumentedKey(key: "user", form: "alice", sentence: "who the client is by listen.auth"),
        DocumentedKey(key: "not", form: "{path: /health}", sentence: "must not hold"),
    ]

    package static let step: [DocumentedKey] = [
        DocumentedKey(key: "set", form: "{X-Env: dev}", sentence: "replaces the field"),
        DocumentedKey(key: "add", form: "{X-Feature: beta}", sentence: "adds a line"),
        DocumentedKey(key: "default", form: "{Accept: text/html}", sentence: "only if absent"),
        DocumentedKey(key: "remove", form: "[Cookie, \"X-Debug-*\"]", sentence: "names or globs"),
        DocumentedKey(
            key: "rewrite",
            form: "{header: User-Agent, from: /^(\\S+).*/, to: \"$1\"}",
            sentence: "changes a value by a pattern"
        ),
        DocumentedKey(
            key: "query",
            form: "{set: {tenant: dev}, remove: [debug]}",
            sentence: "changes the query"
        ),
        DocumentedKey(
            key: "url",
            form: "{host: staging.example, port: 8080}",
            sentence: "sends the request elsewhere"
        ),
        DocumentedKey(
            key: "auth",
            form: "github",
            sentence: "attaches the credential of that token, in place of what the tool sent"
        ),
        DocumentedKey(
            key: "compress",
            form: "{with: gzip, min: 1KiB, if_encoded: skip}",
            sentence: "compresses the body: gzip or deflate"
        ),
        DocumentedKey(key: "delay", form: "0s", sentence: "waits before every attempt"),
        DocumentedKey(
            key: "body",
            form: "{replace: {from: /staging\\.example/, to: localhost}}",
            sentence: "replaces every match in a body up to 1 MiB"
        ),
        DocumentedKey(
            key: "json",
            form: "{set: {/flags/new: true}, remove: [/debug]}",
            sentence: "sets and removes values of a JSON body up to 1 MiB, by pointers"
        ),
    ]

    /// The steps that are about fields, which `cache.modify` may have.
    package static let fieldStep: [DocumentedKey] = step.filter {
        ["set", "add", "default", "remove", "rewrite"].contains($0.key)
    }

    /// The steps of `response:`.
    package static let responseStep: [DocumentedKey] =
        fieldStep + step.filter { ["body", "json"].contains($0.key) }
}

extension RuleKey {
    /// What the documentation says of the key.
    fileprivate var documented: DocumentedKey {
        let (form, sentence) = formAndSentence
        return DocumentedKey(key: rawValue, form: form, sentence: sentence)
    }

    private var formAndSentence: (form: String, sentence: String) {
        switch self {
        case .name:
            ("text", "unique; without it the rule is rule@LINE")
        case .match:
            ("{host: api.example, path: /v1/**}", "whom the rule concerns; {} is everything")
        case .request:
            ("list of steps", "what changes in the request")
        case .response:
            (
                "list of steps",
                "what changes in the response: set, add, default, remove, rewrite, body, json"
            )
        case .retry:
            (
                "standard",
                "which failures are repaired: a policy's name, {use: NAME, …}, or one "
                    + "in place; absent: safe"
            )
        case .cache:
            (
                "standard",
                "which responses are stored: off, a policy's name, {use: NAME, …}, or "
                    + "one in place; absent: off"
            )
        case .trust:
            (
                "system",
                "who upstream may be: a policy's name, {use, replace: true}, or one in place"
            )
        case .validate:
            (
                "{status: 200-399, content_type: accept, then: fail}",
                "what a good response is: standard, off, or status, content_type, header, size, "
                    + "json; then fail, retry or log"
            )
        case .respond:
            (
                "{status: 403}",
                "lupin answers itself, with a body, a file or a folder: {folder: mock}; on a "
                    + "CONNECT too if it only refuses and the match tests nothing in clear"
            )
        case .redirect:
            ("pass", "who follows redirects: pass, or {follow: true, max, deny, cross_origin}")
        case .resume:
            ("false", "true: a GET that breaks off is finished by Range")
        case .throttle:
            ("none", "bytes per second: none, or {up, down}; leaf by leaf")
        case .cookies:
            ("{jar: cookies.txt}", "a file in which lupin keeps cookies for the client, or off")
        case .clientCert:
            ("none", "shown to the origin: none or {cert, key}; absent: upstream.tls.client_cert")
        case .tls:
            (
                "{min: \"1.2\"}",
                "of the upstream side: min, alpn, close_notify: optional, and ciphers as OpenSSL "
                    + "writes them"
            )
        case .intercept:
            ("auto", "true: decrypt for this rule, and answer inside")
        case .proxy:
            ("direct", "the parent proxy; absent: upstream.proxy")
        case .timeouts:
            ("{total: 90s}", "as above, leaf by leaf")
        case .log:
            ("off", "off, or {headers: all}")
        case .capture:
            (
                "{bodies: 64KiB}",
                "true, false, or {bodies}: keeps exchanges with their bodies for lupin inspect"
            )
        case .trace:
            (
                "true",
                "true: a request without a trace begins one, which the origin sees; false: never "
                    + "traced; see telemetry.otlp"
            )
        case .stop:
            ("false", "no later rule is looked at")
        case .standIns:
            (
                "[github]",
                "the tokens whose stand-ins are exchanged for the credential in fields that carry "
                    + "credentials, or {tokens, in: [fields, query, path]}; auth exchanges its own"
            )
        case .scrub:
            (
                "true",
                "true: the credentials of the request's tokens are masked in responses; absent: "
                    + "where a stand-in may be exchanged"
            )
        case .crossSite:
            (
                "[\"https://app.example\"]",
                "the web pages of other sites whose requests get the credentials of the rule: "
                    + "origins, or any; absent: none, they get 403"
            )
        }
    }
}
