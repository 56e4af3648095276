// Checks names and passwords against a password file, which may change at run time.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import Synchronization

/// One password file and its users, for all workers.
///
/// Hashing is slow by design, so a separate thread does it, once for all clients that send the same
/// credentials. Valid ones are known for some minutes, by a digest under a key of this run; the
/// passwords themselves are kept only while they wait.
final class Authenticator: Sendable {
    /// The result of a check.
    enum Verdict: Sendable, Equatable {
        /// They belong to the user with this name.
        case passed(String)
        case failed
        /// Too many wait already, or the check took longer than ``patience``.
        case busy
        /// `interruptions` ended the wait.
        case interrupted
    }

    /// Whether a password matches a hash; it may block.
    typealias Verify = @Sendable (_ password: [UInt8], _ hash: String) -> Bool

    /// How long a client waits for a check.
    static let timeout = Duration.seconds(10)
    /// The minimum time between two checks of the file, in microseconds.
    private static let lookInterval: UInt64 = 1_000_000

    let realm: String
    private let path: String
    private let clock: LoopClock
    private let logger: Logger
    private let verify: Verify
    private let digest = KeyedDigest()
    private let thread: HelperThread
    private let state: Mutex<State>

    /// Passes the verdict to a waiting task, on its own loop.
    private typealias Answer = @Sendable (Verdict) -> Void

    private struct Check {
        let credentials: ClientCredentials
        let client: IPAddress
        var waiters: [Int: Answer]
    }

    private struct State {
        var file: PasswordFile
        /// The version of the file when it was last read, valid or not.
        var version: FileVersion?
        /// The file changed so shortly before it was read that another change may go undetected.
        var mustReadAgain: Bool
        /// The reported problem of an invalid file; nil while it is valid.
        var complaint: String?
        var lookedAt: UInt64 = 0
        var isLookDue = false
        var known = KnownCredentials()
        /// Checks that wait or run, by the digest of the credentials.
        var checks: [[UInt8]: Check] = [:]
        var queue = PasswordQueue()
        var waitersSoFar = 0

        init(file: PasswordFile, version: FileVersion?) {
            self.file = file
            self.version = version
            mustReadAgain = version?.isSettled() == false
        }
    }

    /// Reads the file and starts the thread.
    /// - Throws: A sentence about the file, or a line of it, that is invalid.
    init(
        file path: String,
        realm: String,
        clock: LoopClock,
        logger: Logger,
        verify: @escaping Verify
    ) throws(Proxy.StartFailure) {
        self.path = path
        self.realm = realm
        self.clock = clock
        self.logger = logger
        self.verify = verify
        do throws(Complaint) {
            let (file, version) = try Self.read(path)
            for warning in file.warnings { logger.warning("\(path): \(warning)") }
            state = Mutex(State(file: file, version: version))
        } catch {
            throw Proxy.StartFailure(message: "\(path): \(error.text)", isBindFailure: false)
        }
        do {
            thread = try HelperThread(name: "lupin-users", capacity: PasswordQueue.waitingMax)
        } catch {
            let message = SystemError(code: error.code).message
            throw Proxy.StartFailure(message: message, isBindFailure: false)
        }
    }

    /// Abandons a check that still runs.
    func abandon() { thread.abandon() }

    // MARK: The worker's side

    /// Checks `credentials`, at once if the result is known, or else in turn.
    ///
    /// Call on the loop of `slot`, with its task. `interruptions` are reasons of `slot` that end
    /// the wait; they are kept for the caller.
    func verdict(
        on credentials: ClientCredentials,
        from client: IPAddress,
        slot: ParkingSlot,
        interruptions: WakeReasons
    ) async -> Verdict {
        let loop = slot.loop
        let key = digest.sha256(credentials.bytes.span)
        // Without a digest all credentials would look the same.
        guard !key.isEmpty else { return .busy }
        let promise = Promise<Verdict>(slot)
        switch ask(key, credentials, client, promise.reply) {
        case .answered(let verdict): return verdict
        case .waits(let number):
            let deadline = loop.deadline(in: Self.timeout)
            while promise.answer == nil {
                let woken = await slot.park(for: .answered | interruptions, until: deadline)
                let stops = woken.intersection(interruptions)
                // Parking consumed these reasons; the caller must still see them.
                slot.wake(stops)
                guard promise.answer == nil, !stops.isEmpty || loop.now >= deadline else {
                    continue
                }
                promise.close()
                leave(key, number)
                return stops.isEmpty ? .busy : .interrupted
            }
            return promise.answer ?? .busy
        }
    }

    private enum Ticket {
        case answered(Verdict)
        case waits(Int)
    }

    /// The known verdict, or a place among the waiting tasks.
    private func ask(
        _ key: [UInt8],
        _ credentials: ClientCredentials,
        _ client: IPAddress,
        _ answer: @escaping Answer
    ) -> Ticket {
        let now = clock.now()
        let (ticket, isNew) = state.withLock { state -> (Ticket, Bool) in
            if let known = state.known.verdict(on: key, at: now) {
                return (.answered(known), false)
            }
            state.waitersSoFar += 1
            let number = state.waitersSoFar
            if state.checks[key] != nil {
                state.checks[key]?.waiters[number] = answer
                return (.waits(number), false)
            }
            let entry = PasswordQueue.Entry(key: key, name: credentials.name)
            guard state.queue.append(entry, from: client) else { return (.answered(.busy), false) }
            state.checks[key] = Check(
                credentials: credentials,
                client: client,
                waiters: [number: answer]
            )
            return (.waits(number), true)
        }
        // Each submitted job does one check, whichever is next; if the thread's own queue is full,
        // it has enough jobs already.
        if isNew { thread.submit { [weak self] in self?.work() } }
        return ticket
    }

    /// Removes a waiting task; removes the check with its last task, unless it runs already.
    private func leave(_ key: [UInt8], _ number: Int) {
        state.withLock { state in
            guard var check = state.checks[key] else { return }
            check.waiters[number] = nil
            state.checks[key] = check
            guard check.waiters.isEmpty, state.queue.remove(key, from: check.client) else { return }
            state.checks[key] = nil
        }
    }

    // MARK: The thread's side

    /// Checks the file if that is due, and then the next password.
    private func work() {
        let isLookDue = state.withLock { state in
            defer { state.isLookDue = false }
            return state.isLookDue
        }
        // Before the password: the file should not wait for the whole queue.
        if isLookDue { look() }
        let next = state.withLock { state -> (key: [UInt8], check: Check, Work)? in
            guard let key = state.queue.next(), let check = state.checks[key] else { return nil }
            let user = state.file.user(check.credentials.name)
            let number = digest.number(of: check.credentials.name)
            let hash = user?.hash ?? state.file.dummyHash(for: number)
            return (key, check, Work(name: user?.name, hash: hash))
        }
        guard let (key, check, work) = next else { return }
        // For an unknown name a hash is computed all the same, so that the time reveals nothing.
        let isRight = verify(check.credentials.password, work.hash)
        let verdict = isRight ? work.name.map(Verdict.passed) ?? .failed : .failed
        let now = clock.now()
        let waiters = state.withLock { state in
            state.known.note(verdict, on: key, at: now)
            return state.checks.removeValue(forKey: key)?.waiters ?? [:]
        }
        for answer in waiters.values { answer(verdict) }
    }

    private struct Work {
        /// nil when the file has no such user.
        let name: String?
        let hash: String
    }

    // MARK: The file

    /// Schedules a check of the file, unless there was one within the last second.
    ///
    /// Workers call it from time to time.
    func lookAfterFile() {
        let now = clock.now()
        let isDue = state.withLock { state in
            guard now &- state.lookedAt >= Self.lookInterval else { return false }
            state.lookedAt = now
            state.isLookDue = true
            return true
        }
        if isDue { thread.submit { [weak self] in self?.work() } }
    }

    /// Reads the file again if it has changed; an invalid file leaves the users unchanged.
    ///
    /// It runs between two checks, so no result of an old file is kept.
    private func look() {
        let now = FileVersion(path: path)
        let (before, mustReadAgain) = state.withLock { ($0.version, $0.mustReadAgain) }
        guard now != before || mustReadAgain || now == nil else { return }
        do throws(Complaint) {
            let (file, version) = try Self.read(path)
            let isNew = state.withLock { state in
                let hadComplaint = state.complaint != nil
                state.complaint = nil
                state.version = version
                state.mustReadAgain = version?.isSettled() == false
                guard file != state.file else { return hadComplaint }
                state.file = file
                state.known = KnownCredentials()
                return true
            }
            guard isNew else { return }
            logger.notice("\(path): read again")
            for warning in file.warnings { logger.warning("\(path): \(warning)") }
        } catch {
            let isNew = state.withLock { state in
                state.version = now
                state.mustReadAgain = now?.isSettled() == false
                defer { state.complaint = error.text }
                return state.complaint != error.text
            }
            guard isNew else { return }
            logger.error("\(path): \(error.text); the users stay those of the file before")
        }
    }

    /// Why a file is invalid.
    private struct Complaint: Error { let text: String }

    private static func read(_ path: String) throws(Complaint) -> (PasswordFile, FileVersion?) {
        guard PasswordHash.isAvailable else {
            throw Complaint(
                text: "lupin can't check passwords, since this machine has no libcrypt; install "
                    + "libcrypt1 (Debian, openSUSE) or libxcrypt (Fedora, Arch)"
            )
        }
        do {
            let content = try FileContent(path: path, bytesMax: PasswordFile.bytesMax)
            return (try PasswordFile(content.bytes), content.version)
        } catch let error as SystemError {
            throw Complaint(text: error.message)
        } catch {
            throw Complaint(text: "\(error)")
        }
    }
}
