// Why there is no credential: the failure, its message, and whether it may pass.

/// Why a credential could not be obtained.
///
/// It contains nothing secret: no part of a body, and no output of a program.
package struct TokenFailure: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// The source returned an empty credential, or none.
        case missing
        /// A secret file can't be read; `reason` completes "cannot read PATH: …".
        case file(path: String, reason: String)
        /// The program for the credential failed.
        case command(program: String, CommandProblem)
        /// The token server gave no answer; `reason` is a sentence about the connection.
        case unreachable(host: String, reason: String)
        /// The certificate of the token server is not trusted; `reason` says why.
        case untrusted(host: String, reason: String)
        /// The token server points to another place, where no credential is sent.
        case redirected(host: String, status: UInt16, target: String)
        /// The token server refused (RFC 6749 §5.2).
        case refused(host: String, status: UInt16, error: String?)
        /// The answer of the token server cannot be used; `reason` completes "its answer …".
        case malformed(host: String, status: UInt16, reason: String)
        /// More refreshes than `refresh.max` in `refresh.window`.
        case excessive
        /// The credential can't be sent in a field; `reason` completes "the credential …".
        case unusable(reason: String)
    }

    package enum CommandProblem: Sendable, Equatable {
        case cannotStart(reason: String)
        case exit(code: Int32)
        case timeout
        case outputTooLong
        case outputNotText
    }

    package var kind: Kind
    /// The wait that the token server requested, in seconds; bounded.
    package var retryAfterSeconds: UInt64?

    /// What the token server was asked for; nil for other sources.
    package var grant: OAuth2Source.Grant?
    /// How often the token server was asked.
    package var tries = 1
    /// The seconds until the source is asked again; nil where it was asked just now.
    package private(set) var heldSeconds: UInt64?

    package init(
        _ kind: Kind,
        retryAfterSeconds: UInt64? = nil,
        grant: OAuth2Source.Grant? = nil
    ) {
        self.kind = kind
        self.retryAfterSeconds = retryAfterSeconds
        self.grant = grant
    }

    /// The same failure for a request that asks during the back-off.
    package func held(microseconds: UInt64) -> TokenFailure {
        var held = self
        held.heldSeconds = microseconds / 1_000_000 + (microseconds % 1_000_000 > 0 ? 1 : 0)
        return held
    }

    /// Whether the token server has said when it may be asked again.
    package var isByServersWish: Bool { (retryAfterSeconds ?? 0) > 0 }

    /// Whether a retry is useless until a user changes something.
    ///
    /// | Failure | Permanent | Because |
    /// |---|---|---|
    /// | missing, unusable | yes | the source says the same the next time |
    /// | file | yes | a user must write it or change its mode |
    /// | command: cannot start | yes | it is not there, or no program |
    /// | command: exit, timeout | no | what it asks may be away for a moment |
    /// | command: too long, not text | yes | it prints something else than a credential |
    /// | unreachable | no | networks come back |
    /// | untrusted | no | a captive portal shows such a certificate |
    /// | redirected | yes | a user must write the other address |
    /// | refused | by code and status | see `isPermanent(status:error:)` |
    /// | malformed | no | a captive portal or a broken gateway answers like this |
    /// | excessive | no | the window passes |
    package var isPermanent: Bool {
        switch kind {
        case .missing, .unusable, .file, .redirected: true
        case .command(_, let problem):
            switch problem {
            case .cannotStart, .outputTooLong, .outputNotText: true
            case .exit, .timeout: false
            }
        case .refused(_, let status, let error):
            TokenFailure.isPermanent(status: status, error: error)
        case .unreachable, .untrusted, .malformed, .excessive: false
        }
    }

    /// Whether an error of RFC 6749 §5.2, or else the status alone, will recur at the next try.
    package static func isPermanent(status: UInt16, error: String?) -> Bool {
        switch error {
        case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
            "unsupported_grant_type", "invalid_scope":
            return true
        case "temporarily_unavailable", "server_error", "slow_down":
            return false
        default:
            break
        }
        switch status {
        // Timeout, too early, too many: the same request may succeed a little later.
        case 408, 425, 429: return false
        case 500...: return false
        // 2xx with an unknown error, redirects (which are not followed) and refusals.
        default: return true
        }
    }
}

// MARK: Messages

extension TokenFailure {
    /// What failed and what to try, for users; `token` is the name in the rules file.
    package func sentence(token: String) -> String {
        let held = heldSeconds.map { " lupin asks for it again in \($0) s." } ?? ""
        let tried = tries > 1 ? " lupin has asked \(tries) times." : ""
        return ownSentence(token) + tried + held
    }

    private func ownSentence(_ token: String) -> String {
        let subject = "The credential \"\(token)\""
        switch kind {
        case .missing:
            return "\(subject) is empty. Check its source under `tokens` in the rules file."
        case .file(let path, let reason):
            return "\(subject) is not available: cannot read \(path): \(reason)."
        case .command(let program, let problem):
            return "\(subject) is not available: \(problem.clause(program: program))."
        case .unreachable(let host, let reason):
            return "\(subject) is not available: its token server \(host) gave no answer"
                + " (\(reason)). Check the network, or try again."
        case .untrusted(let host, let reason):
            return "\(subject) is not available: the certificate of its token server \(host) is not"
                + " trusted (\(reason)). If its CA is yours, name it in `upstream.tls.roots`."
        case .redirected(let host, let status, let target):
            return
                "\(subject) is not available: \(host) answered \(status) and points to \(target)."
                + " No credential is sent there; if that is the token server, write it into `url`."
        case .refused(let host, let status, let error):
            let code = error.map { ", \($0)" } ?? ""
            return "\(subject) is not available: \(host) refused to issue it"
                + " (\(status)\(code)). \(advice(error, status))"
        case .malformed(let host, let status, let reason):
            return "\(subject) is not available: \(host) answered \(status), but its answer"
                + " \(reason)."
        case .excessive:
            return "\(subject) was refreshed too often in a short time, and the server still"
                + " refuses it or lets it expire at once. Its rights may not be enough."
        case .unusable(let reason):
            return "\(subject) cannot be sent: the credential \(reason)."
        }
    }

    private func advice(_ error: String?, _ status: UInt16) -> String {
        switch (error, grant) {
        case ("invalid_client", _): return "Check `client: {id, secret, send}`."
        case ("invalid_grant", .clientCredentials):
            return "It gives this client nothing for client_credentials: check `client`, `scope`"
                + " and `params`, and whether the client is enabled there."
        case ("invalid_grant", _):
            return "The refresh token was used up or withdrawn: get a new one."
        case ("invalid_scope", _): return "Check `scope`."
        case ("unauthorized_client", _), ("unsupported_grant_type", _):
            return "This client may not use this `grant`."
        default:
            if isPermanent { return "Check its `oauth2` settings." }
            return "Try again shortly."
        }
    }
}

extension TokenFailure.CommandProblem {
    fileprivate func clause(program: String) -> String {
        switch self {
        case .cannotStart(let reason): "\(program) cannot be started (\(reason))"
        case .exit(let code): "\(program) ended with code \(code)"
        case .timeout:
            "\(program) did not end in time; `timeout` beside it says how long it may run"
        case .outputTooLong: "\(program) printed more than a credential"
        case .outputNotText: "\(program) printed what is not UTF-8 text"
        }
    }
}
