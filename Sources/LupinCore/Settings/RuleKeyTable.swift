// Every key that a rule may have, in its three places: the rule, its match, its request steps.

/// One key of a rule.
package struct RuleKey: Sendable {
    package var key: String
    /// What stands behind the key, in words or as an example.
    package var form: String
    package var sentence: String
    package var availability = Setting.Availability.now
    /// Values that are accepted while the key is not available, because they ask for nothing.
    package var offValues: [String] = []
}

/// The keys of rules, in the order of the documentation.
package enum RuleKeyTable {
    package static let rule: [RuleKey] = [
        RuleKey(key: "name", form: "text", sentence: "unique; without it the rule is rule@LINE"),
        RuleKey(
            key: "match",
            form: "{host: api.example, path: /v1/**}",
            sentence: "whom the rule concerns; {} is everything"
        ),
        RuleKey(key: "request", form: "list of steps", sentence: "what changes in the request"),
        RuleKey(
            key: "response",
            form: "list of steps",
            sentence: "what changes in the response: set, add, default, remove, rewrite"
        ),
        RuleKey(
            key: "retry",
            form: "standard",
            sentence: "which failures are repaired: a policy's name, {use: NAME, …}, or one in "
                + "place; absent: safe"
        ),
        RuleKey(
            key: "cache",
            form: "standard",
            sentence: "which responses are stored: off, a policy's name, {use: NAME, …}, or one in "
                + "place; absent: off"
        ),
        RuleKey(
            key: "trust",
            form: "system",
            sentence: "who upstream may be: a policy's name, {use, replace: true}, or one in place"
        ),
        RuleKey(
            key: "validate",
            form: "{status: 200-399, content_type: accept, then: fail}",
            sentence: "what a good response is: status, content_type, header, size, json; then"
                + " fail, retry or log"
        ),
        RuleKey(
            key: "respond",
            form: "{status: 403}",
            sentence: "lupin answers itself; on a CONNECT too if the match tests nothing in clear"
        ),
        RuleKey(
            key: "redirect",
            form: "pass",
            sentence: "who follows redirects: pass, or {follow: true, max, deny, cross_origin}"
        ),
        RuleKey(
            key: "resume",
            form: "false",
            sentence: "true: a GET that breaks off is finished by Range"
        ),
        RuleKey(
            key: "throttle",
            form: "none",
            sentence: "bytes per second: none, or {up, down}; leaf by leaf"
        ),
        RuleKey(
            key: "cookies",
            form: "{jar: cookies.txt}",
            sentence: "a file in which lupin keeps cookies for the client, or off"
        ),
        RuleKey(
            key: "client_cert",
            form: "none",
            sentence: "shown to the origin: none or {cert, key}; absent: upstream.tls.client_cert"
        ),
        RuleKey(
            key: "tls",
            form: "{min: \"1.2\"}",
            sentence: "of the upstream side: min, alpn, and ciphers as OpenSSL writes them"
        ),
        RuleKey(
            key: "intercept",
            form: "auto",
            sentence: "true: decrypt for this rule, and answer inside"
        ),
        RuleKey(
            key: "proxy",
            form: "direct",
            sentence: "the parent proxy; absent: upstream.proxy"
        ),
        RuleKey(key: "timeouts", form: "{total: 90s}", sentence: "as above, leaf by leaf"),
        RuleKey(key: "log", form: "off", sentence: "off, or {headers: all}"),
        RuleKey(key: "stop", form: "false", sentence: "no later rule is looked at"),
    ]

    package static let match: [RuleKey] = [
        RuleKey(key: "host", form: "\"*.api.example\"", sentence: "globs or /regex/"),
        RuleKey(key: "scheme", form: "http", sentence: "http or https"),
        RuleKey(key: "port", form: "8000-8999", sentence: "ports and ranges"),
        RuleKey(key: "path", form: "/v1/**", sentence: "globs or /regex/, without the query"),
        RuleKey(key: "method", form: "[GET, HEAD]", sentence: "case-sensitive"),
        RuleKey(key: "header", form: "{X-Env: staging}", sentence: "field names and values"),
        RuleKey(key: "query", form: "{debug: \"1\"}", sentence: "parameters and values"),
        RuleKey(key: "client", form: "192.168.0.0/16", sentence: "addresses and networks"),
        RuleKey(key: "program", form: "\"curl*\"", sentence: "the client's program"),
        RuleKey(key: "user", form: "alice", sentence: "who the client is by listen.auth"),
        RuleKey(key: "not", form: "{path: /health}", sentence: "must not hold"),
    ]

    package static let step: [RuleKey] = [
        RuleKey(key: "set", form: "{X-Env: dev}", sentence: "replaces the field"),
        RuleKey(key: "add", form: "{X-Feature: beta}", sentence: "adds a line"),
        RuleKey(key: "default", form: "{Accept: text/html}", sentence: "only if absent"),
        RuleKey(key: "remove", form: "[Cookie, \"X-Debug-*\"]", sentence: "names or globs"),
        RuleKey(
            key: "rewrite",
            form: "{header: User-Agent, from: /^(\\S+).*/, to: \"$1\"}",
            sentence: "changes a value by a pattern"
        ),
        RuleKey(
            key: "query",
            form: "{set: {tenant: dev}, remove: [debug]}",
            sentence: "changes the query"
        ),
        RuleKey(
            key: "url",
            form: "{host: staging.example, port: 8080}",
            sentence: "sends the request elsewhere"
        ),
        RuleKey(
            key: "auth",
            form: "github",
            sentence: "attaches the credential of that token, in place of what the tool sent"
        ),
        RuleKey(
            key: "compress",
            form: "{with: gzip, min: 1KiB, if_encoded: skip}",
            sentence: "compresses the body: gzip or deflate"
        ),
        RuleKey(key: "delay", form: "0s", sentence: "waits before every attempt"),
    ]

    /// The steps of `response:`: those that are about fields.
    package static let responseStep: [RuleKey] = step.filter {
        ["set", "add", "default", "remove", "rewrite"].contains($0.key)
    }
}
