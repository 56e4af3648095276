// Exchanges stand-ins for credentials on the way out, and notices those that go elsewhere.
import LupinCore
import LupinIO
import LupinPolicy
import LupinWire

/// A token, its stand-in, and where in requests of the plan that is exchanged.
typealias Exchangeable = (
    definition: TokenDefinition, standIn: StandIn, locations: StandInLocations
)

/// What became of the stand-ins of one exchange's plan.
struct ExchangedStandIns {
    /// The credential in the place of each, of the last attempt.
    private(set) var secrets: [(standIn: StandIn, secret: String)] = []
    /// The fields in which a stand-in stood; no redirect takes them to another origin.
    private(set) var fieldNames: [String] = []

    mutating func beginAttempt() { secrets = [] }

    fileprivate mutating func note(_ standIn: StandIn, _ secret: String, in names: [String]) {
        secrets.append((standIn, secret))
        fieldNames += names.filter { !fieldNames.contains($0) }
    }
}

extension AuthenticationInterceptor {
    /// Whether the field of an `auth` step keeps what the client wrote: the stand-in is in it, so
    /// that the exchange makes the same credential of it, in the form that the client's endpoint
    /// wants (`Basic` for git, `token` for others).
    func keepsForm(of definition: TokenDefinition, _ head: RequestHead) -> Bool {
        exchangeable.contains { entry in
            entry.definition.name == definition.name
                && entry.standIn.standsAlone(in: head)
        }
    }

    /// Puts the credential in the place of the stand-in; without one, the request goes as it is.
    func exchange(
        _ entry: Exchangeable,
        for issued: CredentialState.Issued?,
        in request: inout UpstreamRequest
    ) throws(LupinError) {
        guard let issued else { return }
        let (definition, standIn, locations) = entry
        let secret = issued.credential.secret
        do throws(TokenFailure) {
            // It must fit into a field wherever it stands.
            _ = try definition.field.value(credential: secret)
        } catch {
            throw failure(error, definition)
        }
        let changed = request.head.exchange(standIn, for: secret, at: locations)
        exchanged.note(standIn, secret, in: changed.fields)
        note(presented: issued.credential)
        note(presented: changed.secrets)
        if !uses.contains(where: { $0.definition.name == definition.name }) {
            var use = Use(definition: definition, origin: request.origin)
            use.version = issued.version
            use.isSent = true
            uses.append(use)
        }
        exchange.record.note(exchangedStandIn: definition.name)
    }
}

extension Exchange {
    /// Puts stand-ins back into a Location that repeats their credentials: the client or lupin,
    /// whichever follows it, sends the next host the stand-in.
    func restoreStandIns(in response: ParsedResponse) {
        guard let exchanged = authentication?.exchanged, !exchanged.secrets.isEmpty else { return }
        for (standIn, secret) in exchanged.secrets {
            response.head.fields.restore(standIn, inLocationFor: secret)
        }
    }

    /// Notes stand-ins where the plan does not exchange them: they go as they are, and are worth
    /// nothing there.
    /// - Throws: The refusal, with `stand_ins.elsewhere: refuse`.
    func checkStandIns(in sent: Attempt.Sent) throws(LupinError) {
        guard resources.shared.hasStandIns else { return }
        let adapted = sent.adapted(of: self)
        let named = plan?.standInLocations ?? [:]
        for standIn in resources.shared.standIns.all {
            let locations = named[standIn.token] ?? []
            guard let place = standIn.place(in: adapted.head, outside: locations) else { continue }
            record.note(standInElsewhere: standIn.token)
            guard snapshot.settings.standIns.elsewhere == .refuse else { continue }
            throw .request(
                status: 403,
                host: adapted.origin.host.text,
                detail: place.refusal(of: standIn, exchangedIn: locations)
            )
        }
    }
}

extension Configuration {
    /// The same with stand-ins among its secrets, and scrubbing where one may be exchanged.
    ///
    /// Later snapshots know those of former ones.
    func hiding(_ standIns: StandIns) -> Configuration {
        var copy = self
        copy.secrets += standIns.all.map(\.text)
        copy.rules.keptTokens.formUnion(standIns.all.map(\.token))
        return copy
    }
}
