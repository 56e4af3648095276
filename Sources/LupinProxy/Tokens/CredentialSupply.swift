// How an exchange gets its credentials: from the store, or after a wait for a refresh.
import LupinCore
import LupinIO
import LupinPolicy

extension AuthenticationInterceptor {
    /// The credentials to use now, each nil if it is not to be had; nil when one has to be waited
    /// for, by `fetchMissing`.
    /// - Throws: Why a credential may not be sent to `origin`, which nil leaves open.
    func credentials(
        of definitions: [TokenDefinition],
        for origin: Origin?
    ) throws(LupinError) -> [CredentialState.Issued?]? {
        // Of those that were there before the wait no other one is asked for.
        for definition in definitions.dropFirst(gathered.count) {
            if let origin { try checkTarget(definition, origin) }
            guard let issued = held(definition) else {
                missing = definition
                return nil
            }
            gathered.append(issued)
        }
        defer { gathered = [] }
        return gathered
    }

    /// A credential has to be waited for.
    var isMissing: Bool { missing != nil }

    /// Waits for the credential that was not there.
    func fetchMissing() async throws(LupinError) {
        guard let definition = missing.take() else { return }
        gathered.append(try await credential(of: definition))
    }

    /// The credential to use now, after a wait if needed; nil when the request goes without one.
    private func credential(
        of definition: TokenDefinition
    ) async throws(LupinError) -> CredentialState.Issued? {
        readAnew(definition)
        let began = now
        defer { note(definition, waitedSince: began) }
        var waitedFor: Int?
        while true {
            let wait = CredentialWait(exchange.slot)
            switch store.request(definition, after: &waitedFor, now: now, wake: wait.wake) {
            case .use(let issued):
                note(definition, .used, version: issued.version)
                return issued
            case .useAndRefresh(let issued):
                refresh(definition)
                note(definition, .used, version: issued.version)
                return issued
            case .wait(let startsRefresh):
                if startsRefresh { refresh(definition) }
                note(definition, startsRefresh ? .refreshed : .waited)
                exchange.note(.tokenWait(definition.name))
                let source = definition.source
                guard try await wait.end(of: source, for: exchange, since: began) else {
                    return try missing(definition, source.lateness)
                }
            case .fail(let failure):
                return try missing(definition, failure)
            }
        }
    }

    /// The credential to use now; nil when a wait is needed.
    private func held(_ definition: TokenDefinition) -> CredentialState.Issued? {
        readAnew(definition)
        guard let issued = store.held(definition, now: now) else { return nil }
        note(definition, .used, version: issued.version)
        return issued
    }

    /// Starts a refresh of a credential whose file has changed.
    ///
    /// Only for credentials read from files: a token server's secrets matter at the next refresh.
    private func readAnew(_ definition: TokenDefinition) {
        if store.hasChangedFiles(definition, now: now), definition.source.isRead {
            refresh(definition)
        }
    }

    private func missing(
        _ definition: TokenDefinition,
        _ failure: TokenFailure
    ) throws(LupinError) -> CredentialState.Issued? {
        note(definition, failure.kind == .excessive ? .excessive : .missing)
        if definition.onMissing == .send { return nil }
        throw self.failure(failure, definition)
    }

    func failure(_ failure: TokenFailure, _ definition: TokenDefinition) -> LupinError {
        LupinError(
            .proxyInternalError,
            host: exchange.record.origin?.host.text,
            detail: failure.sentence(token: definition.name),
            side: .config,
            status: 502
        )
    }

    func refresh(_ definition: TokenDefinition) {
        TokenRefresh.start(
            definition,
            on: exchange.resources,
            exchange.snapshot,
            context: exchange.contextOfOwnRequest,
            isLogged: exchange.logLevel == .event && !exchange.record.isLogOff
        )
    }
}

extension TokenSource {
    /// Whether the credential itself is in the rules file, or in files that it names.
    fileprivate var isRead: Bool {
        switch self {
        case .bearer, .basic, .digest: true
        case .command, .oauth2: false
        }
    }

    /// Why a credential that was waited for did not come in time.
    fileprivate var lateness: TokenFailure {
        switch self {
        case .oauth2(let source):
            let host = source.url.origin.hostAndPort
            return TokenFailure(.unreachable(host: host, reason: "it took too long"))
        case .command(let source):
            return TokenFailure(.command(program: source.arguments.first ?? "", .timeout))
        case .bearer, .basic, .digest: return TokenFailure(.missing)
        }
    }
}
