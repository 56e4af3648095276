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
            "rules: [{match: a.dev, respond: {status: 200, headers: {X-A: $HOME}}}]",
        ]
    )
    func `it is a warning in another value`(body: String) {
        let decoded = decode(body)
        #expect(decoded.errors.isEmpty)
        #expect(decoded.warnings.map(\.code) == [.environment])
    }

    @Test(
        arguments: [
            "tokens: {a: {bearer: \"${env:T}\"}}", "tokens: {a: {bearer: \"pa$word\"}}",
            "tokens: {a: {bearer: $$GITHUB_TOKEN}}", "tokens: {a: {bearer: \"a$5b$\"}}",
            "rules: [{match: a.dev, request: [{set: {X-Q: \"$top and $A\"}}]}]",
        ]
    )
    func `what is none is left alone`(body: String) {
        let decoded = decode(body, environment: ["T": "tttttt"])
        #expect(decoded.errors.isEmpty)
        #expect(!decoded.warnings.map(\.code).contains(.environment))
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
