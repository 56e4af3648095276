// The keys of a rule, and how each affects interception.

import LupinCore

/// A key of a rule.
///
/// Each has a row, and those that are more than `true` or `false` have exhaustive switches for what
/// they require and attach (``Special``): a new key must define all of its effects.
package enum RuleKey: String, Sendable, CaseIterable {
    case name, match, request, response, retry, cache, trust, validate, respond, redirect, resume
    case throttle, cookies
    case clientCert = "client_cert"
    case tls, intercept, proxy, timeouts, log, capture, trace, stop
    case standIns = "stand_ins"
    case scrub
    case crossSite = "cross_site"
}

/// What a key of a rule requires of a CONNECT.
package enum ClearTextNeed: Sendable, Comparable {
    /// Nothing: it applies to a tunnel too, or has no effect.
    case none
    /// Interception, unless the client refuses lupin's certificate: it is not essential.
    case convenience
    /// Interception, which no client may switch off: the key attaches, removes or demands
    /// something.
    case demand
}

extension Rule {
    /// What the whole rule requires of a CONNECT.
    var clearTextNeed: ClearTextNeed {
        let special = RuleKey.Special.allCases.map { clearTextNeed(ofSpecial: $0) }.max() ?? .none
        return flags.reduce(special) { max($0, clearTextNeed(of: $1.key)) }
    }

    /// What one of its keys requires of a CONNECT.
    package func clearTextNeed(of key: RuleKey) -> ClearTextNeed {
        switch key.row.value {
        case .flag(let flag): flags[key] == true ? flag.need : .none
        case .special(let special): clearTextNeed(ofSpecial: special)
        }
    }

    private func clearTextNeed(ofSpecial key: RuleKey.Special) -> ClearTextNeed {
        switch key {
        case .name, .match, .stop, .timeouts, .log, .throttle: .none
        // Which way a request takes is known with it alone.
        case .proxy: proxy != nil && testsClearText ? .demand : .none
        case .request: steps.map(\.clearTextNeed).max() ?? .none
        case .response: responseSteps.map(\.clearTextNeed).max() ?? .none
        case .retry: retry == nil ? .none : .convenience
        case .cache: (cache ?? nil) == nil ? .none : .convenience
        case .redirect: (redirect ?? nil) == nil ? .none : .convenience
        // Without clear text there is nothing to keep; no client breaks for that.
        case .capture: (capture ?? .off) == .off ? .none : .convenience
        case .validate: validation?.clearTextNeed ?? .none
        case .trust: trust == nil ? .none : .demand
        case .respond:
            respond.map { answersConnect && $0.isRefusal ? .none : .demand } ?? .none
        case .cookies: (cookieJar ?? nil) == nil ? .none : .demand
        // `client_cert: none` requires nothing beyond a tunnel.
        case .clientCert: (clientCertificate ?? nil) == nil ? .none : .demand
        case .tls: tls.isEmpty ? .none : .demand
        case .intercept: intercept ? .demand : .none
        // The request would go out with a stand-in that the origin does not know.
        case .standIns: standIns.isEmpty ? .none : .demand
        // It only says for which clients the other keys attach something.
        case .crossSite: .none
        }
    }
}

extension RequestStep {
    /// A step that adds something without a secret is a convenience.
    ///
    /// A step that removes something, attaches a secret or changes the target is a demand: without
    /// it, something could be sent that must not be.
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
    /// An empty policy cancels the conditions of an earlier rule.
    fileprivate var clearTextNeed: ClearTextNeed {
        if isEmpty { return .none }
        return switch action {
        case .log: .convenience
        case .fail, .retry: .demand
        }
    }
}
