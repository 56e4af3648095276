// Explains what a cache policy does for one request: which responses answer it, what is stored, and
// for how long.

package import LupinCore
package import LupinPolicy

/// The effects of the cache on one request, for people.
package struct CachePreview: Sendable {
    /// One criterion that separates partitions.
    package enum Part: Sendable, Hashable {
        /// The user of the client; nil when only the running lupin knows it.
        case user(String?)
        /// The client's Authorization.
        case authorization
        /// The client's Cookie: its user is not known.
        case cookie
        /// The content of a QUERY.
        case content
        /// A credential that lupin attaches, such as `token github`.
        case injected(String)

        package var text: String {
            switch self {
            case .user(let name): name.map { "user \($0)" } ?? "user"
            case .authorization: "authorization"
            case .cookie: "cookie"
            case .content: "content"
            case .injected(let what): what
            }
        }
    }

    package let policy: CachePolicy
    /// Why no stored response answers the request; nil when one may.
    package let bypass: BypassReason?
    /// Why no response is stored; nil when that depends on the response.
    package let refusal: NoStoreReason?
    /// Empty when all users share responses.
    package let partition: [Part]
    /// The request carries credentials, its own or attached ones (RFC 9111 §3.5).
    package let isAuthenticated: Bool
    /// Sentences without a full stop.
    package private(set) var lines: [String] = []

    private let method: Method
    private let asked: CacheRequest

    /// Explains `policy` for a request.
    /// - Parameters:
    ///   - policy: The policy of the plan.
    ///   - head: The request of the look-up: after the steps of rules.
    ///   - hasContent: Whether a body follows.
    ///   - attachments: What lupin attaches.
    ///   - user: The name of the client's user, if known.
    ///   - isUserKnown: Whether the running lupin can tell the client's user.
    package init(
        _ policy: CachePolicy,
        of head: RequestHead,
        hasContent: Bool,
        attachments: Attachments,
        user: String?,
        isUserKnown: Bool = true
    ) {
        self.policy = policy
        method = head.method
        asked = CacheRequest(head, hasContent: hasContent, isKeyed: true)
        bypass = asked.bypass
        let hasAuthorization = head.fields.first(.authorization) != nil
        isAuthenticated = hasAuthorization || attachments.storing >= .asAuthenticated
        refusal = asked.refusal(method: head.method)
        let separations = policy.separations(of: head.fields, isUserKnown: isUserKnown)
        partition =
            separations.map { separation in
                switch separation {
                case .user: .user(user)
                case .authorization: .authorization
                case .cookie: .cookie
                }
            } + (method == .query ? [.content] : []) + attachments.texts.map { .injected($0) }
        guard method != .purge else {
            lines = purgeLines
            return
        }
        lines = overrideLines + [partitionLine, answerLine, storeLine]
        lines += unsafeLine + cookieLine(head) + rangeLine
        guard refusal == nil else { return }
        lines += [lifetimeLine, staleLine] + workLines
    }

    // MARK: Partition

    private var overrideLines: [String] {
        let overrides = policy.overrides
        return overrides.isEmpty
            ? [] : ["OVERRIDES the origin: \(overrides.joined(separator: ", "))"]
    }

    private var partitionLine: String {
        let apart = partition.compactMap { part -> String? in
            switch part {
            case .user: nil
            case .authorization: "its Authorization"
            case .cookie: "its Cookie, since its user is not known"
            case .content: "its content, if that is no longer than replay_body"
            case .injected(let what): what
            }
        }
        let suffix = apart.isEmpty ? "" : ", apart by \(apart.joined(separator: " and "))"
        guard case .user(let name)? = partition.first else { return "shared by all users\(suffix)" }
        return "private: \(name.map { "for user \($0) alone" } ?? "for each user alone")\(suffix)"
    }

    // MARK: Answers

    private var answerLine: String {
        if let bypass {
            let ending = asked.mayForward ? "" : ", and only-if-cached asks for nothing else: 504"
            return "never answered from the cache: \(bypass.rawValue) (\(bypass.sentence))\(ending)"
        }
        let asks = asked.directives
        var conditions: [String] = []
        if asks.isNoCache { conditions.append("once the origin has validated it (no-cache)") }
        if let age = asks.maxAge { conditions.append("if it is no older than \(Self.text(age))") }
        if let rest = asks.minFresh {
            conditions.append("if it stays fresh for \(Self.text(rest))")
        }
        if let most = asks.maxStale {
            let bound = most == DeltaSeconds.max ? "" : " for no more than \(Self.text(most))"
            conditions.append("though it be stale\(bound)")
        }
        if !asked.mayForward { conditions.append("or with 504 (only-if-cached)") }
        let suffix = conditions.isEmpty ? "" : ", \(conditions.joined(separator: ", "))"
        return "may be answered from the cache\(suffix)"
    }

    private var storeLine: String {
        if let refusal {
            if method == .head {
                return "its response is not stored: \(refusal.token) (it tells of a stored one, "
                    + "and may make that out of date)"
            }
            return "its response is not stored: \(refusal.token) (\(refusal.sentence))"
        }
        guard policy.isShared, isAuthenticated else {
            return "its response is stored where it allows that"
        }
        return "its response is stored only with public, must-revalidate or s-maxage: the request "
            + "is authenticated (RFC 9111 §3.5)"
    }

    private var unsafeLine: [String] {
        method.isSafe || method == .connect
            ? [] : ["if it succeeds, what is stored under its URL is out of date"]
    }

    private var purgeLines: [String] {
        [
            "what is stored of the URL is dropped, the client's and the one that steps make of it, "
                + "for everybody",
            "only for the user that lupin runs as and root, on this machine; others get 403",
        ]
    }

    private func cookieLine(_ head: RequestHead) -> [String] {
        guard refusal == nil, policy.isShared else { return [] }
        if policy.ignored.contains(.cookies) {
            return ["a response that sets cookies is stored without them"]
        }
        let carries = head.fields.value(of: "Cookie") != nil
        return carries
            ? ["it carries Cookie: a response that sets one is not stored unless it is public"] : []
    }

    private var rangeLine: [String] {
        guard bypass == nil, asked.ranges != nil else { return [] }
        return ["a range: parts that are stored answer it, and a 206 is stored as a part"]
    }

    // MARK: Times and work

    private var lifetimeLine: String {
        if let ttl = policy.ttl { return "fresh for \(Self.text(ttl)), whatever the origin says" }
        let share = Int((policy.heuristic * 100).rounded())
        return share == 0
            ? "fresh as long as the origin says"
            : "fresh as long as the origin says; else \(share)% of the time since Last-Modified, "
                + "at most 24h"
    }

    private var staleLine: String {
        var grants: [String] = []
        if policy.staleWhileRevalidate > .zero {
            grants.append("for \(Self.text(policy.staleWhileRevalidate)) while it is validated")
        }
        if policy.staleIfError > .zero {
            grants.append("for \(Self.text(policy.staleIfError)) in place of an error")
        }
        return grants.isEmpty
            ? "stale only as far as the origin grants it"
            : "stale \(grants.joined(separator: ", ")), or longer where the origin grants it"
    }

    private var workLines: [String] {
        var lines: [String] = []
        if policy.isCollapsing, asked.isCollapsible {
            lines.append("identical requests wait while it is fetched")
        }
        if policy.obeysNoVarySearch {
            lines.append("one response for all URLs that its No-Vary-Search calls equivalent")
        }
        if !policy.modify.isEmpty {
            let steps = policy.modify.map(\.summary).joined(separator: ", ")
            lines.append("changed before it is stored: \(steps)")
        }
        return lines
    }

    private static func text(_ time: Duration) -> String {
        time == .zero ? "0s" : UnitText.duration(time.milliseconds)
    }

    /// Formats seconds of a field, which may be any number.
    private static func text(_ seconds: Int64) -> String {
        let (milliseconds, isOverflow) = seconds.multipliedReportingOverflow(by: 1000)
        return isOverflow || seconds == 0 ? "\(seconds)s" : UnitText.duration(milliseconds)
    }
}

extension BypassReason {
    /// The reason for people.
    package var sentence: String {
        switch self {
        case .method: "only GET, HEAD and QUERY are"
        case .content: "the request has content, which is no part of the key"
        case .upgrade: "the connection is to speak another protocol"
        case .requestNoStore: "the request said no-store"
        case .precondition: "If-Match and If-Unmodified-Since are for the origin"
        case .login: "the client has logged in to its connection (NTLM, Negotiate)"
        }
    }
}
