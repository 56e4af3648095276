// Why a server's certificates were refused, with a message.

/// A reason to refuse a server's certificates.
package struct TrustProblem: Error, Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
        /// No path to an anchor.
        case chain
        case host
        case expired
        case notYetValid = "not-yet-valid"
        case selfSigned = "self-signed"
        /// None of the pins or pinned certificates is in the path.
        case pin
        case revoked
        /// The revocation status is unknown, and the policy requires it.
        case revocation
        /// A key or signature is too weak.
        case weak
        /// Path length, name constraints, key usage and the like.
        case constraint
        /// The certificate is malformed.
        case malformed
    }

    package var kind: Kind
    /// A sentence for users.
    package var sentence: String

    package init(_ kind: Kind, _ sentence: String) {
        self.kind = kind
        self.sentence = sentence
    }
}
