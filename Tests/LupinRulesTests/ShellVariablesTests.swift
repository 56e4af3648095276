// `$NAME` is no reference: a warning in a value, an error in a credential.
import LupinRules
import Testing

struct ShellVariablesTests {
    @Test(
        arguments: [
            "tokens: {a: {bearer: $GITHUB_TOKEN}}", "tokens: {a: {bearer: \"x$GITHUB_TOKEN\"}}",
            "tokens: {a: {bearer: $token}}",
            "tokens: {a: {basic: {user: $USER, password: pppppp}}}",
            "tokens: {a: {basic: {user: u, password: $PASSWORD}}}",
            "rules: [{match: a.dev, request: [{set: {Authorization: Bearer $GITHUB_TOKEN}}]}]",
            "rules: [{match: a.dev, request: [{add: {X-Api-Key: $KEY}}]}]",
            "tokens: {a: {bearer: \"$env:GITHUB_TOKEN\"}}",
            "tokens: {a: {bearer: \"$Env:github_token\"}}",
            "tokens: {a: {bearer: \"x-$ENV:t\"}}",
            "rules: [{match: a.dev, request: [{query: {set: {api_key: $KEY}}}]}]",
            "rules: [{match: a.dev, request: [{query: {set: {key: \"a$KEY\"}}}]}]",
            "rules: [{match: a.dev, request: [{json: {set: {/auth/token: $KEY}}}]}]",
            "rules: [{match: a.dev, request: [{json: {set: {/a: {password: [$KEY]}}}}]}]",
            "upstream: {proxy: \"http://u:$PASSWORD@p.corp:3128\"}",
        ]
    )
    func `it is an error in a credential`(body: String) {
        let problems = decode(body).errors
        #expect(problems.map(\.code) == [.environment])
        #expect(problems.first?.hint?.hasPrefix("write ${env:") == true)
    }

    @Test(
        arguments: [
            "rules: [{match: a.dev, request: [{set: {X-Env: $STAGE}}]}]",
            "rules: [{match: a.dev, request: [{set: {X-Env: a-$STAGE-b}}]}]",
            "rules: [{match: a.dev, request: [{set: {X-Env: \"$env:stage\"}}]}]",
            "rules: [{match: a.dev, request: [{query: {set: {stage: $STAGE}}}]}]",
            "rules: [{match: a.dev, request: [{json: {set: {/stage: $STAGE}}}]}]",
            "rules: [{match: a.dev, respond: {status: 200, headers: {X-A: $HOME}}}]",
        ]
    )
    func `it is a warning in another value`(body: String) {
        let decoded = decode(body)
        #expect(decoded.errors.isEmpty)
        #expect(decoded.warnings.map(\.code) == [.environment])
    }

    @Test(arguments: [
        ("[echo, $FOO]", true), ("[echo, $foo]", true), ("[echo, '$$']", false),
        ("[echo, a$FOO]", false), ("[sh, -c, 'echo $FOO']", false), ("[sh, -c, $FOO]", false),
    ])
    func `no shell replaces a word of a command`(command: String, isTold: Bool) {
        let token = "tokens: {t: {command: \(command)}}\n"
        let decoded = decode(token + "rules: [{match: a.dev, request: [{auth: t}]}]")
        #expect(decoded.errors.isEmpty)
        let told = decoded.warnings.filter { $0.code == .environment }
        #expect(told.count == (isTold ? 1 : 0), "\(decoded.warnings)")
        if isTold { #expect(told.first?.message.contains("is no variable here") == true) }
    }

    @Test(
        arguments: [
            "tokens: {a: {bearer: \"${env:T}\"}}", "tokens: {a: {bearer: \"pa$word\"}}",
            "tokens: {a: {bearer: $$GITHUB_TOKEN}}", "tokens: {a: {bearer: \"a$5b$\"}}",
            "tokens: {a: {bearer: \"$$env:T\"}}", "tokens: {a: {bearer: \"pa$env:\"}}",
            "tokens: {a: {bearer: \"a~/b\"}}",
            "rules: [{match: a.dev, request: [{set: {X-Q: \"$top and $A\"}}]}]",
        ]
    )
    func `what is none is left alone`(body: String) {
        let decoded = decode(body, environment: ["T": "tttttt"])
        #expect(decoded.errors.isEmpty)
        #expect(!decoded.warnings.map(\.code).contains(.environment))
    }

    @Test(
        arguments: [
            "$(cat token.txt)", "Bearer $(cat x)", "x$(y)z", "`pass show x`", "Bearer `cmd`",
            "%TOKEN%", "%token%", "Bearer %API_TOKEN%", "{{TOKEN}}", "{{ token }}", "k-{{ x.y }}-z",
            "<token>", "<your token>", "Bearer <YOUR_API_KEY>", "<your-token's name>",
        ]
    )
    func `what other languages would replace is an error in a credential`(text: String) {
        for body in [
            "tokens: {a: {bearer: \"\(text)\"}}",
            "tokens: {a: {basic: {user: u, password: \"\(text)\"}}}",
            "rules: [{match: a.dev, request: [{set: {X-Api-Key: \"\(text)\"}}]}]",
        ] {
            let problems = decode(body).errors
            #expect(problems.map(\.code) == [.environment], "\(body)")
            let hint = problems.first?.hint ?? ""
            #expect(hint.hasPrefix("write ${env:NAME} or ${secret:PATH}"))
            #expect(hint.contains("command:"))
        }
    }

    @Test(
        arguments: [
            "http://u:%TOKEN%@p.corp:1", "http://u:{{PW}}@p.corp:1", "http://u:<password>@p.corp:1",
        ]
    )
    func `so it is for a parent proxy`(url: String) {
        #expect(decode("upstream: {proxy: \"\(url)\"}").errors.first?.code == .environment)
    }

    @Test(
        arguments: [
            "a`b", "a`b`c", "a%b", "100%", "50%off%now", "{x}", "{{", "{{}}", "a<b>c", "x<y", "<>",
            "$$(cat x)", "a$(b", "%41%42%43", "<!x>", "a%ABC%41",
        ]
    )
    func `a credential may have such characters`(text: String) {
        #expect(decode("tokens: {a: {bearer: \"\(text)\"}}").errors.isEmpty)
    }

    @Test(arguments: ["http://u:%41%42%43%44@p.corp:1", "http://u:a%ABC%41@p.corp:1"])
    func `escapes of a URL are none`(url: String) {
        let codes = decode("upstream: {proxy: \"\(url)\"}").errors.map(\.code)
        #expect(!codes.contains(.environment))
    }

    @Test func `in other values they are text`() {
        let text = "rules: [{match: a.dev, request: [{set: {X-Env: \"{{a}} %B% <c> `d`\"}}]}]"
        let decoded = decode(text)
        #expect(decoded.errors.isEmpty)
        #expect(!decoded.warnings.map(\.code).contains(.environment))
    }

    @Test func `PowerShell's form is told with its reference`() {
        let problem = decode("tokens: {a: {bearer: \"$env:GITHUB_TOKEN\"}}").errors.first
        #expect(problem?.message.hasPrefix("\"$env:GITHUB_TOKEN\" is no reference") == true)
        #expect(problem?.hint?.hasPrefix("write ${env:GITHUB_TOKEN},") == true)
    }

    @Test func `a path in a credential's place is a warning`() {
        let decoded = decode("tokens: {a: {bearer: ~/.github-token}}")
        #expect(decoded.errors.isEmpty)
        let told = decoded.warnings.filter { $0.code == .environment }
        #expect(told.map(\.hint) == ["write \"${file:~/…}\" for the content of the file"])
    }

    @Test func `a variable in braces is told the name of its reference`() {
        let problem = decode("tokens: {a: {bearer: '${GITHUB_TOKEN}'}}").errors.first
        #expect(problem?.hint == "write ${env:GITHUB_TOKEN}, or $${ for the characters")
    }

    @Test func `no part of a password is repeated`() {
        let problem = decode("tokens: {a: {bearer: \"sesame$OPENNOW\"}}").errors.first
        #expect(problem?.message.contains("OPENNOW") == false)
        #expect(problem?.hint?.contains("OPENNOW") == false)
    }
}
