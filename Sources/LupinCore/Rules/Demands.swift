// What rules ask of an exchange besides sending the request on and passing the answer back.

/// The closed set of what a plan may ask for.
///
/// A request whose plan asks for none of ``needTask`` runs from start to end without a task, for as
/// long as nothing goes wrong. Which key asks for what is an exhaustive switch in `Plan`, so a new
/// key does not compile before it says so.
package struct Demands: OptionSet, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The request is changed before it is sent.
    package static let adapting = Demands(rawValue: 1 << 0)
    /// Something is waited for, or fetched, before the request can be sent.
    package static let waiting = Demands(rawValue: 1 << 1)
    /// The request's body is sent in another form.
    package static let recoding = Demands(rawValue: 1 << 2)
    /// Attempts have deadlines of their own, or run beside each other.
    package static let racing = Demands(rawValue: 1 << 3)
    /// What is thought of a response may lead to the request being sent again.
    package static let repeating = Demands(rawValue: 1 << 4)
    /// Somebody has to look at every response, whatever its status is.
    package static let judging = Demands(rawValue: 1 << 5)
    /// The answer may come from the store, and may go there.
    package static let storing = Demands(rawValue: 1 << 6)
    /// A rule answers, and nobody is asked.
    package static let answering = Demands(rawValue: 1 << 7)
    /// Bodies keep to a rate.
    package static let throttling = Demands(rawValue: 1 << 8)
    /// The rest of an answer that breaks off is fetched.
    package static let resuming = Demands(rawValue: 1 << 9)
    /// Credentials are attached, and looked at again where a response refuses them.
    package static let presenting = Demands(rawValue: 1 << 10)
    /// The head of every response is held to something.
    package static let validating = Demands(rawValue: 1 << 11)

    /// What cannot begin without a task.
    ///
    /// Steps are applied at once, credentials where they are at hand, and whoever judges a response
    /// is asked when one is there.
    package static let needTask: Demands = [
        .waiting, .recoding, .racing, .storing, .throttling, .resuming,
    ]
    /// Why a response may be looked at whatever its status is.
    package static let lookAtResponses: Demands = [.judging, .presenting, .validating]
}

extension StepTraits {
    /// What the steps of a rule ask for.
    var demands: Demands {
        var demands: Demands = isEmpty ? [] : .adapting
        if delay != nil { demands.insert(.waiting) }
        if !auth.isEmpty || !namedTokens.isEmpty {
            demands.formUnion([.presenting, .repeating])
        }
        // A server that refuses the coding is asked again without.
        if compress != nil { demands.formUnion([.recoding, .repeating, .judging]) }
        if editsBody { demands.insert(.recoding) }
        return demands
    }
}

extension RetryPolicy {
    /// What the policy asks for before anything has failed.
    var demands: Demands {
        var demands: Demands = []
        if hedge != nil || perTry != nil { demands.insert(.racing) }
        if holdBytes > 0 { demands.insert(.judging) }
        return demands
    }
}

extension ValidationPolicy {
    /// What the policy asks for; nothing where it is empty.
    var demands: Demands {
        if isEmpty { return [] }
        // The body has to be there before it can be looked into.
        // In a coding that lupin can undo, which the request has to ask for.
        let looking: Demands =
            needsBody ? [.judging, .adapting] : size != nil ? .judging : .validating
        return action == .retry ? looking.union(.repeating) : looking
    }
}
