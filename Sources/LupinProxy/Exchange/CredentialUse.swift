// Which users may use rules that hold secrets: a loopback port is not an identity.
import LupinCore
import LupinIO

/// `access.credentials`, with users as the kernel and listeners identify them.
struct CredentialUsers: Sendable {
    /// nil for any user.
    private let numbers: Set<UInt32>?
    private let names: Set<String>
    /// The owner of the credentials, for the refusal.
    let owner: String

    /// Users that don't exist on this machine may be those of an htpasswd file.
    init(_ access: CredentialAccess) {
        owner = ProcessOwner.userName
        switch access {
        case .any:
            numbers = nil
            names = []
        case .owner:
            numbers = [SystemUsers.own, 0]
            names = [owner, "root"]
        case .users(let users):
            numbers = Set(users.compactMap(SystemUsers.number(of:)))
            names = Set(users)
        }
    }

    var admitsAnybody: Bool { numbers == nil }

    /// Whether the user is allowed; an unknown client never is.
    func admits(_ user: ClientUser) -> Bool {
        guard let numbers else { return true }
        return switch user {
        case .named(let name): names.contains(name)
        case .number(let number): numbers.contains(number)
        case .unknown: false
        }
    }
}

extension Exchange {
    /// Refuses other users the plan's credentials with 403; never sends the request without them.
    ///
    /// An authenticated client is the user of the listener's password, any other the user that the
    /// kernel reports; a client that the kernel does not know is refused.
    func checkCredentialUse(at origin: Origin) async throws(LupinError) {
        if !asksForOwner(at: origin) { return }
        let users = snapshot.credentialUsers
        if users.admits(await clientUser()) { return }
        let way =
            client.isThroughSibling
            ? " The request comes through another lupin of that user, and not from who may." : ""
        let rule = plan?.owningRule.map { "the rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        throw .request(
            status: 403,
            host: record.origin?.host.text,
            detail: "For this request \(rule) uses credentials of user \(users.owner); "
                + "access.credentials says who else may.\(way)"
        )
    }

    /// Whether the client's user matters for the request, and is unknown or not allowed.
    func mustAskForOwner(at origin: Origin) -> Bool {
        guard asksForOwner(at: origin) else { return false }
        return knownUser.map { !snapshot.credentialUsers.admits($0) } ?? true
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
        let slot = slot ?? self.slot
        let maker = await resources.shared.processes.user(
            of: ends.peer,
            to: ends.local,
            slot: slot
        )
        guard let maker else { return nil }
        let number = await userBehindSiblings(maker, in: slot)
        if !client.isThroughSibling { client.number = number }
        return number
    }
}
