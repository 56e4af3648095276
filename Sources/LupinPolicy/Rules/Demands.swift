// What rules require for an exchange besides forwarding the request and the response.

import LupinCore

/// The closed set of requirements of a plan.
///
/// A request whose plan requires nothing of ``needTask`` is served without a task, as long as there
/// is no error. The row of a key that is `true` or `false` says its requirements, and an exhaustive
/// switch in `Plan` those of the others, so every new key must define its own.
package struct Demands: OptionSet, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The request is changed before it is sent.
    package static let adapting = Demands(rawValue: 1 << 0)
    /// A wait or a fetch must end before the request can be sent.
    package static let waiting = Demands(rawValue: 1 << 1)
    /// The request's body is sent in another form.
    package static let recoding = Demands(rawValue: 1 << 2)
    /// Attempts have their own deadlines, or run in parallel.
    package static let racing = Demands(rawValue: 1 << 3)
    /// A response may cause the request to be sent again.
    package static let repeating = Demands(rawValue: 1 << 4)
    /// Every response must be inspected, whatever its status.
    package static let judging = Demands(rawValue: 1 << 5)
    /// The response may come from the cache, and may be stored in it.
    package static let storing = Demands(rawValue: 1 << 6)
    /// A rule answers, and nothing is sent upstream.
    package static let answering = Demands(rawValue: 1 << 7)
    /// Bodies are limited to a rate.
    package static let throttling = Demands(rawValue: 1 << 8)
    /// The rest of an interrupted response is fetched.
    package static let resuming = Demands(rawValue: 1 << 9)
    /// Credentials are attached, and renewed when a response refuses them.
    package static let presenting = Demands(rawValue: 1 << 10)
    /// The head of every response is validated.
    package static let validating = Demands(rawValue: 1 << 11)

    /// The body of the response is masked on its way.
    package static let scrubbing = Demands(rawValue: 1 << 12)

    /// What the exchange of stand-ins requires: the same as an `auth` step.
    package static let exchanging: Demands = [.adapting, .presenting, .repeating]

    /// The requirements that need a task from the start.
    ///
    /// Steps are applied at once, as are credentials at hand, and a response can only be inspected
    /// when it has arrived.
    package static let needTask: Demands = [
        .waiting, .recoding, .racing, .storing, .throttling, .resuming, .scrubbing,
    ]
    /// The requirements that inspect a response whatever its status.
    package static let lookAtResponses: Demands = [.judging, .presenting, .validating]
}

extension StepTraits {
    /// The requirements of the steps of a rule.
    var demands: Demands {
        var demands: Demands = isEmpty ? [] : .adapting
        if delay != nil { demands.insert(.waiting) }
        if !auth.isEmpty || !namedTokens.isEmpty {
            demands.formUnion([.presenting, .repeating])
        }
        // When a server refuses the coding, the request is repeated without it.
        if compress != nil { demands.formUnion([.recoding, .repeating, .judging]) }
        if editsBody { demands.insert(.recoding) }
        return demands
    }
}

extension RetryPolicy {
    /// The requirements of the policy before the first failure.
    var demands: Demands {
        var demands: Demands = []
        if hedge != nil || perTry != nil { demands.insert(.racing) }
        if holdBytes > 0 { demands.insert(.judging) }
        return demands
    }
}

extension ValidationPolicy {
    /// The requirements of the policy; empty when it is empty.
    var demands: Demands {
        if isEmpty { return [] }
        // The body must be received before it can be inspected, in a coding that lupin can undo:
        // the request has to ask for one.
        let looking: Demands =
            needsBody ? [.judging, .adapting] : size != nil ? .judging : .validating
        return action == .retry ? looking.union(.repeating) : looking
    }
}
