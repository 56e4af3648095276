// Which responses machines share, for how long, and their age on another machine.

package import LupinCore
package import LupinPolicy

extension StoredResponse {
    /// Why a response stays on the machine that got it; nil when others may have it.
    ///
    /// The origin's word counts here, whatever of it a policy overrides: what is meant for one user
    /// never leaves the machine (RFC 9111 §3, §5.2.2.7).
    package var sharingRefusal: NoStoreReason? {
        if let refusal = diskRefusal { return refusal }
        // Where no targeted field counts, they are those of Cache-Control.
        let told =
            directives.isTargeted
            ? ResponseDirectives(cacheControlOf: fields).flags : directives.flags
        if told.contains(.private) { return .isPrivate }
        if told.contains(.noStore) { return .noStore }
        return content.isComplete ? nil : .partial
    }

    /// Whether it may answer a request here: it matches, and this machine would have stored it
    /// under the same key, where another one's policy may ignore Vary.
    package func answers(_ request: FieldSection, policy: CachePolicy) -> Bool {
        vary.isKey(of: fields, request: request, policy: policy)
    }

    /// How long it is worth keeping for others, in milliseconds; 0 for not at all.
    ///
    /// While it is fresh, and as long as it may be served stale.
    package func sharingLifetimeMs(nowUs: Int64, policy: CachePolicy, max most: Duration) -> Int64 {
        let stale = max(policy.staleWhileRevalidate, policy.staleIfError)
        let seconds = freshness.remaining(at: nowUs).addingSaturated(stale.components.seconds)
        let longest = most.components.seconds
        return max(0, min(seconds, longest)).multipliedSaturated(by: 1000)
    }

    /// The same response as another machine got it `elapsedMs` ago, with all times by the clock
    /// here; its age at receipt stays what it was there.
    package consuming func received(_ elapsedMs: Int64, before nowUs: Int64) -> StoredResponse {
        let receivedUs = nowUs.subtractingSaturated(elapsedMs.multipliedSaturated(by: 1000))
        let difference = receivedUs.subtractingSaturated(freshness.responseTimeUs)
        return moved(by: difference)
    }
}
