// Which tokens a plan attaches, names and exchanges, and who may use them.

import LupinPolicy
import Testing

struct PlannedTokensTests {
    private static func token(_ name: String, field: String? = nil) -> TokenDefinition {
        let source = TokenSource.bearer(SecretText("s"))
        let own = field.map { TokenField(name: $0) }
        return TokenDefinition(name: name, line: 1, source: source, field: own)
    }

    private static let tokens = [
        "first": token("first"), "second": token("second"),
        "key": token("key", field: "X-Key"), "named": token("named"), "idle": token("idle"),
    ]

    private func planned(_ change: (inout Rule) -> Void) throws -> PlannedTokens {
        let plan = RuleSet([.named("a", Match(), change)]).plan(
            for: try #require(SampleRequest()).subject
        )
        return PlannedTokens(of: plan, from: Self.tokens)
    }

    @Test func `a later token takes the field of an earlier one`() throws {
        let planned = try planned {
            $0.steps = [.auth(token: "first"), .auth(token: "key"), .auth(token: "second")]
        }
        #expect(planned.attached.map(\.name) == ["key", "second"])
        #expect(planned.named.isEmpty)
        // Its stand-in becomes the credential all the same.
        #expect(planned.exchanged.map(\.name) == ["first", "key", "second"])
    }

    @Test func `what is named is not attached, and what is unknown is nothing`() throws {
        let planned = try planned {
            $0.steps = [
                .set(name: "X-A", value: Template([.token("named"), .token("none")])),
                .auth(token: "none"),
            ]
            $0.standIns = ["idle", "none"]
        }
        #expect(planned.attached.isEmpty)
        #expect(planned.named.map(\.name) == ["named"])
        #expect(planned.exchanged.map(\.name) == ["idle"])
    }

    @Test func `names of users are those of the list, or the owner's and root`() {
        #expect(CredentialAccess.owner.admits("ann", owner: "ann"))
        #expect(CredentialAccess.owner.admits("root", owner: "ann"))
        #expect(!CredentialAccess.owner.admits("ben", owner: "ann"))
        #expect(!CredentialAccess.owner.admits("ben", owner: nil))
        #expect(CredentialAccess.any.admits("ben", owner: "ann"))
        #expect(CredentialAccess.users(["ben"]).admits("ben", owner: "ann"))
        #expect(!CredentialAccess.users(["ben"]).admits("ann", owner: "ann"))
    }
}
