// Access to the admin interface: this user by the socket, and clients with the token by TCP.
import LupinCore
import LupinIO
import LupinTLS

/// The access check of one connection to the admin interface.
enum AdminGuard {
    /// The connection came by the socket; its client is this user.
    case local(user: UInt32?)
    /// The connection came by TCP to this address of ours.
    case remote(AdminHTTPSettings, listener: SocketAddress, local: SocketAddress?)

    /// The refusal of the request; nil when it is allowed.
    func refusal(_ request: RequestHead) -> AdminAnswer? {
        switch self {
        case .local(let user):
            if let user, user == ProcessOwner.userNumber || user == 0 { return nil }
            return refused(403, "this lupin belongs to another user")
        case .remote(let settings, let listener, let local):
            let places = [listener, local].compactMap(\.self)
            guard Self.isNamed(places, by: request) else {
                // DNS rebinding lets a page send requests here, but with its own name in Host.
                return refused(421, "ask for it by its address or as localhost")
            }
            if Self.shows(settings.token, request) { return nil }
            var answer = refused(401, "the request shows no token, or a wrong one")
            answer.fields = [("WWW-Authenticate", "Bearer realm=\"lupin\"")]
            return answer
        }
    }

    private func refused(_ status: UInt16, _ sentence: String) -> AdminAnswer {
        var answer = AdminAnswer(status, sentence: sentence)
        answer.closes = true
        return answer
    }

    /// Whether the request names one of `places`, or localhost with its port.
    private static func isNamed(_ places: [SocketAddress], by request: RequestHead) -> Bool {
        guard request.fields.count(of: .host) <= 1 else { return false }
        let target = request.fields.text(request.authority)
        let named = (target.isEmpty ? request.fields.value(of: .host) ?? "" : target).lowercased()
        return places.contains { place in
            let names = [place.description, "localhost:\(place.port)"]
            if names.contains(named) { return true }
            return place.port == 80 && names.contains("\(named):80")
        }
    }

    /// Whether the request has the token (RFC 6750 §2.1); the time does not depend on the token.
    private static func shows(_ token: String, _ request: RequestHead) -> Bool {
        guard request.fields.count(of: .authorization) == 1,
            let value = request.fields.value(of: .authorization)
        else { return false }
        let words = value.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return false }
        // Under a random key, the position where two digests differ reveals nothing.
        let digest = KeyedDigest()
        let (word, wanted) = (Array(words[1].utf8), Array(token.utf8))
        let shown = digest.sha256(word.span)
        return !shown.isEmpty && shown == digest.sha256(wanted.span)
    }
}
