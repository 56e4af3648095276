// The state machine of a credential: use, wait, refresh, fail. One value per token, no clock.
//
// Alamofire's AuthenticationInterceptor, adapted to a proxy. Phases and transitions:
//
// | Phase | Event | Next | Answer |
// |---|---|---|---|
// | any | request, credential valid and not due | same | use |
// | idle | request, valid and due | refreshing | use and refresh; no request waits |
// | idle | request, valid and due, too many refreshes | idle | use |
// | idle | request, none or expired | refreshing | wait, start |
// | idle | request, none or expired, too many refreshes | idle | fail: excessive |
// | refreshing | request, valid | refreshing | use: a refresh after a 401 blocks no request |
// | refreshing | request, none or expired | refreshing | wait |
// | failed, calm | request, valid | failed | use: no refresh ahead of the end for a second |
// | failed, backing off | request, none or expired | failed | fail: the stored failure |
// | failed, that over | request | idle | as in idle |
// | any | request that waited for a refresh that failed | same | use if valid, else fail with it |
// | any | 401, another version is valid now | same | replay |
// | idle | 401, this version, or nothing valid | refreshing | wait, start |
// | idle | the same, too many refreshes | idle | deliver: excessive |
// | refreshing | the same | refreshing | wait |
// | failed, backing off | the same | failed | deliver: the stored failure |
// | failed, that over | the same | idle | as in idle |
// | any | 401, the source cannot give another | same | deliver |
// | any | refreshed | idle | waiting requests continue, waiting 401s replay or get their 401 |
// | any | refresh failed | failed | waiting requests fail, waiting 401s get their 401 |
// | failed | the source changed, and the server named no time | idle | – |

import LupinCore

/// The credential of one token, and its refreshes (single flight).
///
/// An exchange that is advised to start a refresh must report its end by `refreshed` or
/// `refreshFailed`, even if the exchange itself fails.
package struct CredentialState: Sendable, Concealed {
    /// A credential with its version, which an exchange keeps to report a rejection.
    package struct Issued: Sendable, Equatable {
        package let credential: Credential
        package let version: Int
    }

    /// What a request must do about its credential.
    package enum Advice: Sendable, Equatable {
        case use(Issued)
        /// Use it; the caller starts a refresh in the background and does not wait for it.
        case useAndRefresh(Issued)
        /// Wait for the end of a refresh, which one of the waiting requests starts.
        case wait(startsRefresh: Bool)
        case fail(TokenFailure)
    }

    /// How to handle a 401.
    package enum Rejection: Sendable, Equatable {
        /// There is a newer credential: resend the request with it.
        case replay
        /// Wait for the end of a refresh, then call `settled`.
        case wait(startsRefresh: Bool)
        /// Deliver the 401 to the client; with `startsRefresh`, refresh for the next request.
        case deliver(Reason, startsRefresh: Bool = false)
    }

    /// Why a 401 is delivered unchanged.
    package enum Reason: Sendable, Equatable {
        /// The source always returns the same credential.
        case notRefreshable
        /// More refreshes than `refresh.max` in `refresh.window`.
        case excessive
        /// The refresh for this version failed.
        case failed(TokenFailure)
        /// The refresh returned the same credential.
        case unchanged
        /// The request can't be resent, or `refresh.replay` forbids it.
        case notReplayable
    }

    private enum Phase: Sendable {
        /// Next: refreshing.
        case idle
        /// Next: idle, failed.
        case refreshing
        /// Next: idle, when the back-off is over or the source changed, or a late refresh reports.
        ///
        /// Until `calmEnd` no refresh begins ahead of a credential's end.
        case failed(TokenFailure, backOffEnd: UInt64, calmEnd: UInt64)
    }

    private let settings: RefreshSettings
    private let isRefreshable: Bool
    private var phase = Phase.idle
    private var issued: Issued?
    private var version = 0
    /// When the refreshes in the window began, oldest first; never more than `settings.max`.
    private var starts: [UInt64] = []
    /// The number of the refresh that began last, counted from 1: a request that waits keeps it.
    package private(set) var refreshNumber = 0
    /// The last refresh that failed, unless one has succeeded since.
    private var lastFailure: (number: Int, failure: TokenFailure)?

    package init(settings: RefreshSettings, isRefreshable: Bool) {
        self.settings = settings
        self.isRefreshable = isRefreshable
    }

    /// Makes the state of a token that has not been requested yet.
    ///
    /// A source that is not refreshable is read once, at the first request.
    package init(_ definition: TokenDefinition) {
        self.init(settings: definition.refresh, isRefreshable: definition.source.isRefreshable)
    }

    /// The credential and its version, valid or not; nil before the first.
    package var current: Issued? { issued }
    /// Those before it, which may still be valid, the latest last.
    private var earlier: [Credential] = []
    private static let earlierMax = 8

    /// All texts that reveal the credential of now, or an earlier one.
    package var secrets: [String] {
        (earlier + [issued?.credential].compactMap(\.self)).flatMap(\.secrets)
    }

    // MARK: Requests

    /// Call it before a request is sent.
    ///
    /// `waitedFor` is the number of the refresh that the request has waited for: its failure is
    /// the request's own, and the request starts no other.
    package mutating func request(now: UInt64, waitedFor: Int? = nil) -> Advice {
        if let waitedFor, let lastFailure, lastFailure.number >= waitedFor {
            return valid(at: now).map { .use($0) } ?? .fail(told(lastFailure.failure, now))
        }
        if case .failed(let failure, let backOffEnd, let calmEnd) = phase {
            if let issued = valid(at: now) {
                guard now >= calmEnd else { return .use(issued) }
            } else if now < backOffEnd {
                return .fail(failure.held(microseconds: backOffEnd - now))
            }
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

    /// The credential to use now; nil if `request` may return anything but use.
    package func held(now: UInt64) -> Issued? {
        guard let issued = valid(at: now) else { return nil }
        guard case .idle = phase, isRefreshable else { return issued }
        return issued.credential.isDue(at: now, before: settings.before) ? nil : issued
    }

    /// Call it when a status of `refresh.on` arrived, at most once in an exchange.
    ///
    /// Deliver a second one to the client, and also one whose challenges have
    /// `isInsufficientScope`.
    ///
    /// - Parameters:
    ///   - used: The version of the request's credential; nil without one.
    ///   - canReplay: Whether the request's whole body can be sent again.
    ///   - now: Microseconds of the credentials' clock.
    /// - Returns: The next step of the exchange.
    package mutating func rejected(version used: Int?, canReplay: Bool, now: UInt64) -> Rejection {
        let mayReplay = canReplay && settings.replay
        let isCurrent = used == issued?.version && used != nil
        if !isCurrent, valid(at: now) != nil {
            return mayReplay ? .replay : .deliver(.notReplayable)
        }
        switch phase {
        case .refreshing:
            return mayReplay ? .wait(startsRefresh: false) : .deliver(.notReplayable)
        case .failed(let failure, let backOffEnd, _) where now < backOffEnd:
            return .deliver(.failed(failure.held(microseconds: backOffEnd - now)))
        case .idle, .failed:
            // A source that was never read may still supply another credential.
            guard isRefreshable || issued == nil else { return .deliver(.notRefreshable) }
            guard start(now) else { return .deliver(.excessive) }
            return mayReplay
                ? .wait(startsRefresh: true) : .deliver(.notReplayable, startsRefresh: true)
        }
    }

    /// How to handle a waiting 401 when the refresh that it waited for has ended.
    package func settled(version used: Int?, now: UInt64) -> Rejection {
        if let issued = valid(at: now) {
            if used != issued.version { return .replay }
        }
        return .deliver(lastFailure.map { .failed(told($0.failure, now)) } ?? .unchanged)
    }

    // MARK: Refreshes

    /// Stores a credential from a refresh or from a changed file.
    ///
    /// - Returns: The credential for all waiting requests. The version identifies the content:
    ///   equal content keeps its version, so a 401 for it is delivered and not replayed.
    @discardableResult
    package mutating func refreshed(_ credential: Credential) -> Issued {
        if credential.content != issued?.credential.content {
            version += 1
            retire()
        }
        let next = Issued(credential: credential, version: version)
        issued = next
        phase = .idle
        lastFailure = nil
        return next
    }

    /// Reports a failed refresh; the present credential stays until it expires.
    package mutating func refreshFailed(_ failure: TokenFailure, now: UInt64) {
        let backOff = CredentialState.backOff(after: failure)
        phase = .failed(
            failure,
            backOffEnd: now &+ backOff,
            calmEnd: now &+ max(backOff, CredentialState.calm)
        )
        lastFailure = (refreshNumber, failure)
        // `refresh.max` is for a server that issues what it refuses; this one issued nothing.
        if !failure.isPermanent, !starts.isEmpty { starts.removeLast() }
        if valid(at: now) == nil {
            retire()
            issued = nil
        }
    }

    private mutating func retire() {
        guard let issued else { return }
        earlier = (earlier + [issued.credential]).suffix(Self.earlierMax)
    }

    /// Reports that a secret file has changed: the reason of the last failure may be gone, unless
    /// the server wants to be left alone.
    package mutating func sourceChanged() {
        if case .failed(let failure, _, _) = phase, !failure.isByServersWish { phase = .idle }
    }

    /// The failure for a request that waited for it: it says when a server wants to be asked again.
    private func told(_ failure: TokenFailure, _ now: UInt64) -> TokenFailure {
        guard failure.isByServersWish, case .failed(_, let backOffEnd, _) = phase,
            now < backOffEnd
        else { return failure }
        return failure.held(microseconds: backOffEnd - now)
    }

    /// Microseconds until a request without a credential may start the next refresh.
    ///
    /// As in Alamofire the next request tries again, so that a passing failure costs only the
    /// requests that waited. Where a user must change something first, the pause is ten seconds:
    /// servers lock a client that they have to refuse again and again. If the server asks for a
    /// longer pause, that one holds.
    package static func backOff(after failure: TokenFailure) -> UInt64 {
        let own: UInt64 = failure.isPermanent ? 10 : 0
        let wanted = min(failure.retryAfterSeconds ?? 0, backOffSecondsMax)
        return max(own, wanted) * 1_000_000
    }

    /// Microseconds without another refresh ahead of a credential's end: each request would start
    /// one.
    private static let calm: UInt64 = 1_000_000

    /// The most that a server can make requests fail, in seconds.
    private static let backOffSecondsMax: UInt64 = 3600

    /// Starts a refresh; returns false if too many have begun in the window.
    private mutating func start(_ now: UInt64) -> Bool {
        if let window = settings.window {
            let length = window.boundedMicroseconds
            starts.removeAll { $0 <= now && now - $0 >= length }
            guard starts.count < settings.max else { return false }
            starts.append(now)
        }
        phase = .refreshing
        refreshNumber += 1
        return true
    }

    private func valid(at now: UInt64) -> Issued? {
        guard let issued, issued.credential.isValid(at: now) else { return nil }
        return issued
    }
}
