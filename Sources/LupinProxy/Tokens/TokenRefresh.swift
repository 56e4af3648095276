// Gets a credential from a token's source: files, a program, or a token server.
import Logging
import LupinConfinement
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords

/// One refresh of one token, on the loop of the worker whose exchange asked first.
///
/// It is independent of every exchange: it runs to its end even when clients leave, or a rotated
/// token would be lost.
final class TokenRefresh {
    private let definition: TokenDefinition
    private let resources: WorkerResources
    private let snapshot: Snapshot
    /// The exchange that started it logs every stage.
    private let isLogged: Bool
    /// Where its request stands in a trace; nil where it is not traced.
    private let context: OwnRequestContext?
    private var store: TokenStore { resources.shared.tokens }

    private init(
        _ definition: TokenDefinition,
        _ resources: WorkerResources,
        _ snapshot: Snapshot,
        context: OwnRequestContext?,
        isLogged: Bool
    ) {
        self.context = context
        self.definition = definition
        self.resources = resources
        self.snapshot = snapshot
        self.isLogged = isLogged
    }

    /// Starts a refresh that the store has ordered; its end wakes all waiting exchanges.
    static func start(
        _ definition: TokenDefinition,
        on resources: WorkerResources,
        _ snapshot: Snapshot,
        context: OwnRequestContext?,
        isLogged: Bool
    ) {
        let refresh = TokenRefresh(
            definition,
            resources,
            snapshot,
            context: context,
            isLogged: isLogged
        )
        switch definition.source {
        case .bearer, .basic, .digest: refresh.read()
        case .command(let source): refresh.run(source)
        case .oauth2(let source): refresh.ask(source)
        }
    }

    private func settle(_ result: Result<Credential, TokenFailure>) {
        switch result {
        case .success(let credential): tell(.success(store.refreshed(definition, credential)))
        case .failure(let failure):
            // The text of a server's error code is its own choice, and may repeat a secret.
            let sentence = resources.redactor.cleaned(failure.sentence(token: definition.name))
            resources.shared.logger.warning("\(sentence)")
            tell(.failure(failure))
            store.failed(definition, failure, now: resources.loop.now)
        }
    }

    /// Reports the result to monitors: the version, or the failure.
    private func tell(_ result: Result<Int, TokenFailure>) {
        switch result {
        case .success(let version):
            resources.tell(ofToken: definition.name, version: version, isLogged: isLogged)
        case .failure(let failure):
            resources.tell(
                ofToken: definition.name,
                version: nil,
                detail: failure.sentence(token: definition.name),
                isLogged: isLogged
            )
        }
    }

    // MARK: Texts and files

    /// Reads small files on the local disk at once.
    private func read() {
        let now = resources.loop.now
        settle(
            Result { () throws(TokenFailure) in
                switch definition.source {
                case .bearer(let text):
                    let token = try text.text(SecretFiles.content)
                    guard !token.isEmpty else { throw TokenFailure(.missing) }
                    return Credential(.token(token), obtainedAt: now)
                case .basic(let user, let password, _), .digest(let user, let password):
                    let pair = try UserPassword(
                        user: user.text(SecretFiles.content),
                        password: password.text(SecretFiles.content)
                    )
                    return Credential(.password(pair), obtainedAt: now)
                case .command, .oauth2: throw TokenFailure(.missing)
                }
            }
        )
    }

    // MARK: Programs

    /// The variables that a program gets: the user and paths, but no proxy, or its own requests
    /// would come back here.
    private static let variables = [
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
        "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    ]

    private func run(_ source: CommandSource) {
        let shared = resources.shared
        let environment = shared.environment.filter { Self.variables.contains($0.key) }
        let (definition, clock) = (definition, shared.clock)
        let executor = resources.loop.executor
        let local = LoopLocal(self, of: executor)
        let isTaken = shared.tokenThread.submit {
            var complaint: String?
            let result = Result { () throws(TokenFailure) in
                try Self.credential(of: source, environment, clock, &complaint)
            }
            switch result {
            case .success(let credential):
                let version = shared.tokens.refreshed(definition, credential)
                executor.mailbox.post { local.value.tell(.success(version)) }
            case .failure(let failure):
                // What it says is for the owner alone: no page has it.
                let said = complaint.map { " It said: \($0)" } ?? ""
                shared.logger.warning("\(failure.sentence(token: definition.name))\(said)")
                executor.mailbox.post { local.value.tell(.failure(failure)) }
                shared.tokens.failed(definition, failure, now: clock.now())
            }
        }
        if !isTaken { settle(.failure(TokenFailure(.excessive))) }
    }

    private static func credential(
        of source: CommandSource,
        _ environment: [String: String],
        _ clock: LoopClock,
        _ complaint: inout String?
    ) throws(TokenFailure) -> Credential {
        var environment = environment
        for variable in source.variables {
            environment[variable.name] = try variable.value.text(SecretFiles.content)
        }
        let command = SecretCommand(
            ApartProcess.words(source.arguments, without: source.unseen),
            environment: environment,
            in: source.folder,
            timeLimit: source.timeout,
            bytesMax: TokenField.credentialBytesMax
        )
        let program = source.arguments.first ?? ""
        let outcome: SecretCommand.Outcome
        do throws(SystemError) {
            outcome = try command.run()
        } catch {
            throw TokenFailure(.command(program: program, .cannotStart(reason: error.message)))
        }
        switch outcome {
        case .output(let bytes):
            let text = try source.credential(output: bytes)
            return Credential(.token(text), obtainedAt: clock.now(), life: source.every)
        case .failed(let code, let errors):
            complaint = CommandSource.complaint(in: errors)
            throw TokenFailure(.command(program: program, .exit(code: code)))
        case .timedOut: throw TokenFailure(.command(program: program, .timeout))
        case .tooLong: throw TokenFailure(.command(program: program, .outputTooLong))
        }
    }

    // MARK: Token servers

    private func ask(_ source: OAuth2Source) {
        let grant = OAuth2Grant(definition, source, resources, snapshot, context: context)
        let local = LoopLocal((self, grant), of: resources.loop.executor)
        Task.immediate(executorPreference: resources.loop.executor) {
            let (refresh, grant) = local.value
            do throws(TokenFailure) {
                refresh.settle(.success(try await grant.run()))
            } catch {
                refresh.settle(.failure(error))
            }
        }
    }
}
