// Which users may use rules that hold secrets: a loopback port is not an identity.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

/// `access.credentials`, with users as the kernel and listeners identify them.
struct CredentialUsers: Sendable {
    private let access: CredentialAccess
    /// nil for any user.
    private let numbers: Set<UInt32>?
    /// The owner of the credentials, for the refusal.
    let owner: String

    /// Users that don't exist on this machine may be those of an htpasswd file.
    init(_ access: CredentialAccess) {
        self.access = access
        owner = ProcessOwner.userName
        numbers =
            switch access {
            case .any: nil
            case .owner: [SystemUsers.own, 0]
            case .users(let users): Set(users.compactMap(SystemUsers.number(of:)))
            }
    }

    var admitsAnybody: Bool { numbers == nil }

    /// Whether the user is allowed; an unknown client never is.
    func admits(_ user: ClientUser) -> Bool {
        guard let numbers else { return true }
        return switch user {
        case .named(let name): access.admits(name, owner: owner)
        case .number(let number): numbers.contains(number)
        case .unknown: false
        }
    }
}

extension Exchange {
    /// Refuses other users, pages of other sites, and TRACE the plan's credentials with 403; never
    /// sends the request without them.
    ///
    /// An authenticated client is the user of the listener's password, any other the user that the
    /// kernel reports; a client that the kernel does not know is refused.
    func checkCredentialUse(at origin: Origin) async throws(LupinError) {
        if let refusal = refusalForEverybody(at: origin) {
            throw .request(status: 403, host: origin.host.text, detail: refusal)
        }
        if !asksForOwner(at: origin) { return }
        let users = snapshot.credentialUsers
        if users.admits(await clientUser()) { return }
        let way =
            client.isThroughSibling
            ? " The request comes through another lupin, and not from who may." : ""
        let rule = plan?.owningRule.map { "the rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        throw .request(
            status: 403,
            host: record.origin?.host.text,
            detail: "For this request \(rule) uses credentials of user \(users.owner); "
                + "access.credentials says who else may.\(way)"
        )
    }

    /// Whether the client's user matters for the request, and is unknown or not allowed, or the
    /// request is that of a page which may not use the credentials.
    func mustAskForOwner(at origin: Origin) -> Bool {
        if refusalForEverybody(at: origin) != nil { return true }
        guard asksForOwner(at: origin) else { return false }
        return knownUser.map { !snapshot.credentialUsers.admits($0) } ?? true
    }

    /// Why no user may use the plan's credentials for the request; nil if it depends on the user.
    private func refusalForEverybody(at origin: Origin) -> String? {
        if let page = refusedPage(at: origin) {
            return Plan.refusal(of: page, by: plan, at: origin)
        }
        guard request.method.echoesRequest, isForOwner(at: origin) else { return nil }
        return Plan.refusal(ofEcho: request.method)
    }

    /// The client's user, if known without a look-up.
    var knownUser: ClientUser? {
        client.user.map(ClientUser.named) ?? client.number.map(ClientUser.number)
    }

    /// The client's user as far as it is known without a wait.
    var userAtOnce: ClientUser {
        if let knownUser { return knownUser }
        guard !client.isThroughSibling, let ends = downstream.ends,
            let found = resources.shared.processes.userAtOnce(of: ends.peer, to: ends.local)?.user
        else { return .unknown }
        return .number(found)
    }

    /// Whether the client's user matters for the request.
    private func asksForOwner(at origin: Origin) -> Bool {
        isForOwner(at: origin) && !snapshot.credentialUsers.admitsAnybody
    }

    /// Whether something is attached only to the owner's requests.
    func isForOwner(at origin: Origin) -> Bool {
        if plan == nil, !snapshot.hasClientCertificate { return false }
        let isConnect = request.method == .connect
        let certificate = snapshot.clientCertificate
        guard let plan else {
            return Plan.isForOwner(
                at: origin,
                isConnect: isConnect,
                defaultCertificate: certificate
            )
        }
        return plan.isForOwner(at: origin, isConnect: isConnect, defaultCertificate: certificate)
    }

    /// Refuses a request with 400 if rules would decide differently as some servers read its path,
    /// or by the path or method that they read in a field.
    func checkPath(at origin: Origin) throws(LupinError) {
        guard snapshot.judgesTargets else { return }
        let storage = request.fields.storage
        guard
            PathReading.differ(in: storage.span.extracting(request.pathAndQuery.range))
                || request.fields.replacesTarget,
            let other = snapshot.rules.otherReading(of: subject(at: origin))
        else { return }
        throw other.error(for: origin.host)
    }

    /// The page of another site that may not use what is attached to its request.
    private func refusedPage(at origin: Origin) -> ForeignPage? {
        if plan == nil, !snapshot.hasClientCertificate { return nil }
        let isConnect = request.method == .connect
        let certificate = snapshot.clientCertificate
        guard let plan else {
            return Plan.refusedPage(
                in: foreignPages(at: origin),
                at: origin,
                isConnect: isConnect,
                defaultCertificate: certificate
            )
        }
        return plan.refusedPage(
            in: foreignPages(at: origin),
            at: origin,
            isConnect: isConnect,
            defaultCertificate: certificate
        )
    }

    /// The pages of other sites that the client's own request comes from, wherever redirects led.
    func foreignPages(at origin: Origin) -> [ForeignPage] {
        (clientRequest ?? request).foreignPages(at: origin, first: record.origin ?? origin)
    }

    /// The plan's client certificate, else that of the settings.
    var clientCertificate: CertificateFiles? {
        plan?.clientCertificate ?? snapshot.clientCertificate
    }

    /// The client's user, by the listener's password or the kernel; `slot` is where to wait, if the
    /// caller is not the exchange's own task.
    func clientUser(in slot: ParkingSlot? = nil) async -> ClientUser {
        if let name = client.user { return .named(name) }
        return await clientNumber(in: slot).map(ClientUser.number) ?? .unknown
    }

    /// Looked up once per connection, and only if it matters; for every request if the connection
    /// is another lupin's.
    func clientNumber(in slot: ParkingSlot? = nil) async -> UInt32? {
        if let known = client.number { return known }
        guard let ends = downstream.ends else { return nil }
        // With a slot of the caller's it is not the exchange that waits.
        let isOwn = slot == nil
        if isOwn { awaited = .clientUser }
        defer { if isOwn { awaited = nil } }
        let found = await ClientSearch(
            ends: ends,
            shared: resources.shared,
            slot: slot ?? self.slot,
            end: totalDeadline
        ).run()
        if found.isThroughSibling { client.isThroughSibling = true }
        if !client.isThroughSibling { client.number = found.user }
        return found.user
    }
}
