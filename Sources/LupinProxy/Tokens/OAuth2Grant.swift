// Requests tokens from a token server, and never loses a rotated refresh token.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

/// One grant of RFC 6749, requested by lupin itself.
///
/// No rule applies to the request, so that a token can't wait for itself; trust, access lists and
/// the parent proxy apply.
final class OAuth2Grant {
    /// The time limit for a token server's response.
    static let timeout = Duration.seconds(30)
    /// The pause between two checks whether another process has finished.
    private static let turnPause = Duration.milliseconds(20)

    /// The longest pause wanted by a server that clients wait for.
    private static let pauseMax = Duration.seconds(1)

    let definition: TokenDefinition
    let source: OAuth2Source
    let resources: WorkerResources
    private let snapshot: Snapshot
    /// Where the request stands in a trace; nil where it is not traced.
    private let context: OwnRequestContext?
    let slot: ParkingSlot
    var store: TokenStore { resources.shared.tokens }

    init(
        _ definition: TokenDefinition,
        _ source: OAuth2Source,
        _ resources: WorkerResources,
        _ snapshot: Snapshot,
        context: OwnRequestContext?
    ) {
        self.context = context
        self.definition = definition
        self.source = source
        self.resources = resources
        self.snapshot = snapshot
        slot = ParkingSlot(on: resources.loop)
    }

    /// Requests an access token by RFC 6749 §4.4 or §6.
    func run() async throws(TokenFailure) -> Credential {
        resources.beginOwnWork(slot)
        defer {
            resources.endOwnWork(slot)
            slot.retire()
        }
        if source.isShared, let client = resources.redis { return try await runShared(client) }
        guard source.grant == .refreshToken else { return try await fetch(nil) }
        let seed = try source.refreshToken?.text(content) ?? ""
        guard let path = source.store else {
            let last = store.refreshToken(of: definition, seed: seed)
            return try await fetch(last) { [store, definition] next in
                store.keep(refreshToken: next, of: definition, seed: seed)
            }
        }
        let file = RotationFile(source, path: path, seed: seed)
        // Processes that share the file take turns: the second uses the token the first received.
        let turn = try await turn(at: file)
        if let stored = turn.refreshToken { resources.shared.secrets.add(stored) }
        var next: String?
        let credential = try await fetch(turn.refreshToken) { next = $0 }
        guard let next else { return credential }
        // Written before the access token is used: the former refresh token may be invalid already.
        do throws(TokenFailure) {
            try await onHelperThread { () throws(TokenFailure) in try file.keep(next) }
        } catch {
            resources.shared.logger.error(
                """
                the next refresh token of "\(definition.name)" is lost at the next start: \
                \(error.sentence(token: definition.name))
                """
            )
        }
        return credential
    }

    /// Waits until no other process refreshes the same token.
    ///
    /// No thread blocks meanwhile: another token of this process may have the turn, and its next
    /// refresh token is written by the thread that would block here.
    private func turn(at file: RotationFile) async throws(TokenFailure) -> RotationFile.Turn {
        let deadline = resources.loop.deadline(in: Self.timeout)
        while true {
            let turn = try await onHelperThread { () throws(TokenFailure) in try file.begin() }
            if let turn { return turn }
            let now = resources.loop.now
            guard now < deadline else { throw file.isBusy }
            let next = min(resources.loop.deadline(in: Self.turnPause), deadline)
            if await slot.park(for: .cut, until: next).meets(.cut) { throw file.isBusy }
        }
    }

    func fetch(
        _ refreshToken: String?,
        rotate: (String) -> Void = { _ in }
    ) async throws(TokenFailure) -> Credential {
        var tries = 0
        do throws(TokenFailure) {
            return try await fetch(refreshToken, counting: &tries, rotate: rotate)
        } catch {
            var failure = error
            failure.tries = tries
            throw failure
        }
    }

    private func fetch(
        _ refreshToken: String?,
        counting tries: inout Int,
        rotate: (String) -> Void
    ) async throws(TokenFailure) -> Credential {
        let isPlain = definition.field == TokenField(for: definition.source)
        let exchange = OAuth2Exchange(source, takesAnyType: !isPlain)
        let request = try exchange.request(
            refreshToken: refreshToken,
            accessToken: store.last(definition),
            content
        )
        var fetch = Fetch(
            origin: source.url.origin,
            path: source.url.path,
            answerBytesMax: OAuth2Exchange.bodyBytesMax,
            deadline: resources.loop.deadline(in: Self.timeout)
        )
        fetch.method = .post
        fetch.contentType = request.contentType
        fetch.body = request.body
        fetch.fields = [("Accept", "application/json")]
        if let authorization = request.authorization {
            fetch.fields.append(("Authorization", authorization))
        }
        let answer: FetchAnswer
        do throws(LupinError) {
            answer = try await persistent(fetch, counting: &tries)
        } catch {
            let host = source.url.origin.hostAndPort
            var reason = error.detail.isEmpty ? error.kind.token : error.detail
            if error.kind == .tlsCertificateError, error.parent == nil {
                if reason.hasSuffix(".") { reason.removeLast() }
                throw TokenFailure(.untrusted(host: host, reason: reason))
            }
            if let parent = error.parent {
                reason = "by the parent proxy \(parent.endpoint): \(reason)"
            }
            throw TokenFailure(.unreachable(host: host, reason: reason))
        }
        let response = try exchange.response(
            status: answer.status,
            body: try plainBody(of: answer, exchange),
            retryAfter: answer.retryAfter,
            now: resources.wallNow
        )
        if let next = response.refreshToken {
            resources.shared.secrets.add(next)
            rotate(next)
        }
        return response.credential(now: resources.loop.now)
    }

    /// The content of a response, which some servers compress unasked; a redirect has none.
    private func plainBody(
        of answer: FetchAnswer,
        _ exchange: OAuth2Exchange
    ) throws(TokenFailure) -> [UInt8] {
        if let redirection = exchange.redirection(status: answer.status, location: answer.location)
        {
            throw redirection
        }
        do throws(FetchAnswer.Unreadable) {
            return try answer.plainBody(bytesMax: OAuth2Exchange.bodyBytesMax)
        } catch {
            throw exchange.unreadable(status: answer.status, reason: error.reason)
        }
    }

    /// Runs a fetch, and repeats it where the server was not reached, or says that it is busy.
    private func persistent(
        _ fetch: Fetch,
        counting tries: inout Int
    ) async throws(LupinError) -> FetchAnswer {
        while true {
            let retries = tries
            tries += 1
            let outcome: Result<FetchAnswer, LupinError>
            do throws(LupinError) {
                outcome = .success(try await traced(fetch))
            } catch {
                outcome = .failure(error)
            }
            guard retries < source.retries, let delay = delay(after: outcome, retries) else {
                return try outcome.get()
            }
            let next = slot.loop.deadline(in: delay)
            guard next < fetch.deadline else { return try outcome.get() }
            while slot.loop.now < next {
                if await slot.park(for: .cut, until: next).meets(.cut) { return try outcome.get() }
            }
        }
    }

    /// The pause before a request is sent again; nil when it must not be.
    ///
    /// One that was sent may have used up a refresh token, so that without an answer it is over.
    private func delay(
        after outcome: Result<FetchAnswer, LupinError>,
        _ retries: Int
    ) -> Duration? {
        var least = Duration.zero
        switch outcome {
        case .success(let answer):
            guard OAuth2Exchange.isTransient(answer.status) else { return nil }
            let wanted = answer.retryAfter
            least = wanted.flatMap { RetryAfterField.delay($0, now: resources.wallNow) } ?? .zero
            // Else all that wait get the time, and no request is made before it.
            guard least <= Self.pauseMax else { return nil }
        case .failure(let error): guard error.isBeforeRequest else { return nil }
        }
        let chance = resources.chance()
        return max(least, Backoff().delay(retry: retries, previous: .zero, chance: chance))
    }

    /// Runs a fetch, which is a span where it has a place in a trace.
    private func traced(_ fetch: Fetch) async throws(LupinError) -> FetchAnswer {
        let connector = OriginConnector(in: slot, resources, snapshot.upstream)
        guard let context else { return try await connector.fetch(fetch) }
        var request = OwnRequest(
            SpanID(random: resources.chance()),
            at: context,
            fetch.method,
            to: fetch.origin,
            token: definition.name,
            begun: resources.wallNow
        )
        defer {
            request.ended = resources.wallNow
            resources.shared.telemetry.submit(request)
        }
        do throws(LupinError) {
            let answer = try await connector.fetch(fetch)
            request.status = answer.status
            return answer
        } catch {
            request.error = error
            throw error
        }
    }

    // MARK: Files

    /// The current content of a secret file; it may have changed since the rules were read.
    func content(of path: String) throws(TokenFailure) -> [UInt8] {
        let bytes = try SecretFiles.content(of: path)
        if let text = SecretText.text(ofFile: bytes) { resources.shared.secrets.add(text) }
        return bytes
    }

    private func onHelperThread<Value: Sendable>(
        _ job: @escaping @Sendable () throws(TokenFailure) -> Value
    ) async throws(TokenFailure) -> Value {
        let promise = Promise<Result<Value, TokenFailure>>(slot)
        let reply = promise.reply
        let isTaken = resources.shared.tokenThread.submit {
            reply(Result { () throws(TokenFailure) in try job() })
        }
        guard isTaken else { throw TokenFailure(.excessive) }
        while promise.isOpen { _ = await slot.park(for: .answered) }
        guard let result = promise.answer else { throw TokenFailure(.excessive) }
        return try result.get()
    }
}

extension LupinError {
    /// Whether no byte of a request was sent.
    fileprivate var isBeforeRequest: Bool {
        switch retry {
        case .dns, .connect, .tlsTransient: true
        case .reset, .staleConnection, .timeout, .refusedStream, .goaway, .never: false
        }
    }
}
