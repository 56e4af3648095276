// What the steps of a plan did to a request.

/// The results of the steps of one plan.
package struct AppliedSteps: Sendable {
    /// Summaries of the steps that changed the request, in order.
    package var applied: [String] = []
    /// Steps that could not be applied, with the reasons.
    package var dropped: [(step: String, reason: String)] = []
    /// Whether the file names the host: such a host is exempt from the deny list's `loopback` and
    /// `private`, since the author of the rules may connect to it.
    package var isHostFromFile = false
    /// Whether a step changed the URL.
    package var isTargetChanged = false
    /// All steps so far changed something: `applied` is made at the end, or is the plan's own list.
    package var isWhole = true

    package init() {}

    /// The steps that were applied, and those that were not with the reason, for the record.
    package var notes: [String] {
        if dropped.isEmpty { return applied }
        return applied + dropped.map { "\($0.step) (dropped: \($0.reason))" }
    }

    /// Records a change other than the steps in this folder, such as `auth github`.
    package mutating func note(applied step: String) { applied.append(step) }

    /// Records a step that could not be applied, and why.
    package mutating func note(dropped step: String, because reason: String) {
        dropped.append((step: step, reason: reason))
    }
}
