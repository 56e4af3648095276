// Access to the admin interface: this user by the socket, clients with a token by TCP.
import LupinCore
import LupinIO
import LupinInspector
import LupinPolicy
import LupinTLS
import LupinUpstream

/// The access check of one connection to the admin interface.
enum AdminGuard {
    /// The connection came by the socket; its client must be this user, and no confined command.
    case local(LocalClient)
    /// The connection came by TCP to this address of ours.
    case remote(AdminHTTPSettings, listener: SocketAddress, local: SocketAddress?)
    /// The connection came to the listener for metrics, which needs no token.
    case metrics(listener: SocketAddress, local: SocketAddress?)
    /// The connection came to the inspector's listener, which is on loopback.
    case inspector(InspectorSessions, listener: SocketAddress)

    var entry: AdminRequest.Entry {
        switch self {
        case .local: .socket
        case .remote: .http
        case .metrics: .metrics
        case .inspector: .page
        }
    }

    /// What each answer tells of the connection.
    var fields: [(name: String, value: String)] {
        guard case .local(let client) = self, client.network != .own else { return [] }
        return [("Lupin-Network", "other")]
    }

    /// Whether every client that can reach the listener may make this request.
    func isOpen(_ request: RequestHead) -> Bool {
        guard case .inspector = self else { return false }
        let path = String(request.pathText.prefix { $0 != "?" })
        return path == "/v1/session" || InspectorPage.file(at: path) != nil
    }

    /// The refusal of the request; nil when it is allowed.
    func refusal(_ request: RequestHead) -> AdminAnswer? {
        switch self {
        case .local(let client):
            guard client.isOwner else {
                return refused(403, "this lupin belongs to another user")
            }
            guard client.network == .enclosed else { return nil }
            return refused(
                403,
                "this lupin answers nobody in a network of another user namespace, as a confined "
                    + "command, `unshare -r` and some containers have one; ask it outside of that"
            )
        case .remote(let settings, let listener, let local):
            let addresses = [listener, local].compactMap(\.self)
            guard Self.isNamed(addresses, by: request) else {
                // DNS rebinding lets a page send requests here, but with its own name in Host.
                return refused(421, "ask for it by its address or as localhost")
            }
            return Self.shows(settings.token, request) ? nil : unauthorized
        case .metrics(let listener, let local):
            guard Self.isNamed([listener, local].compactMap(\.self), by: request) else {
                return refused(421, "ask for it by its address or as localhost")
            }
            return nil
        case .inspector(let sessions, let listener):
            guard Self.isNamed([listener], by: request) else {
                return refused(421, "ask for it by its address or as localhost")
            }
            if Self.isNavigation(to: "/", request) { return nil }
            // Fetch standard: a browser says where a request comes from.
            let site = request.fields.value(of: "Sec-Fetch-Site") ?? "none"
            guard site == "none" || site == "same-origin" else {
                return refused(403, "another page asks for this")
            }
            if let origin = request.fields.value(of: "Origin") {
                let own = ["http://\(listener)", "http://localhost:\(listener.port)"]
                guard own.contains(origin) else {
                    return refused(403, "another page asks for this")
                }
            }
            if isOpen(request) { return nil }
            let word = Self.bearer(of: request)
            return word.map(sessions.admits) == true ? nil : unauthorized
        }
    }

    /// Whether a browser's window is led to this path, by whatever page or file.
    ///
    /// The other site can't read the response, and it is the same for all.
    private static func isNavigation(to path: String, _ request: RequestHead) -> Bool {
        request.method == .get && request.pathText == path
            && request.fields.value(of: "Sec-Fetch-Mode") == "navigate"
            && request.fields.value(of: "Sec-Fetch-Dest") == "document"
    }

    private var unauthorized: AdminAnswer {
        var answer = refused(401, "the request shows no token, or a wrong one")
        answer.fields = [("WWW-Authenticate", "Bearer realm=\"lupin\"")]
        return answer
    }

    private func refused(_ status: UInt16, _ sentence: String) -> AdminAnswer {
        var answer = AdminAnswer(status, sentence: sentence)
        answer.closes = true
        return answer
    }

    /// Whether the request names one of `addresses`, or localhost with its port.
    private static func isNamed(_ addresses: [SocketAddress], by request: RequestHead) -> Bool {
        guard request.fields.count(of: .host) <= 1 else { return false }
        let target = request.fields.text(request.authority)
        let named = (target.isEmpty ? request.fields.value(of: .host) ?? "" : target).lowercased()
        return addresses.contains { address in
            let names = [address.description, "localhost:\(address.port)"]
            if names.contains(named) { return true }
            return address.port == 80 && names.contains("\(named):80")
        }
    }

    /// Whether the request has the token; the time does not depend on the token.
    private static func shows(_ token: String, _ request: RequestHead) -> Bool {
        guard let shown = bearer(of: request) else { return false }
        // Under a random key, the position where two digests differ reveals nothing.
        let digest = KeyedDigest()
        let (word, wanted) = (Array(shown.utf8), Array(token.utf8))
        let proof = digest.sha256(word.span)
        return !proof.isEmpty && proof == digest.sha256(wanted.span)
    }

    /// The token that the request shows (RFC 6750 §2.1).
    private static func bearer(of request: RequestHead) -> String? {
        guard request.fields.count(of: .authorization) == 1,
            let value = request.fields.value(of: .authorization)
        else { return nil }
        let words = value.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }
}
