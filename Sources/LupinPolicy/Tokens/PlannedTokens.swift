// The tokens of a plan: what the engine presents for it, and `explain` shows.

/// The tokens that the rules of one request name, by what becomes of their credentials.
package struct PlannedTokens: Sendable {
    /// Those of `auth` steps; a later one replaces an earlier one for the same field.
    package let attached: [TokenDefinition]
    /// Those that values of steps name, by `${token:…}`.
    package let named: [TokenDefinition]
    /// Those whose stand-ins are exchanged: of `auth` steps and of `stand_ins`.
    package let exchanged: [TokenDefinition]

    /// Looks up the names in `tokens`, those of the file; others are left out.
    package init(of plan: Plan, from tokens: [String: TokenDefinition]) {
        var attached: [TokenDefinition] = []
        for name in plan.auth {
            guard let token = tokens[name] else { continue }
            let field = token.field.name.lowercased()
            attached.removeAll { $0.field.name.lowercased() == field }
            attached.append(token)
        }
        self.attached = attached
        named = plan.namedTokens.compactMap { tokens[$0] }
        exchanged = plan.standIns.compactMap { tokens[$0] }
    }
}
