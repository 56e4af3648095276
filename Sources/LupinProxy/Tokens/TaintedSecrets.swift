// Secrets that came up at run time: no log may hold them from that moment on.
package import LupinCore
import LupinPolicy
import Synchronization

/// The one owner of the secrets that the redactors of all workers learn at run time.
package final class TaintedSecrets: Sendable {
    /// Beyond this many the oldest are dropped: they have been replaced often enough.
    private let countMax: Int
    /// Of those, cookies of jars, which servers may replace with every response.
    static let cookiesMax = 256
    /// Dropped secrets that a redactor may still know: to make it anew for each would take much
    /// longer than to add one.
    static let leftoversMax = 64

    fileprivate struct State {
        var texts: [String] = []
        var known: Set<String> = []
        /// Those of the texts that are cookies, oldest first.
        var cookies: [String] = []
        var redaction: Redaction?
    }

    /// The redactor that all threads copy.
    fileprivate struct Redaction {
        let snapshot: Int
        var redactor: Redactor
        /// How many of all secrets that were ever added are in it, and how many it began with.
        var generation: Int
        var count: Int
    }

    private let state = Mutex(State())
    /// How often a secret was added; a redactor of the current generation knows them all.
    private let generation = Atomic(0)

    package init(countMax: Int = 512) { self.countMax = countMax }

    var current: Int { generation.load(ordering: .acquiring) }

    func add(_ credential: Credential) { credential.secrets.forEach(add) }

    package func add(_ text: String) {
        state.withLock { state in
            if state.add(text, countMax) { generation.add(1, ordering: .releasing) }
        }
    }

    /// Adds the values of cookies that a jar gives or gets; short ones would occur in other words.
    package func add(cookies values: [String]) {
        state.withLock { state in
            for value in values where value.utf8.count >= SecretMatcher.secretBytesMin {
                guard state.add(value, countMax) else { continue }
                state.cookies.append(value)
                if state.cookies.count > Self.cookiesMax {
                    state.remove(state.cookies.removeFirst())
                }
                generation.add(1, ordering: .releasing)
            }
        }
    }

    /// The redactor of a snapshot, with all secrets that came up since lupin began.
    ///
    /// It is made once for all threads, and a secret that comes up is added to it.
    func redactor(of snapshot: Snapshot) -> Redactor {
        redactor(snapshot.redactor, ofSnapshot: snapshot.number)
    }

    /// `plain` with all those secrets; `number` is that of its snapshot.
    package func redactor(_ plain: Redactor, ofSnapshot number: Int) -> Redactor {
        state.withLock { state in
            let now = generation.load(ordering: .relaxed)
            let texts = state.texts
            // Taken out, so that it is changed in place where no thread holds a copy.
            var redaction =
                state.redaction.take().flatMap { $0.canGoOn(to: number, texts, now) ? $0 : nil }
                ?? Redaction(
                    snapshot: number,
                    redactor: plain,
                    generation: now - texts.count,
                    count: 0
                )
            for text in texts.suffix(now - redaction.generation) {
                redaction.redactor.add(secret: text)
                redaction.count += 1
            }
            redaction.generation = now
            state.redaction = redaction
            return redaction.redactor
        }
    }
}

extension TaintedSecrets.State {
    /// Adds a secret in the place of the oldest; returns false if it is known.
    fileprivate mutating func add(_ text: String, _ countMax: Int) -> Bool {
        guard known.insert(text).inserted else { return false }
        if texts.count >= countMax { known.remove(texts.removeFirst()) }
        texts.append(text)
        return true
    }

    fileprivate mutating func remove(_ text: String) {
        guard known.remove(text) != nil else { return }
        texts.removeAll { $0 == text }
    }
}

extension TaintedSecrets.Redaction {
    /// Whether the secrets that this redaction lacks are still in `texts`, and only a few of those
    /// that it has are obsolete.
    fileprivate func canGoOn(to number: Int, _ texts: [String], _ now: Int) -> Bool {
        let lacking = now - generation
        return snapshot == number && lacking <= texts.count
            && count + lacking <= texts.count + TaintedSecrets.leftoversMax
    }
}
