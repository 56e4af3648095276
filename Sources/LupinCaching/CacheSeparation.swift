// Which facts about a client keep its responses apart from those of others in a private cache.

package import LupinCore
package import LupinPolicy

/// A fact about the client that separates responses; the store's partition is made of their values.
package enum CacheSeparation: Sendable, Hashable {
    /// The user of the client.
    case user
    /// The values of Authorization.
    case authorization([String])
    /// The values of Cookie, where one address may stand for many users, such as behind a bridge
    /// of containers. Where the user is known, Cookie separates only if Vary names it.
    case cookie([String])
}

extension CachePolicy {
    /// What separates the responses to a request with `fields`, in the order of the partition;
    /// empty in a shared cache.
    package func separations(of fields: FieldSection, isUserKnown: Bool) -> [CacheSeparation] {
        if isShared { return [] }
        var separations = [CacheSeparation.user]
        let authorization = fields.values(of: "Authorization")
        if !authorization.isEmpty { separations.append(.authorization(authorization)) }
        guard !isUserKnown else { return separations }
        let cookies = fields.values(of: "Cookie")
        if !cookies.isEmpty { separations.append(.cookie(cookies)) }
        return separations
    }
}
