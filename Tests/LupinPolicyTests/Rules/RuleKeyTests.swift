// What holds for every key of a rule, and for each that is `true` or `false`.

import LupinPolicy
import Testing

@Suite struct RuleKeyTests {
    private static let flags = RuleKey.allCases.compactMap { key -> (RuleKey, RuleFlag)? in
        if case .flag(let flag) = key.row.value { (key, flag) } else { nil }
    }

    @Test func `every key with effects of its own has one row`() {
        let special = RuleKey.allCases.compactMap { key -> RuleKey.Special? in
            if case .special(let special) = key.row.value { special } else { nil }
        }
        #expect(special == RuleKey.Special.allCases)
    }

    @Test func `a flag does what its row says, and only if it is true`() throws {
        let subject = try #require(SampleRequest()).subject
        #expect(Self.flags.count >= 3)
        for (key, flag) in Self.flags {
            for isOn in [true, false] {
                let rule = Rule.named("a") { $0.flags[key] = isOn }
                #expect(rule.clearTextNeed(of: key) == (isOn ? flag.need : ClearTextNeed.none))
                let plan = RuleSet([rule]).plan(for: subject)
                #expect(plan.flags == [key: isOn])
                #expect(plan.demands == (isOn ? flag.demands : []), "\(key.rawValue)")
                #expect(plan.attachments == (isOn ? flag.attaches : []), "\(key.rawValue)")
            }
        }
    }

    @Test func `the flag of the last rule that has one holds`() throws {
        let subject = try #require(SampleRequest()).subject
        for (key, _) in Self.flags {
            let rules = [
                Rule.named("a") { $0.flags[key] = true }, .named("b") { $0.flags[key] = false },
                .named("c"),
            ]
            #expect(RuleSet(rules).plan(for: subject).flags[key] == false, "\(key.rawValue)")
        }
    }
}
