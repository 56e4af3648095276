// Who may use rules that hold secrets: a loopback port is not an identity.
import LupinCore
import LupinIO

/// `access.credentials`, with users as the kernel and listeners name them.
struct CredentialUsers: Sendable {
    /// nil for anybody.
    private let numbers: Set<UInt32>?
    private let names: Set<String>
    /// Whose credentials they are, for the refusal.
    let owner: String

    /// Users who don't exist on this machine can still be those of an htpasswd file.
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

    /// Whether they are the user's; an unknown client is a stranger.
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
    /// Refuses a stranger what the plan holds for its owner: with 403, never the request without.
    ///
    /// An authenticated user is who the listener's password says, everybody else whom the kernel
    /// says; a client that the kernel does not know is a stranger.
    func checkCredentialUse(at origin: Origin) async throws(LupinError) {
        if !asksForOwner(at: origin) { return }
        let users = snapshot.credentialUsers
        if users.admits(await clientUser()) { return }
        let way =
            client.isThroughSibling
            ? " The request comes through another lupin of that user, and not from who may." : ""
        let rule = plan?.names.last.map { "the rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        throw .request(
            status: 403,
            host: record.origin?.host.text,
            detail: "For this request \(rule) uses credentials of user \(users.owner); "
                + "access.credentials says who else may.\(way)"
        )
    }

    /// Whether it matters for the request who the client is, and nobody has asked yet.
    func mustAskForOwner(at origin: Origin) -> Bool {
        guard asksForOwner(at: origin) else { return false }
        return knownUser.map { !snapshot.credentialUsers.admits($0) } ?? true
    }

    /// Who the client is, where nobody need be asked.
    var knownUser: ClientUser? {
        client.user.map(ClientUser.named) ?? client.number.map(ClientUser.number)
    }

    /// Whether it matters for the request who the client is.
    private func asksForOwner(at origin: Origin) -> Bool {
        isForOwner(at: origin) && !snapshot.credentialUsers.admitsAnybody
    }

    /// Whether something is attached for the owner's requests only.
    func isForOwner(at origin: Origin) -> Bool {
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

    /// What the plan says, else the settings.
    var clientCertificate: CertificateFiles? {
        plan?.clientCertificate ?? snapshot.clientCertificate
    }

    /// Whom the listener's password or the kernel says the client to be; `slot` is where to wait,
    /// if the exchange's own task is not the one that asks.
    func clientUser(in slot: ParkingSlot? = nil) async -> ClientUser {
        if let name = client.user { return .named(name) }
        return await clientNumber(in: slot).map(ClientUser.number) ?? .unknown
    }

    /// Asked once for a connection, and only where it matters; for every request where the
    /// connection is another lupin's.
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
