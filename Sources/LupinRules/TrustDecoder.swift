// Decodes `trust:`: named policies, policies in place, and the checks that a policy must not omit.

import LupinCore
import LupinPolicy

typealias TrustDefinitions = PolicyDefinitions<NamedTrustPolicy>

extension TrustDefinitions {
    init() {
        let disabled = NamedTrustPolicy(name: "disabled", policy: .disabled)
        self.init(
            key: "trust",
            words: (yes: "system", no: "disabled"),
            builtIn: [("system", .system), ("disabled", disabled)]
        )
    }
}

struct TrustDecoder {
    /// The maximum nesting: a deeper policy would be too hard to understand.
    private static let depthMax = 8
    private static let kinds = ["all", "any", "system", "pins", "certificates", "revocation"]
    private static let options = ["chain", "host", "self_signed"]
    private static let limit = "max_depth"

    let context: DecodingContext

    // MARK: Names

    func definitions(_ node: YAMLNode) -> TrustDefinitions {
        var definitions = TrustDefinitions()
        let example = "{acme: {all: [system, {pins: […]}]}}"
        let entries = context.entries(node, of: "names and policies", example: example) ?? []
        for entry in entries {
            if definitions.builtIn.contains(where: { $0.name == entry.key }) {
                let message = "the trust policy \"\(entry.key)\" is built in"
                context.error(.name, message, at: entry, hint: "choose another name")
                continue
            }
            let policy = policy(entry.value).map { NamedTrustPolicy(name: entry.key, policy: $0) }
            definitions.all.append(.init(policy: policy, entry: entry))
        }
        return definitions
    }

    /// Warns about definitions that no rule uses.
    func warnOfUnused(_ definitions: TrustDefinitions, by rules: [Rule]) {
        context.warnOfUnused(definitions, used: Set(rules.compactMap(\.trust?.policy.name)))
    }

    /// Decodes `trust:` of a rule: a name, `{use, replace}`, or a policy in place with `replace`.
    func trust(
        _ entry: YAMLNode.Entry,
        _ definitions: TrustDefinitions
    ) -> (policy: NamedTrustPolicy, replaces: Bool)? {
        guard case .map(let entries) = entry.value.content else {
            let policy = context.named(entry.value, definitions, example: "system")
            return policy.map { (policy: $0, replaces: false) }
        }
        var replaces: Bool? = false
        var policy: NamedTrustPolicy?
        for part in entries where part.key == "replace" { replaces = context.boolean(part.value) }
        var rest = entries.filter { $0.key != "replace" }
        if let use = rest.first(where: { $0.key == "use" }) {
            rest.removeAll { $0.key == "use" }
            for other in rest {
                let known = ["use", "replace"]
                context.unknownKey(other, in: "trust", known: known)
            }
            policy = context.named(use.value, definitions, example: "system")
        } else {
            let node = YAMLNode(content: .map(rest), location: entry.value.location)
            let name = "trust@\(entry.keyLocation.line)"
            policy = self.policy(node).map { NamedTrustPolicy(name: name, policy: $0) }
        }
        guard let policy, let replaces else { return nil }
        return (policy: policy, replaces: replaces)
    }

    // MARK: One policy

    private func policy(_ node: YAMLNode) -> TrustPolicy? {
        policy(node, depth: 0).map { $0.grounded(isCovered: false) }
    }

    private func policy(_ node: YAMLNode, depth: Int) -> TrustPolicy? {
        switch node.content {
        case .map(let entries):
            return policy(entries, at: node, depth: depth)
        case .scalar("system", _):
            return .system(host: true)
        case .scalar("disabled", _):
            return .disabled
        case .scalar(let text, _) where !text.isEmpty:
            let hint = "a policy inside another is system, disabled, or written in place"
            context.error(.name, "unknown trust policy \"\(text)\"", at: node, hint: hint)
        case .list, .scalar:
            let message = "expected a trust policy, found \(node.kindText)"
            context.error(.type, message, at: node, hint: "write all: [system, {pins: […]}]")
        }
        return nil
    }

    private func policy(
        _ entries: [YAMLNode.Entry],
        at node: YAMLNode,
        depth: Int
    ) -> TrustPolicy? {
        let demands = entries.filter { Self.kinds.contains($0.key) }
        var isComplete = true
        let known = Self.kinds + Self.options + [Self.limit]
        for entry in entries where !known.contains(entry.key) {
            context.unknownKey(entry, in: "trust", known: known)
            isComplete = false
        }
        guard isComplete, isSelfSignedWithCertificates(entries, demands) else { return nil }
        if let entry = entries.first(where: { $0.key == Self.limit }) {
            return limited(entry, entries, demands, at: node, depth: depth)
        }
        return demanded(entries, demands, at: node, depth: depth)
    }

    /// Decodes a policy with `max_depth`, which alone means `system`.
    private func limited(
        _ limit: YAMLNode.Entry,
        _ entries: [YAMLNode.Entry],
        _ demands: [YAMLNode.Entry],
        at node: YAMLNode,
        depth: Int
    ) -> TrustPolicy? {
        let range = 0...TrustPathDemand.intermediatesMax
        guard let max = context.number(limit.value, in: range, what: limit.key) else { return nil }
        let policy: TrustPolicy?
        if demands.isEmpty {
            policy = flags(entries, of: "system").map { _ in .system(host: true) }
        } else {
            policy = demanded(entries, demands, at: node, depth: depth)
        }
        guard let policy else { return nil }
        guard policy.demandsPath else {
            let message = "\"\(limit.key)\" is for paths, and the policy demands none"
            return context.refuse(.key, message, at: limit, hint: "take it out, or chain: false")
        }
        return .limited(policy, intermediatesMax: max)
    }

    private func demanded(
        _ entries: [YAMLNode.Entry],
        _ demands: [YAMLNode.Entry],
        at node: YAMLNode,
        depth: Int
    ) -> TrustPolicy? {
        guard let demand = demands.first else {
            let hint = "write one of \(Self.kinds.joined(separator: ", "))"
            return context.refuse(.key, "a trust policy demands nothing", at: node, hint: hint)
        }
        if demands.count > 1 {
            let message = "\"\(demand.key)\" and \"\(demands[1].key)\" are two policies"
            let hint = "write all: [{\(demand.key): …}, {\(demands[1].key): …}]"
            return context.refuse(.type, message, at: demands[1], hint: hint)
        }
        guard let flags = flags(entries, of: demand.key) else { return nil }
        switch demand.key {
        case "all": return policies(demand, depth).map { .all($0) }
        case "any": return policies(demand, depth).map { .any($0) }
        case "system": return system(demand.value)
        case "pins": return context.pins(demand, flags)
        case "certificates": return context.certificates(demand, flags)
        default: return context.revocation(demand.value)
        }
    }

    private func policies(_ entry: YAMLNode.Entry, _ depth: Int) -> [TrustPolicy]? {
        guard depth < Self.depthMax else {
            let message = "trust policies are nested too deeply"
            let hint = "at most \(Self.depthMax) of all and any inside each other"
            return context.refuse(.range, message, at: entry, hint: hint)
        }
        let items = context.items(entry.value)
        if items.isEmpty {
            let message = "\"\(entry.key)\" lists no policy"
            let hint = "write \(entry.key): [system]"
            return context.refuse(.trustEmpty, message, at: entry, hint: hint)
        }
        return context.all(items) { policy($0, depth: depth + 1) }
    }

    private func system(_ node: YAMLNode) -> TrustPolicy? {
        var host: Bool? = true
        for entry in context.entries(node, of: "a map", example: "system: {host: false}") ?? [] {
            if entry.key == "host" {
                host = context.boolean(entry.value)
            } else {
                context.unknownKey(entry, in: "system", known: ["host"])
                host = nil
            }
        }
        return host.map { .system(host: $0) }
    }

    // MARK: The keys beside a demand

    /// Decodes the keys beside a demand; returns nil after reporting a problem.
    private func flags(_ entries: [YAMLNode.Entry], of demand: String) -> TrustFlags? {
        var flags = TrustFlags()
        let allowed: [String: [String]] = [
            "pins": ["chain", "host"], "certificates": Self.options,
        ]
        for entry in entries where Self.options.contains(entry.key) {
            guard let value = context.boolean(entry.value) else { return nil }
            switch entry.key {
            case "chain": flags.chain = value
            case "host": flags.host = value
            default: flags.selfSigned = value
            }
            if entry.key != "self_signed", allowed[demand]?.contains(entry.key) != true {
                let hint = demand == "system" ? "write system: {host: \(value)}" : nil
                let message = "\"\(entry.key)\" does not belong to \"\(demand)\""
                return context.refuse(.key, message, at: entry, hint: hint)
            }
        }
        return flags
    }

    /// Reports `self_signed` without certificates, as Alamofire's predecessor did: it would accept
    /// any.
    private func isSelfSignedWithCertificates(
        _ entries: [YAMLNode.Entry],
        _ demands: [YAMLNode.Entry]
    ) -> Bool {
        guard let entry = entries.first(where: { $0.key == "self_signed" }),
            entry.value.scalarText != "false"
        else { return true }
        let hasCertificates = demands.contains {
            $0.key == "certificates" && !context.items($0.value).isEmpty
        }
        if hasCertificates { return true }
        let message = "\"self_signed\" without certificates would accept anybody's"
        let hint = "write the files of the certificates: certificates: [ca.pem]"
        context.error(.trustSelfSigned, message, at: entry, hint: hint)
        return false
    }
}

extension TrustPolicy {
    /// Adds `system` to every `revocation` that has no other demand.
    ///
    /// That a certificate is not revoked does not prove its owner. Alamofire's evaluator checks the
    /// chain and the name too.
    fileprivate func grounded(isCovered: Bool) -> TrustPolicy {
        switch self {
        case .revocation:
            return isCovered ? self : .all([.system(host: true), self])
        case .all(let policies):
            let covers = isCovered || policies.contains(where: \.saysWho)
            return .all(policies.map { $0.grounded(isCovered: covers) })
        case .any(let policies):
            return .any(policies.map { $0.grounded(isCovered: isCovered) })
        case .limited(let policy, let max):
            return .limited(policy.grounded(isCovered: isCovered), intermediatesMax: max)
        case .system, .certificates, .pins, .disabled:
            return self
        }
    }

    /// Whether a server that passes has proved its identity.
    private var saysWho: Bool {
        switch self {
        case .system, .certificates, .pins: true
        case .revocation, .disabled: false
        case .all(let policies): policies.contains(where: \.saysWho)
        case .any(let policies): policies.allSatisfy(\.saysWho)
        case .limited(let policy, _): policy.saysWho
        }
    }

    /// Whether some part of it validates a path to an anchor.
    package var demandsPath: Bool {
        switch self {
        case .revocation: true
        case .all(let policies), .any(let policies): policies.contains(where: \.demandsPath)
        case .limited(let policy, _): policy.demandsPath
        case .system, .certificates, .pins, .disabled: !paths.isEmpty
        }
    }
}
