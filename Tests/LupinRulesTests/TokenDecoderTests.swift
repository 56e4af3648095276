// Credentials under `tokens:`: what each source says, and what goes where it must not.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

/// The section that holds `text`, in the surroundings of a small machine.
func tokenSection(_ text: String, standings: [FileStanding] = []) -> TokenSection {
    var open = SampleFile.text("open-secret")
    open.isOpenToOthers = true
    let files = [
        "/users/ann/.secrets/nexus": SampleFile.text("nexus-secret\n"), "/etc/lupin/open": open,
        "/etc/lupin/empty": SampleFile.text("\n"), "/etc/lupin/two": SampleFile.text("a\nb\n"),
        "/etc/lupin/bytes": FileContents(bytes: [0xFF]),
    ]
    let surroundings = Surroundings(
        environment: ["TOKEN": "env-secret", "NOTHING": "", "ID": "env-client"],
        home: "/users/ann",
        directory: "/etc/lupin",
        standings: standings,
        readFile: { path throws(FileProblem) in
            guard let contents = files[path] else { throw FileProblem("there is no such file") }
            return contents
        }
    )
    return TokenSection(text: text, fileName: "lupin.yaml", surroundings: surroundings)
}

/// The one credential of a section without errors.
func tokenDefinition(
    _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> TokenDefinition {
    let section = tokenSection(text)
    #expect(section.errors.report() == "", sourceLocation: sourceLocation)
    return try #require(section.definitions.first, sourceLocation: sourceLocation)
}

/// Message, code and hint of every error, without places.
func tokenErrors(_ text: String) -> [String] {
    tokenSection(text).errors.map { "\($0.message) [\($0.code.rawValue)] \($0.hint ?? "")" }
}

struct TokenDecoderTests {
    private static let nexus = SecretText([.file(path: "/users/ann/.secrets/nexus")])

    // MARK: Sources

    @Test func `a token comes from the environment, a file or the text itself`() throws {
        let env = try tokenDefinition("gh: {bearer: \"${env:TOKEN}\"}")
        #expect(env.name == "gh")
        #expect(env.line == 1)
        #expect(env.source == .bearer(SecretText("env-secret")))
        #expect(env.field == TokenField(name: "Authorization", value: [.text("Bearer "), .token]))
        let secret = try tokenDefinition("gh: {bearer: \"x${secret:TOKEN}$$\"}")
        #expect(secret.source == .bearer(SecretText("xenv-secret$")))
        let file = try tokenDefinition("gh: {bearer: \"${file:~/.secrets/nexus}\"}")
        #expect(file.source == .bearer(Self.nexus))
        let fallback = try tokenDefinition("gh: {bearer: \"${env:NONE:-dev-token}\"}")
        #expect(fallback.source == .bearer(SecretText("dev-token")))
    }

    @Test(arguments: [("\u{FEFF}abcdef", "abcdef"), ("\u{FEFF}", "none-set"), ("a\u{FEFF}", nil)])
    func `a byte order mark at the start of a variable is dropped`(value: String, text: String?) {
        let body = "tokens: {t: {bearer: \"${env:TOK:-none-set}\"}}"
        let result = decode(body, environment: ["TOK": value])
        #expect(result.configuration?.secrets == [text ?? value])
    }

    @Test func `basic and digest have a user and a password`() throws {
        let basic = try tokenDefinition(
            "n: {basic: {user: ci, password: \"${file:~/.secrets/nexus}\", preemptive: false}}"
        )
        let user = SecretText("ci")
        #expect(basic.source == .basic(user: user, password: Self.nexus, preemptive: false))
        #expect(basic.field.value == [.text("Basic "), .token])
        let key = try tokenDefinition("n: {basic: {user: sk_live_1, password: \"\"}}")
        let none = SecretText([])
        let empty = TokenSource.basic(
            user: SecretText("sk_live_1"),
            password: none,
            preemptive: true
        )
        #expect(key.source == empty)
        let digest = try tokenDefinition("n: {digest: {user: ci, password: pass:word}}")
        #expect(digest.source == .digest(user: user, password: SecretText("pass:word")))
    }

    @Test(arguments: ["env:TOKEN", "secret:TOKEN", "file:token", "token:other", "env:TOKEN:-x"])
    func `no secret stands among the arguments of a command`(reference: String) {
        for words in ["[a, \"${\(reference)}\"]", "[env, \"T=${\(reference)}\", a]"] {
            let errors = tokenSection("v: {command: \(words)}").errors
            #expect(errors.map(\.code) == [.type])
            #expect(errors.first?.hint?.contains("env: {NAME:") == true)
        }
    }

    @Test func `a command finds secrets in its environment`() throws {
        let token = try tokenDefinition(
            "v: {command: [vault], env: {A: \"${secret:TOKEN}\", B: plain}}"
        )
        guard case .command(let source) = token.source else { return }
        #expect(source.variables.map(\.name) == ["A", "B"])
        #expect(source.variables.last?.value == SecretText("plain"))
        for text in ["{bearer: tttttt, env: {A: b}}", "{command: [a], env: {1A: b}}"] {
            #expect(!tokenSection("v: \(text)").errors.isEmpty)
        }
    }

    @Test func `a command is words, or one program`() throws {
        let vault = try tokenDefinition(
            "v: {command: [vault, read, \"-field=a b\"], every: 10m, timeout: 2s}"
        )
        var source = CommandSource(arguments: ["vault", "read", "-field=a b"])
        source.every = .seconds(600)
        source.timeout = .seconds(2)
        #expect(vault.source == .command(source))
        let one = try tokenDefinition("v: {command: ~/bin/token, every: none}")
        #expect(one.source == .command(CommandSource(arguments: ["/users/ann/bin/token"])))
        let near = try tokenDefinition("v: {command: [./token, ~/x]}")
        #expect(near.source == .command(CommandSource(arguments: ["/etc/lupin/./token", "~/x"])))
    }

    @Test func `oauth2 asks a server as a client`() throws {
        let partner = try tokenDefinition(
            """
            partner:
              oauth2:
                grant: client_credentials
                url: https://id.partner.example/oauth2/token
                client: {id: "${env:ID}", secret: "${file:~/.secrets/nexus}", send: body}
                scope: [read, write admin]
                params: {audience: "https://api.example", key: "${env:TOKEN}"}
            """
        )
        var source = OAuth2Source(
            grant: .clientCredentials,
            url: try #require(HTTPURL("https://id.partner.example/oauth2/token")),
            clientID: "env-client",
            clientSecret: Self.nexus,
            clientAuthentication: .body
        )
        source.scope = "read write admin"
        source.parameters = [
            .init(name: "audience", value: .text(SecretText("https://api.example"))),
            .init(name: "key", value: .text(SecretText("env-secret"))),
        ]
        #expect(partner.source == .oauth2(source))
    }

    @Test func `a refresh token has a store`() throws {
        let me = try tokenDefinition(
            """
            me:
              oauth2:
                grant: refresh_token
                url: http://localhost:9000/token
                client: {id: cli}
                refresh_token: first-token
                store: ~/.local/state/lupin/acme.json
            """
        )
        guard case .oauth2(let source) = me.source else {
            Issue.record("no oauth2")
            return
        }
        #expect(source.grant == .refreshToken)
        #expect(source.refreshToken == SecretText("first-token"))
        #expect(source.store == "/users/ann/.local/state/lupin/acme.json")
        #expect(source.clientAuthentication == .body)
        let unkept = tokenSection(
            "me: {oauth2: {grant: refresh_token, url: \"https://a.dev/\", client: {id: c},"
                + " refresh_token: first-token}}"
        )
        #expect(unkept.errors.isEmpty)
        #expect(unkept.warnings.map(\.code) == [.oauth])
        let warning = "when the server rotates it, the new one is lost at the next start"
        #expect(unkept.warnings.first?.message == warning)
    }

    // MARK: What all sources share

    @Test func `what is not written has its default`() throws {
        let definition = try tokenDefinition("a: {bearer: \"${env:TOKEN}\"}")
        #expect(definition.refresh == RefreshSettings())
        #expect(definition.refresh.before == nil)
        #expect(definition.refresh.window == .seconds(30))
        #expect(definition.onMissing == .fail)
        #expect(definition.hosts == [])
        #expect(!definition.plainHTTP)
        #expect(tokenSection("").definitions == [])
    }

    @Test func `what refuses a credential may be a status, a field or a value`() throws {
        let definition = try tokenDefinition(
            """
            a:
              bearer: tttttt
              refresh:
                on: [403, {status: 401, header: {WWW-Authenticate: /expired/}}, {json: {/code: 1}}]
            """
        )
        let on = definition.refresh.on
        #expect(on.map { $0.status?.text } == ["403", "401", nil])
        #expect(on.map(\.headers.count) == [0, 1, 0])
        #expect(on.map(\.needsBody) == [false, false, true])
        #expect([200, 401, 404].map(definition.refresh.minds) == [true, true, true])
    }

    @Test func `a request for a token may be JSON, and sent more often or not again`() throws {
        let more = ", encoding: json, retry: 0, params: {old: \"${token}\"}}}"
        let text =
            "a: {oauth2: {grant: client_credentials, url: \"https://id.dev/t\", client: {id: x}"
        guard case .oauth2(let source) = try tokenDefinition(text + more).source,
            case .oauth2(let usual) = try tokenDefinition(text + "}}").source
        else {
            Issue.record("no oauth2")
            return
        }
        #expect(source.encoding == .json && source.retries == 0)
        #expect(source.parameters == [.init(name: "old", value: .accessToken)])
        #expect(usual.encoding == .form && usual.retries == 2)
    }

    @Test func `every default can be written another way`() throws {
        let definition = try tokenDefinition(
            """
            a:
              bearer: "${env:TOKEN}"
              header: {name: X-Api-Key, value: "key ${token}!"}
              hosts: [api.dev, "*.api.dev"]
              plain_http: true
              on_missing: send
              refresh: {before: 30s, on: [401, 403, 401], window: none, max: 9, replay: false}
            """
        )
        let parts: [TokenField.Part] = [.text("key "), .token, .text("!")]
        #expect(definition.field == TokenField(name: "X-Api-Key", value: parts))
        #expect(definition.hosts.map(\.source) == ["api.dev", "*.api.dev"])
        #expect(definition.plainHTTP)
        #expect(definition.onMissing == .send)
        #expect(definition.refresh.before == .seconds(30))
        #expect(definition.refresh.on == [.init(status: 401), .init(status: 403)])
        #expect(definition.refresh.window == nil)
        #expect(definition.refresh.max == 9)
        #expect(!definition.refresh.replay)
        let auto = "a: {bearer: tttttt, header: {name: X}, refresh: {before: auto, window: 5s}}"
        let short = try tokenDefinition(auto)
        #expect(short.field == TokenField(name: "X", value: [.token]))
        #expect(short.refresh.before == nil)
        #expect(short.refresh.window == .seconds(5))
    }

    @Test func `a pattern that names no host gets a warning`() {
        let section = tokenSection("a: {bearer: tttttt, hosts: [\"**\", a.dev]}")
        #expect(section.definitions.count == 1)
        #expect(section.warnings.map(\.code) == [.host])
    }

    // MARK: Secrets

    @Test(
        arguments: [
            ("{bearer: literal-token}", ["literal-token"]),
            ("{bearer: \"${env:TOKEN}\"}", ["env-secret"]),
            ("{bearer: \"${file:~/.secrets/nexus}\"}", ["nexus-secret"]),
            ("{basic: {user: ci, password: pw}}", ["pw", "ci:pw"]),
            ("{basic: {user: sk_live_1, password: \"\"}}", ["sk_live_1"]),
            (
                "{digest: {user: \"${env:ID}\", password: pw}}",
                ["env-client", "pw", "env-client:pw"]
            ),
            // A mistake does not make it less secret.
            ("literal-token", ["literal-token"]), ("{basic: literal-token}", ["literal-token"]),
        ]
    )
    func `secrets are known to the record`(text: String, secrets: [String]) {
        #expect(tokenSection("a: \(text)").secrets == secrets)
    }

    @Test(arguments: [
        "{basic: {user: ci, password: hunter2, preemptiv: true}}", "{bearer: hunter2, x: 1}",
        "hunter2", "{basic: hunter2}", "{digest: hunter2}", "{oauth2: hunter2}",
        "{bearer: tttttt, header: hunter2}", "{oauth2: {client: {secret: hunter2}}}",
        "{oauth2: {client: hunter2}}", "{bearer: \"hunter2${env:NONE}\"}",
        "{oauth2: {url: \"https://hunter2:hunter2@a.dev/\", client: {id: a, secret: hunter2}}}",
        "{bearer: \"hunter2\\n\"}", "{oauth2: {grant: refresh_token, refresh_token: hunter2}}",
    ])
    func `no report shows a secret`(text: String) {
        let section = tokenSection("a: \(text)")
        #expect(!section.errors.isEmpty)
        #expect(!section.errors.report().contains("hunter2"))
        #expect(!section.warnings.report().contains("hunter2"))
    }

    @Test func `names are known also where the credential is broken`() {
        let section = tokenSection("a: {bearer: tttttt}\nb: {bearer: }\nc: {bearer: uuuuuu}")
        #expect(section.definitions.map(\.name) == ["a", "c"])
        #expect(section.definitions.map(\.line) == [1, 3])
        #expect(section.errors.map(\.line) == [2])
    }

    // MARK: Who could have written the file

    @Test func `a file with a command is written by its owner alone`() {
        let text = "v: {command: [vault, read]}"
        var file = FileStanding(path: "/etc/lupin.yaml", isDirectory: false)
        var directory = FileStanding(path: "/etc", isDirectory: true)
        #expect(tokenSection(text, standings: [file, directory]).errors.isEmpty)
        file.isWritableByOthers = true
        directory.isOwnedByUserOrRoot = false
        let errors = tokenSection(text, standings: [file, directory]).errors
        #expect(errors.map(\.code) == [.file, .file])
        #expect(errors.first?.message.hasSuffix("others can write to /etc/lupin.yaml") == true)
        #expect(errors.first?.hint == "chmod go-w /etc/lupin.yaml")
        let owner = "the directory /etc belongs to another user"
        #expect(errors.last?.message.hasSuffix(owner) == true)
        let harmless = tokenSection("v: {bearer: tttttt}", standings: [file, directory])
        #expect(harmless.errors.isEmpty)
    }
}
