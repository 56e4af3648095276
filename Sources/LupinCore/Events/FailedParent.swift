// Which parent proxy failed, and what it answered.

/// The parent proxy that failed, or refused.
///
/// A class: errors are part of every record, and a rare thing of one word makes them cheap to copy.
package final class FailedParent: Sendable, Equatable {
    /// Its `host:port`.
    package let place: String
    /// The rule that names it; nil where the settings do.
    package let rule: String?
    /// The status with which it refused the request or the tunnel; nil where it gave no response.
    package let status: UInt16?

    package init(place: String, rule: String? = nil, status: UInt16? = nil) {
        self.place = place
        self.rule = rule
        self.status = status
    }

    package static func == (left: FailedParent, right: FailedParent) -> Bool {
        (left.place, left.rule, left.status) == (right.place, right.rule, right.status)
    }

    /// Why a parent proxy that offers `challenges` did not let in lupin with its own user and
    /// password; `wasRepeated` is false if the body of the request was not kept.
    package static func reason(
        for challenges: [AuthenticationChallenge],
        wasRepeated: Bool
    ) -> String {
        let known = challenges.contains { $0.isScheme("Basic") || $0.isScheme("Digest") }
        if !known, !challenges.isEmpty {
            let schemes = challenges.map(\.scheme).joined(separator: ", ")
            return "It offers only \(schemes), by which lupin does not log in. "
                + "A client may do so itself, where no user and password stand there."
        }
        if !wasRepeated, challenges.contains(where: { $0.isScheme("Digest") }) {
            return "It asks for Digest, and the body of the request was not kept: send it again."
        }
        return "It answered them with 407. Are they right?"
    }

    /// `the parent proxy 127.0.0.1:3128 (rule "corp")`.
    var text: String { "the parent proxy \(place)" + (rule.map { " (rule \"\($0)\")" } ?? "") }

    /// `by the parent proxy 127.0.0.1:3128`, of a response that may be the origin's as well.
    var wayText: String { "by the parent proxy \(place)" }

    /// Where its user and password belong.
    var key: String { rule.map { "`proxy` of the rule \"\($0)\"" } ?? "`upstream.proxy`" }
}
