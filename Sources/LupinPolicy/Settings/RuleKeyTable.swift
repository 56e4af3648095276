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
    package static let rule = RuleKey.allCases.map { key in
        DocumentedKey(key: key.rawValue, form: key.row.form, sentence: key.row.sentence)
    }

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
        DocumentedKey(
            key: "delay",
            form: "0s",
            sentence: "waits before every attempt, and before an answer of respond"
        ),
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
