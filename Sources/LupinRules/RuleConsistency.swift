// Checks rules against each other and against the settings: https that is never decrypted, pins
// that would be lost, proxies that are never used.

import LupinCore
import LupinPolicy

struct RuleConsistency {
    let context: DecodingContext
    let intercept: InterceptSettings
    let upstream: UpstreamSettings

    /// Reports problems; `rules` come with their entries in the file.
    func check(_ rules: [(rule: Rule, entries: [YAMLNode.Entry])]) {
        for (rule, entries) in rules {
            checkClearText(rule, entries)
            checkDisabled(rule, entries)
            checkProxy(rule, entries)
        }
        for finding in rules.map(\.rule).explainTrustReplacements() {
            let later = rules[finding.rule]
            guard let entry = later.entries.first(where: { $0.key == "trust" }) else { continue }
            tell(finding.kind, later.rule, after: rules[finding.earlier].rule, at: entry.value)
        }
    }

    // MARK: Clear text

    private func checkClearText(_ rule: Rule, _ entries: [YAMLNode.Entry]) {
        guard let entry = clearTextKey(of: rule, entries) else { return }
        let isHTTPEnough = RuleKey(rawValue: entry.key)?.row.isForHTTP ?? false
        let need = "the rule \"\(rule.name)\" needs https in clear text"
        switch rule.refusal(by: intercept) {
        case .mode:
            let other = "another intercept.mode"
            context.error(
                .intercept,
                "\(need), and intercept.mode is none",
                at: entry,
                hint: isHTTPEnough
                    ? "write scheme: http in its match, or \(other)" : "write \(other)"
            )
        case .exception(let host):
            let message = "\(need) for \(host.source), which is in intercept.except"
            let hint = "take it out of there or out of the rule"
            context.error(.intercept, message, at: entry, hint: hint)
        case nil:
            guard intercept.mode == .auto, rule.decryptsEverything else { return }
            let all = rule.matches.filter { $0.hosts == nil }
            let what =
                all.allSatisfy { $0.ports != nil } ? "every host on these ports" : "everything"
            context.warning(
                .intercept,
                "the rule \"\(rule.name)\" names no host: it decrypts \(what)",
                at: entry,
                hint: isHTTPEnough
                    ? "write its hosts, or scheme: http where that is enough" : "write its hosts"
            )
        }
    }

    /// The key that requires https to be decrypted.
    private func clearTextKey(of rule: Rule, _ entries: [YAMLNode.Entry]) -> YAMLNode.Entry? {
        guard rule.needsClearText else { return nil }
        return entries.first { entry in
            RuleKey(rawValue: entry.key).map { rule.clearTextNeed(of: $0) != .none } ?? false
        }
    }

    // MARK: Proxies

    /// Warns about a rule whose proxy none of its hosts goes by.
    private func checkProxy(_ rule: Rule, _ entries: [YAMLNode.Entry]) {
        guard let exception = upstream.exception(forAllOf: rule),
            let entry = entries.first(where: { $0.key == RuleKey.proxy.rawValue })
        else { return }
        let isOwnName = !exception.hasPrefix("upstream.no_proxy")
        context.warning(
            .shadow,
            "the proxy of the rule \"\(rule.name)\" is never used: its hosts go direct, since "
                + exception,
            at: entry,
            hint: isOwnName
                ? "write an address in its place, such as 127.0.0.1"
                : "write upstream: {no_proxy: []}, or only what is to go direct"
        )
    }

    // MARK: Trust

    /// Reports a rule that accepts any certificate: a warning when it names its hosts, else an
    /// error.
    private func checkDisabled(_ rule: Rule, _ entries: [YAMLNode.Entry]) {
        guard let trust = rule.trust?.policy, trust.policy.acceptsAnyone,
            let entry = entries.first(where: { $0.key == "trust" })
        else { return }
        if rule.namesHosts {
            let message = "the rule \"\(rule.name)\" accepts any certificate, of anybody"
            let hint =
                "for a CA of your own write trust: {certificates: [ca.pem], self_signed: true}"
            context.warning(.trustDisabled, message, at: entry.value, hint: hint)
        } else {
            context.error(
                .trustDisabled,
                "the trust policy \"\(trust.name)\" accepts any certificate, and the rule "
                    + "\"\(rule.name)\" does not name its hosts",
                at: entry.value,
                hint: "write host: lab.example in its match"
            )
        }
    }

    private func tell(
        _ kind: TrustReplacement.Kind,
        _ rule: Rule,
        after earlier: Rule,
        at node: YAMLNode
    ) {
        guard let trust = rule.trust, let before = earlier.trust else { return }
        let origin = "of the rule \"\(earlier.name)\" on line \(earlier.line)"
        let isDisabled = trust.policy.policy.acceptsAnyone
        switch kind {
        case .isIdle:
            context.warning(
                .trustReplaced,
                "\"\(trust.policy.name)\" never wins over the trust policy "
                    + "\"\(before.policy.name)\" \(origin)",
                at: node,
                hint: "keep their hosts apart"
            )
        case .losesPins:
            let name = trust.policy.name
            let isInPlace = name.hasPrefix("trust@")
            let remedy =
                isInPlace ? "add replace: true" : "write trust: {use: \(name), replace: true}"
            context.error(
                .trustReplaced,
                "\"\(name)\" would replace \"\(before.policy.name)\" \(origin), which holds pins",
                at: node,
                hint: isDisabled
                    ? "disabled never wins over a policy; keep their hosts apart"
                    : "\(remedy) if that is meant"
            )
        }
    }
}
