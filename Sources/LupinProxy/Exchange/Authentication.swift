// Authenticates the client if the listener requires it: 407 until name and password are right.
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

extension Exchange {
    /// Demands credentials and checks them; afterwards `client.user` is set.
    ///
    /// Requests for lupin's own pages need none: the pages hold no secret, and a browser loads its
    /// proxy configuration before it can prompt for a password.
    /// - Throws: The refusal, usually 407.
    func authenticate(at authenticator: Authenticator) async throws(LupinError) {
        // Addresses are checked first; `admit` refuses this one.
        guard client.isAdmitted, request.form != .origin else { return }
        guard let credentials = try credentials() else {
            throw await challenge("The request has no credentials.", authenticator)
        }
        let begun = resources.loop.now
        awaited = .passwordCheck
        let verdict = await authenticator.verdict(
            on: credentials,
            from: client.address,
            slot: slot,
            interruptions: interruptions
        )
        awaited = nil
        let waited = resources.loop.now &- begun
        if waited > 0 { record.timing.blocked = Int64(waited) }
        switch verdict {
        case .passed(let name):
            client.user = name
            // RFC 9110 §11.7.2: they were meant for us, and are not forwarded. Removed rather than
            // marked, so that no step can forward them either.
            changeFields { $0.remove(name: FieldName.proxyAuthorization.spelling) }
        case .failed:
            throw await challenge("User or password is wrong.", authenticator)
        case .busy:
            refusalField = ("Retry-After", "1")
            throw .request(
                status: 429,
                detail: "Too many passwords wait to be checked: at most "
                    + "\(PasswordQueue.perNameMax) of one user and \(PasswordQueue.perClientMax) "
                    + "of one client."
            )
        case .interrupted:
            throw resources.isCut ? .stopping : .clientGone
        }
    }

    /// The credentials of the request; nil when there are none, or none that can be parsed.
    private func credentials() throws(LupinError) -> ClientCredentials? {
        guard let line = request.fields.first(.proxyAuthorization) else { return nil }
        // Two parsers might each use another one.
        guard request.fields.count(of: .proxyAuthorization) == 1 else {
            throw .request(status: 400, detail: "Proxy-Authorization stands there twice.")
        }
        let storage = request.fields.storage
        return ClientCredentials(storage.span.extracting(line.value.range))
    }

    /// The refusal that demands credentials.
    private func challenge(_ detail: String, _ authenticator: Authenticator) async -> LupinError {
        await discardBody()
        // RFC 7617 §2.1: the name is read as UTF-8.
        refusalField = (FieldName.proxyAuthenticate.spelling, authenticator.challenge)
        return .request(status: 407, detail: detail)
    }

    /// How many bytes of a body are read and discarded, so that the client can answer the challenge
    /// on the same connection.
    ///
    /// After a longer body the connection is closed.
    private static let discardBytesMax: UInt64 = 64 << 10
    /// The time limit for the body of a request that is challenged.
    private static let discardTime = Duration.seconds(1)

    private func discardBody() async {
        // A client that waits for 100 sends no body now, or sends it unasked: that is unknown (RFC
        // 9110 §10.1.1).
        guard !framing.isEmpty, !expectsContinue, request.method != .connect,
            framing.knownLength ?? 0 <= Self.discardBytesMax
        else { return }
        let relay = BodyRelay(from: downstream.requestBody, to: DiscardedBody(), slot: slot)
        relay.bytesMax = Self.discardBytesMax
        upload = relay
        pumpBodies()
        awaited = .requestBody
        defer { awaited = nil }
        let deadline = resources.loop.deadline(in: Self.discardTime)
        while !relay.isOver, !downstream.isClientGone, !resources.isCut,
            resources.loop.now < deadline
        {
            _ = await slot.park(for: .relayEnded | interruptions, until: deadline)
        }
        relay.cancel()
    }
}

extension Authenticator {
    /// The value of Proxy-Authenticate; a realm's quotes are escaped (RFC 9110 §5.6.4).
    var challenge: String {
        let quoted = realm.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "Basic realm=\"\(quoted)\", charset=\"UTF-8\""
    }
}
