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

    func admits(number: UInt32) -> Bool { numbers?.contains(number) ?? true }

    func admits(name: String) -> Bool { numbers == nil || names.contains(name) }
}

extension Exchange {
    /// Refuses a stranger what the plan holds for its owner: with 403, never the request without.
    ///
    /// An authenticated user is who the listener's password says, everybody else whom the kernel
    /// says; a client that the kernel does not know is a stranger.
    func checkCredentialUse(at origin: Origin) async throws(LupinError) {
        guard usesSecret(at: origin) else { return }
        let users = snapshot.credentialUsers
        guard !users.admitsAnybody else { return }
        if let name = client.user {
            if users.admits(name: name) { return }
        } else if let number = await clientNumber(), users.admits(number: number) {
            return
        }
        let rule = plan?.names.last.map { "the rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        throw .request(
            status: 403,
            host: record.origin?.host.text,
            detail: "For this request \(rule) uses credentials of user \(users.owner); "
                + "access.credentials says who else may."
        )
    }

    /// A client certificate is shown to the origin, so only where lupin itself speaks TLS with it:
    /// because the client asked for https, or because a step makes https of it.
    private func usesSecret(at origin: Origin) -> Bool {
        if let plan, plan.holdsSecret || plan.cookieJar != nil || plan.cache?.isShared == false {
            return true
        }
        guard clientCertificate != nil, request.method != .connect else { return false }
        return origin.scheme == .https || plan?.turnsToTLS ?? false
    }

    /// What the plan says, else the settings.
    var clientCertificate: CertificateFiles? {
        plan?.clientCertificate ?? snapshot.clientCertificate
    }

    /// Asked once for a connection, and only where it matters.
    func clientNumber() async -> UInt32? {
        if let known = client.number { return known }
        guard let ends = downstream.ends else { return nil }
        let number = await resources.shared.processes.user(
            of: ends.peer,
            to: ends.local,
            slot: slot
        )
        client.number = number
        return number
    }
}

extension Plan {
    /// Whether a step may lead a request in clear to an origin under TLS.
    fileprivate var turnsToTLS: Bool {
        steps.contains { entry in
            guard case .url(let step) = entry.step else { return false }
            return step.scheme == .https
        }
    }
}
