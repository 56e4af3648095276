// Who the client is, where a listener asks: 407 until its name and password are right.
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// Asks for credentials and checks them; afterwards `client.user` is known.
    ///
    /// Requests for lupin's own pages need none: the pages hold no secret, and a browser gets its
    /// proxy configuration before it has anybody to ask for a password.
    /// - Throws: The refusal, 407 as a rule.
    func authenticate(at authenticator: Authenticator) async throws(LupinError) {
        // Addresses come first; `admit` refuses this one.
        guard client.isAdmitted, request.form != .origin else { return }
        guard let credentials = try credentials() else {
            throw await challenge("The request has no credentials.", authenticator)
        }
        let begun = resources.loop.now
        let verdict = await authenticator.verdict(
            on: credentials,
            from: client.address,
            slot: slot,
            interruptions: interruptions
        )
        let waited = resources.loop.now &- begun
        if waited > 0 { record.timing.blocked = Int64(waited) }
        switch verdict {
        case .passed(let name):
            client.user = name
            // RFC 9110 §11.7.2: they were meant for us, and go no further. Removed rather than
            // marked, so that no step can pass them on either.
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

    /// The credentials of the request; nil when it has none, or none that we can read.
    private func credentials() throws(LupinError) -> ClientCredentials? {
        guard let line = request.fields.first(.proxyAuthorization) else { return nil }
        // Two readers could each take another one.
        guard request.fields.count(of: .proxyAuthorization) == 1 else {
            throw .request(status: 400, detail: "Proxy-Authorization stands there twice.")
        }
        let storage = request.fields.storage
        return ClientCredentials(storage.span.extracting(line.value.range))
    }

    /// The refusal that asks for credentials.
    private func challenge(_ detail: String, _ authenticator: Authenticator) async -> LupinError {
        await discardBody()
        // RFC 7617 §2.1: the name is read as UTF-8.
        refusalField = (FieldName.proxyAuthenticate.spelling, authenticator.challenge)
        return .request(status: 407, detail: detail)
    }

    /// Bytes of a body that are read and thrown away, so that the client can answer the challenge
    /// on its connection.
    ///
    /// After a longer one the connection is closed.
    private static let discardBytesMax: UInt64 = 64 << 10
    /// How long such a body may take.
    private static let discardTime = Duration.seconds(1)

    private func discardBody() async {
        // Who waits for 100 sends no body now, or sends it unasked: there is no telling
        // (RFC 9110 §10.1.1).
        guard !framing.isEmpty, !expectsContinue, request.method != .connect,
            framing.knownLength ?? 0 <= Self.discardBytesMax
        else { return }
        let relay = BodyRelay(from: downstream.requestBody, to: DiscardedBody(), slot: slot)
        relay.bytesMax = Self.discardBytesMax
        upload = relay
        pumpBodies()
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
