// The text of a pin: `sha256/` and 44 characters of base64 (RFC 7469).

/// The text form of a public key's digest.
package enum PinText {
    /// `sha256/…` of a 32-byte digest.
    package static func text(_ digest: [UInt8]) -> String { "sha256/" + Base64Text.encode(digest) }
}
