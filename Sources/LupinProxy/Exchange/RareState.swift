// What few exchanges have, in an object of its own that is made when one needs it.
import LupinCore
import LupinUpstream

/// The state of an exchange that few exchanges have.
///
/// Every request makes an exchange: what lies in it costs all of them time and memory, and this
/// costs only those that have it.
final class RareState {
    /// Asks the client for a password that was not asked for yet; nil where none is wanted.
    var authenticator: Authenticator?
    /// What lupin answers itself.
    var own: Exchange.OwnAnswer?
    fileprivate var next: NextAttempt?
    fileprivate var failure: LupinError?
    /// The response that is delivered.
    var obtained: ObtainedResponse?
    fileprivate var clientRequest: RequestHead?
    fileprivate var redirectedTo: Origin?
    fileprivate var visited: [String] = []
    fileprivate var retry = RetryProgress()
    fileprivate var resumed = ResumeProgress()
    fileprivate var protocolName: String?
    fileprivate var webSocketKey: String?
    fileprivate var refusalField: (name: String, value: String)?
    fileprivate var cacheOwner = ClientUser.unknown
    fileprivate var compressedUpload: CompressedBody?
    fileprivate var heldUpload: HeldUpload?
    fileprivate var queryKey: String?
    fileprivate var throttledUpload: ThrottledSink?
    fileprivate var throttledDownload: ThrottledSink?
    fileprivate var bringsUpload = false
}

extension Exchange {
    func makeRare() -> RareState {
        if let rare { return rare }
        let made = RareState()
        rare = made
        return made
    }

    // MARK: Attempts

    /// What is known of the next attempt.
    var next: NextAttempt? {
        get { rare?.next }
        set { if rare != nil || newValue != nil { makeRare().next = newValue } }
    }

    /// Why the attempt under way, or the exchange, has failed.
    var failure: LupinError? {
        get { rare?.failure }
        set { makeRare().failure = newValue }
    }

    // MARK: Redirects

    /// The client's own request, once a redirect was followed.
    var clientRequest: RequestHead? {
        get { rare?.clientRequest }
        set { if rare != nil || newValue != nil { makeRare().clientRequest = newValue } }
    }

    /// A redirect was followed.
    var hasMoved: Bool {
        guard let rare else { return false }
        return rare.clientRequest != nil
    }

    /// The origin of the redirect that is followed; nil before the first one.
    var redirectedTo: Origin? {
        get { rare?.redirectedTo }
        set { if rare != nil || newValue != nil { makeRare().redirectedTo = newValue } }
    }

    /// The URLs requested so far, when redirects are followed.
    var visited: [String] {
        get { rare?.visited ?? [] }
        set { makeRare().visited = newValue }
    }

    // MARK: Repetitions

    /// The state of retries.
    var retry: RetryProgress {
        get { rare?.retry ?? RetryProgress() }
        set { makeRare().retry = newValue }
    }

    var resumed: ResumeProgress {
        get { rare?.resumed ?? ResumeProgress() }
        set { makeRare().resumed = newValue }
    }

    // MARK: Upgrades and answers

    /// The protocol of an extended CONNECT (RFC 8441 §4).
    var protocolName: String? {
        get { rare?.protocolName }
        set { if rare != nil || newValue != nil { makeRare().protocolName = newValue } }
    }

    /// The key with which we verify the origin's WebSocket handshake; nil when the client verifies
    /// it itself.
    var webSocketKey: String? {
        get { rare?.webSocketKey }
        set { makeRare().webSocketKey = newValue }
    }

    /// An additional field of a refusal: a challenge, or Retry-After.
    var refusalField: (name: String, value: String)? {
        get { rare?.refusalField }
        set { makeRare().refusalField = newValue }
    }

    /// The user that a private response of the cache belongs to.
    var cacheOwner: ClientUser {
        get { rare?.cacheOwner ?? .unknown }
        set { makeRare().cacheOwner = newValue }
    }

    // MARK: Bodies

    var compressedUpload: CompressedBody? {
        get { rare?.compressedUpload }
        set { if rare != nil || newValue != nil { makeRare().compressedUpload = newValue } }
    }

    /// The request's body once it was read before it is sent; nil before, and where it is not.
    var heldUpload: HeldUpload? {
        get { rare?.heldUpload }
        set { if rare != nil || newValue != nil { makeRare().heldUpload = newValue } }
    }

    /// What tells a QUERY's content from others; nil where it is no part of the cache's key.
    var queryKey: String? {
        get { rare?.queryKey }
        set { if rare != nil || newValue != nil { makeRare().queryKey = newValue } }
    }

    /// The response has been sent, and the rest of the request is awaited; see `finishUpload`.
    var bringsUpload: Bool {
        get { rare?.bringsUpload ?? false }
        set { makeRare().bringsUpload = newValue }
    }

    var throttledUpload: ThrottledSink? {
        get { rare?.throttledUpload }
        set { if rare != nil || newValue != nil { makeRare().throttledUpload = newValue } }
    }

    var throttledDownload: ThrottledSink? {
        get { rare?.throttledDownload }
        set { if rare != nil || newValue != nil { makeRare().throttledDownload = newValue } }
    }
}
