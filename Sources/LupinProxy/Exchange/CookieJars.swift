// The cookie jars of `cookies:`, one per file, and their storage on disk.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import Synchronization

/// The one owner of all cookie jars, for all workers.
///
/// A jar is read when it is first needed. Changes are written soon, by a helper thread: the file
/// always has its old or its new content.
final class CookieJars: Sendable {
    private struct Entry {
        var jar: CookieJar
        /// The revision of the jar that the file has, or will have soon.
        var kept: UInt64
        var isWriting = false
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let writing = Mutex<Void>(())
    private let thread: HelperThread
    private let logger: Logger
    /// Learns the values: an origin may repeat them anywhere.
    private let secrets: TaintedSecrets

    init(on thread: HelperThread, secrets: TaintedSecrets, logger: Logger) {
        self.thread = thread
        self.secrets = secrets
        self.logger = logger
    }

    /// The cookies for a request; times are seconds since 1970.
    func cookies(
        in path: String,
        for origin: Origin,
        _ head: RequestHead,
        isProtected: Bool,
        now: Int64
    ) -> CookieList {
        load(path, now: now)
        let list = entries.withLock { entries in
            entries[path]?.jar.cookies(
                for: origin,
                path: head.pathText,
                isProtected: isProtected,
                now: now
            ) ?? CookieList()
        }
        if !list.isEmpty { secrets.add(cookies: list.values) }
        return list
    }

    /// Stores the cookies of a response.
    func keep(
        _ response: ResponseHead,
        in path: String,
        from origin: Origin,
        _ head: RequestHead,
        isProtected: Bool,
        now: Int64
    ) {
        secrets.add(cookies: response.fields.cookieValues)
        load(path, now: now)
        let isDue = entries.withLock { entries in
            guard var entry = entries[path] else { return false }
            entry.jar.store(
                from: response.fields,
                origin: origin,
                path: head.pathText,
                isProtected: isProtected,
                now: now
            )
            defer { entries[path] = entry }
            guard entry.jar.revision != entry.kept, !entry.isWriting else { return false }
            entry.isWriting = true
            return true
        }
        guard isDue, !thread.submit({ self.write(path, now: now) }) else { return }
        // The thread has too much to do; the next response tries again.
        entries.withLock { $0[path]?.isWriting = false }
    }

    /// Reads a jar that is asked for the first time; not under the lock, by which all workers get
    /// their cookies.
    private func load(_ path: String, now: Int64) {
        if entries.withLock({ $0[path] != nil }) { return }
        let entry = read(path, now: now)
        // Two may have read it: the one that came first may have changed it since.
        entries.withLock { if $0[path] == nil { $0[path] = entry } }
    }

    private func read(_ path: String, now: Int64) -> Entry {
        var jar = CookieJar()
        do throws(ProtectedFileProblem) {
            let file = try ProtectedFile.read(path, bytesMax: CookieFile.bytesMax)
            if file.owner == .somebodyElse {
                logger.warning("the cookie jar \(path) belongs to somebody else; it is not read")
            } else if let contents = try? CookieFile.read(file.bytes, now: now) {
                jar = contents.jar
                if contents.badLinesCount > 0 {
                    let lines = contents.badLines.map(String.init).joined(separator: ", ")
                    logger.warning("the cookie jar \(path) has lines that are no cookies: \(lines)")
                }
            }
        } catch {
            if !error.isAbsence { logger.warning("cannot read the cookie jar \(path): \(error)") }
        }
        return Entry(jar: jar, kept: jar.revision)
    }

    /// Writes all unsaved changes; it blocks.
    ///
    /// Needed at the end, since a helper thread that ends drops its jobs.
    func flush(now: Int64) {
        let paths = entries.withLock { entries in
            entries.filter { $0.value.jar.revision != $0.value.kept }.map(\.key)
        }
        for path in paths { write(path, now: now) }
    }

    private func write(_ path: String, now: Int64) {
        // One at a time, so that older content does not overwrite newer.
        writing.withLock { _ in
            let jar = entries.withLock { entries -> CookieJar? in
                guard var entry = entries[path] else { return nil }
                entry.isWriting = false
                entry.kept = entry.jar.revision
                entries[path] = entry
                return entry.jar
            }
            if let jar { write(jar, to: path, now: now) }
        }
    }

    private func write(_ jar: CookieJar, to path: String, now: Int64) {
        let text = CookieFile.text(of: jar, now: now)
        do throws(ProtectedFileProblem) {
            try ProtectedFile.write(text.bytes.span, to: path, replacing: true)
        } catch {
            logger.error("cannot write the cookie jar \(path): \(error)")
        }
    }
}

extension Exchange {
    /// Adds the cookies of the plan's jar to a request; the client's cookies of the same name win.
    func attachCookies(to request: inout UpstreamRequest) {
        guard let path = plan?.cookieJar else { return }
        let cookies = resources.shared.cookieJars.cookies(
            in: path,
            for: request.origin,
            request.head,
            isProtected: protects(request.origin),
            now: resources.wallSecond
        )
        guard !cookies.isEmpty else { return }
        cookies.attach(to: &request.head.fields)
        request.steps.note(applied: "cookies")
    }

    /// Stores the cookies that a response sets, in the plan's jar.
    func keepCookies(of response: ResponseHead, to request: UpstreamRequest) {
        guard let path = plan?.cookieJar, response.fields.first(.setCookie) != nil else { return }
        resources.shared.cookieJars.keep(
            response,
            in: path,
            from: request.origin,
            request.head,
            isProtected: protects(request.origin),
            now: resources.wallSecond
        )
    }
}
