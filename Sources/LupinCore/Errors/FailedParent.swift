// Which parent proxy failed, and what it answered.

/// The parent proxy that failed, or refused.
///
/// A class: errors are part of every record, and a rare thing of one word makes them cheap to copy.
package final class FailedParent: Sendable, Equatable {
    /// Its `host:port`.
    package let endpoint: String
    /// The rule that names it; nil where the settings do.
    package let rule: String?
    /// The status with which it refused the request or the tunnel; nil where it gave no response.
    package let status: UInt16?
    /// What it said by a 407 to a client; nil for anything else.
    package let challenge: ParentChallenge?

    package init(
        endpoint: String,
        rule: String? = nil,
        status: UInt16? = nil,
        challenge: ParentChallenge? = nil
    ) {
        self.endpoint = endpoint
        self.rule = rule
        self.status = status
        self.challenge = challenge
    }

    package static func == (left: FailedParent, right: FailedParent) -> Bool {
        (left.endpoint, left.rule, left.status, left.challenge)
            == (right.endpoint, right.rule, right.status, right.challenge)
    }

    /// Why a parent proxy that offers `challenges` did not let in lupin with its own user and
    /// password; `wasRepeated` is false if the body of the request was not kept.
    package static func reason(
        for challenges: [AuthenticationChallenge],
        wasRepeated: Bool
    ) -> String {
        let foreign = challenges.foreignSchemes
        if !foreign.isEmpty {
            return
                "The parent proxy offers only \(foreign.joined(separator: ", ")), by which lupin "
                + "does not log in. A client may do so itself, where the rules file has no user "
                + "and password for that proxy."
        }
        if !wasRepeated, challenges.offers("Digest") {
            return "The parent proxy asks for Digest, and the body of the request was not kept: "
                + "send it again."
        }
        return "The parent proxy answered the user and password of the rules file with 407. "
            + "Are they right?"
    }

    /// `the parent proxy 127.0.0.1:3128 (rule "corp")`.
    var text: String { "the parent proxy \(endpoint)" + (rule.map { " (rule \"\($0)\")" } ?? "") }

    /// `by the parent proxy 127.0.0.1:3128`, of a response that may be the origin's as well.
    var wayText: String { "by the parent proxy \(endpoint)" }

    /// Where its user and password belong.
    var key: String { rule.map { "`proxy` of the rule \"\($0)\"" } ?? "`upstream.proxy`" }

    /// What a 407 to the client means, and what helps; `isInside` where it came too late for it.
    func challengeText(isInside: Bool) -> String {
        let late =
            isInside
            ? rule.map {
                "lupin can ask the client only where the rule \"\($0)\" matches by the host alone"
            } : nil
        guard let challenge else {
            let remedy = late.map { ". \($0): let it, or put" } ?? ": put"
            let place = late == nil ? "the client's proxy setting, or into " : ""
            return "\(text) wants to know who asks\(remedy) user and password into \(place)\(key)."
        }
        let schemes = challenge.offers.joined(separator: ", ")
        if let scheme = challenge.refused, let refused = challenge.refusedText {
            let isOffered = challenge.offers.contains { $0.lowercased() == scheme.lowercased() }
            return "\(text) did not accept the credentials that the client sent\(refused). "
                + (schemes.isEmpty || isOffered
                    ? "Are they right?"
                    : "It offers only \(schemes), which the client has to speak.")
        }
        return "\(text) wants to know who asks, by \(schemes): lupin does not log in by that, so "
            + "the client has to." + (late.map { " \($0)." } ?? "")
    }
}

/// What a parent proxy demands of a client by a 407, where that is more than credentials.
package struct ParentChallenge: Sendable, Equatable {
    /// The scheme of the client's credentials that it refused; nil if the client sent none.
    package let refused: String?
    /// The schemes that it offers, where lupin logs in by none of them.
    package let offers: [String]

    /// A scheme that no table knows: its text may be part of a secret.
    private static let unknown = "unknown"

    /// nil where a client without credentials is asked for some that lupin could send as well.
    package init?(refused: String?, offers: [String]) {
        if refused == nil, offers.isEmpty { return nil }
        self.refused = refused
        self.offers = offers
    }

    /// Reads it from the `fields` of the 407 to a request with the `credentials` of the client.
    package init?(to credentials: String?, in fields: FieldSection) {
        let challenges = AuthenticationChallenge.challenges(in: fields, .proxyAuthenticate)
        self.init(
            refused: credentials.map { LoginStep.scheme(of: $0) ?? Self.unknown },
            offers: challenges.foreignSchemes
        )
    }

    /// ` (Basic)`, if the scheme is known; nil if nothing was refused.
    package var refusedText: String? {
        refused.map { $0 == Self.unknown ? "" : " (\($0))" }
    }
}

extension [AuthenticationChallenge] {
    /// Their schemes, where lupin logs in to a parent proxy by none of them.
    fileprivate var foreignSchemes: [String] {
        if offers("Basic") || offers("Digest") { return [] }
        return map(\.scheme)
    }
}
