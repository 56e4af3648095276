// What becomes of a response that is not valid, as rules say and records tell.

/// The action for a response that fails `validate:` of a rule.
package enum ValidationAction: String, Sendable, CaseIterable {
    /// The client gets 502 instead.
    case fail
    /// The attempt counts as failed, and the retry policy decides.
    case retry
    /// The client gets the response, and the record contains the failure.
    case log
}
