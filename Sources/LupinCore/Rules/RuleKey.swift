// Which keys a rule may have, and what each of them needs, attaches and gives up.

/// A key of a rule.
///
/// What a key does to interception, to credentials and to the documentation is an exhaustive switch
/// over this list each time, so a new key does not compile before it says so.
package enum RuleKey: String, Sendable, CaseIterable {
    case name, match, request, response, retry, cache, trust, validate, respond, redirect, resume
    case throttle, cookies
    case clientCert = "client_cert"
    case tls, intercept, proxy, timeouts, log, stop
}

/// What a key of a rule asks of a CONNECT.
package enum ClearTextNeed: Sendable, Comparable {
    /// Nothing: it acts on a blind tunnel too, or says nothing.
    case none
    /// To be decrypted, unless the client refuses lupin's certificate: it can go without.
    case convenience
    /// To be decrypted, and no client may switch that off: the key attaches, removes or demands
    /// something.
    case demand
}

extension Rule {
    /// What the rule as a whole asks of a CONNECT.
    var clearTextNeed: ClearTextNeed {
        RuleKey.allCases.map { clearTextNeed(of: $0) }.max() ?? .none
    }

    /// What one of its keys asks of a CONNECT.
    package func clearTextNeed(of key: RuleKey) -> ClearTextNeed {
        switch key {
        case .name, .match, .stop, .proxy, .timeouts, .log, .throttle: .none
        case .request: steps.map(\.clearTextNeed).max() ?? .none
        case .response: responseSteps.map(\.clearTextNeed).max() ?? .none
        case .retry: retry == nil ? .none : .convenience
        case .cache: (cache ?? nil) == nil ? .none : .convenience
        case .redirect: (redirect ?? nil) == nil ? .none : .convenience
        case .resume: resume == true ? .convenience : .none
        case .validate: validation?.clearTextNeed ?? .none
        case .trust: trust == nil ? .none : .demand
        case .respond:
            respond.map { answersConnect && $0.isRefusal ? .none : .demand } ?? .none
        case .cookies: (cookieJar ?? nil) == nil ? .none : .demand
        // `client_cert: none` asks for nothing that a tunnel does not give.
        case .clientCert: (clientCertificate ?? nil) == nil ? .none : .demand
        case .tls: tls.isEmpty ? .none : .demand
        case .intercept: intercept ? .demand : .none
        }
    }
}

extension RequestStep {
    /// A step that adds something plain is a convenience.
    ///
    /// One that takes something away, attaches a secret or sends the request elsewhere is not:
    /// without it something goes out that must not.
    fileprivate var clearTextNeed: ClearTextNeed {
        switch self {
        case .set(_, let value), .add(_, let value), .default(_, let value): value.clearTextNeed
        case .query(let set, let remove):
            remove.isEmpty ? set.map(\.value.clearTextNeed).max() ?? .convenience : .demand
        case .compress, .delay: .convenience
        case .remove, .rewrite, .url, .auth, .edit: .demand
        }
    }
}

extension Template {
    fileprivate var clearTextNeed: ClearTextNeed { holdsSecret ? .demand : .convenience }
}

extension ValidationPolicy {
    /// An empty one takes back what an earlier rule demands.
    fileprivate var clearTextNeed: ClearTextNeed {
        if isEmpty { return .none }
        return switch action {
        case .log: .convenience
        case .fail, .retry: .demand
        }
    }
}
