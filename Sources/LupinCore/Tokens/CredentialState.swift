// When a credential is used, waited for, refreshed or given up: one value per token, no clock.
//
// Alamofire's AuthenticationInterceptor, told for a proxy. Phases and what moves between them:
//
// | Phase | Event | Next | Answer |
// |---|---|---|---|
// | any | request, credential valid and not due | same | use |
// | idle | request, valid and due | refreshing | use and refresh; nobody waits |
// | idle | request, valid and due, too many refreshes | idle | use |
// | idle | request, none or expired | refreshing | wait, start |
// | idle | request, none or expired, too many refreshes | idle | fail: excessive |
// | refreshing | request, valid | refreshing | use: a refresh after a 401 blocks no one |
// | refreshing | request, none or expired | refreshing | wait |
// | failed, pausing | request, valid | failed | use |
// | failed, pausing | request, none or expired | failed | fail: the stored failure |
// | failed, pause over | request | idle | as in idle |
// | any | 401, another version is valid now | same | replay |
// | idle | 401, this version, or nothing valid | refreshing | wait, start |
// | idle | the same, too many refreshes | idle | deliver: excessive |
// | refreshing | the same | refreshing | wait |
// | failed | the same | failed | deliver: the stored failure |
// | any | 401, the source cannot give another | same | deliver |
// | any | refreshed | idle | waiting requests go, waiting 401s replay or get their 401 |
// | any | refresh failed | failed, pausing | waiting requests fail, waiting 401s get their 401 |
// | failed | the source changed | idle | – |

/// The credential of one token, and who waits for the next one.
///
/// Who is told to start a refresh must report its end by `refreshed` or `refreshFailed`, whatever
/// becomes of the exchange that was told so.
package struct CredentialState: Sendable, Concealed {
    /// A credential with its version, which an exchange keeps for what it may hear of it.
    package struct Issued: Sendable, Equatable {
        package let credential: Credential
        package let version: Int
    }

    /// What a request does about its credential.
    package enum Advice: Sendable, Equatable {
        case use(Issued)
        /// The caller starts a refresh in the background and does not wait for it.
        case useAndRefresh(Issued)
        /// Waits for the end of a refresh, which one of them starts.
        case wait(startsRefresh: Bool)
        case fail(TokenFailure)
    }

    /// What a 401 comes to.
    package enum Rejection: Sendable, Equatable {
        /// There is another credential by now: the request is sent again with it.
        case replay
        /// Waits for the end of a refresh, then asks `settled`.
        case wait(startsRefresh: Bool)
        /// The client gets its own 401; with `startsRefresh` the next one will have it better.
        case deliver(Reason, startsRefresh: Bool = false)
    }

    /// Why a 401 is delivered as it is.
    package enum Reason: Sendable, Equatable {
        /// The source gives the same credential for ever.
        case notRefreshable
        /// More refreshes than `refresh.max` in `refresh.window`.
        case excessive
        /// The refresh for this version failed.
        case failed(TokenFailure)
        /// The refresh gave the same credential again.
        case unchanged
        /// The request cannot be sent again, or must not by `refresh.replay`.
        case notReplayable
    }

    private enum Phase: Sendable {
        /// Next: refreshing.
        case idle
        /// Next: idle, failed.
        case refreshing
        /// Next: idle, when the pause is over or the source changed; or a refresh reports late.
        case failed(TokenFailure, pauseEnd: UInt64)
    }

    private let settings: RefreshSettings
    private let isRefreshable: Bool
    private var phase = Phase.idle
    private var issued: Issued?
    private var version = 0
    /// When the refreshes of the window began, oldest first; never more than `settings.max`.
    private var starts: [UInt64] = []

    package init(settings: RefreshSettings, isRefreshable: Bool) {
        self.settings = settings
        self.isRefreshable = isRefreshable
    }

    /// The state of a token that has asked nobody yet.
    ///
    /// A source that is not refreshable is read once, at the first request.
    package init(_ definition: TokenDefinition) {
        self.init(settings: definition.refresh, isRefreshable: definition.source.isRefreshable)
    }

    /// The credential and its version, valid or not; nil before the first.
    package var current: Issued? { issued }

    // MARK: Requests

    /// Asked before a request is sent.
    package mutating func request(now: UInt64) -> Advice {
        if case .failed(let failure, let pauseEnd) = phase {
            guard now >= pauseEnd else { return valid(at: now).map { .use($0) } ?? .fail(failure) }
            phase = .idle
        }
        if let issued = valid(at: now) {
            guard case .idle = phase, isRefreshable,
                issued.credential.isDue(at: now, before: settings.before), start(now)
            else { return .use(issued) }
            return .useAndRefresh(issued)
        }
        if case .refreshing = phase { return .wait(startsRefresh: false) }
        return start(now) ? .wait(startsRefresh: true) : .fail(TokenFailure(.excessive))
    }

    /// The credential to use now; nil where `request` may say anything else than to use it.
    package func held(now: UInt64) -> Issued? {
        guard let issued = valid(at: now) else { return nil }
        guard case .idle = phase, isRefreshable else { return issued }
        return issued.credential.isDue(at: now, before: settings.before) ? nil : issued
    }

    /// Asked when a status of `refresh.on` came, at most once in an exchange.
    ///
    /// The second one is the client's, and so is one whose challenges say `isInsufficientScope`.
    ///
    /// - Parameters:
    ///   - used: The version that the request was signed with; nil when it was not.
    ///   - canReplay: Whether every byte of the request's body can be sent again.
    ///   - now: Microseconds of the credentials' clock.
    /// - Returns: What the exchange does next.
    package mutating func rejected(version used: Int?, canReplay: Bool, now: UInt64) -> Rejection {
        let mayReplay = canReplay && settings.replay
        let isCurrent = used == issued?.version && used != nil
        if !isCurrent, valid(at: now) != nil {
            return mayReplay ? .replay : .deliver(.notReplayable)
        }
        switch phase {
        case .refreshing:
            return mayReplay ? .wait(startsRefresh: false) : .deliver(.notReplayable)
        case .failed(let failure, _):
            return .deliver(.failed(failure))
        case .idle:
            // Who was never asked is not known to say nothing else.
            guard isRefreshable || issued == nil else { return .deliver(.notRefreshable) }
            guard start(now) else { return .deliver(.excessive) }
            return mayReplay
                ? .wait(startsRefresh: true) : .deliver(.notReplayable, startsRefresh: true)
        }
    }

    /// What a waiting 401 comes to when the refresh that it waited for has ended.
    package func settled(version used: Int?, now: UInt64) -> Rejection {
        if let issued = valid(at: now) {
            if used != issued.version { return .replay }
            if case .failed(let failure, _) = phase { return .deliver(.failed(failure)) }
            return .deliver(.unchanged)
        }
        if case .failed(let failure, _) = phase { return .deliver(.failed(failure)) }
        // It came and ended while the exchange was waking up.
        return .deliver(.unchanged)
    }

    // MARK: Refreshes

    /// A credential came: from a refresh, or because a file changed.
    ///
    /// - Returns: What all waiting requests use. The version counts contents: one that came again
    ///   keeps it, so a 401 for it is delivered and not replayed.
    @discardableResult
    package mutating func refreshed(_ credential: Credential) -> Issued {
        if credential.content != issued?.credential.content { version += 1 }
        let next = Issued(credential: credential, version: version)
        issued = next
        phase = .idle
        return next
    }

    /// No credential came; what is there stays until it expires.
    package mutating func refreshFailed(_ failure: TokenFailure, now: UInt64) {
        phase = .failed(failure, pauseEnd: now &+ CredentialState.pause(after: failure))
        if valid(at: now) == nil { issued = nil }
    }

    /// A secret file is another one now: the reason of the last failure may be gone.
    package mutating func sourceChanged() {
        if case .failed = phase { phase = .idle }
    }

    /// Microseconds until a new request may start the next refresh.
    ///
    /// Alamofire tries again with the next request; for all requests of a machine that would be a
    /// burst of failing ones. So one a second, or every ten seconds where the same answer is
    /// certain until somebody acts, and what the server asks for where that is longer.
    package static func pause(after failure: TokenFailure) -> UInt64 {
        let own: UInt64 = failure.isPermanent ? 10 : 1
        let wanted = min(failure.retryAfterSeconds ?? 0, pauseSecondsMax)
        return max(own, wanted) * 1_000_000
    }

    /// Longer than this no server makes all requests fail.
    private static let pauseSecondsMax: UInt64 = 60

    /// Begins a refresh, unless too many have begun in the window.
    private mutating func start(_ now: UInt64) -> Bool {
        if let window = settings.window {
            let length = window.boundedMicroseconds
            starts.removeAll { $0 <= now && now - $0 >= length }
            guard starts.count < settings.max else { return false }
            starts.append(now)
        }
        phase = .refreshing
        return true
    }

    private func valid(at now: UInt64) -> Issued? {
        guard let issued, issued.credential.isValid(at: now) else { return nil }
        return issued
    }
}
