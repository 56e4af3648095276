// Secrets that came up at run time: no log may hold them from that moment on.
package import LupinCore
import Synchronization

/// The one owner of the secrets that the redactors of all workers learn at run time.
package final class TaintedSecrets: Sendable {
    /// Beyond this many the oldest are dropped: they have been replaced often enough.
    package static let countMax = 512
    /// Dropped secrets that a redactor may still know: to make it anew for each would take much
    /// longer than to add one.
    static let leftoversMax = 64

    private struct State {
        var texts: [String] = []
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

    package init() {}

    var current: Int { generation.load(ordering: .acquiring) }

    func add(_ credential: Credential) { credential.secrets.forEach(add) }

    package func add(_ text: String) {
        state.withLock { state in
            guard !state.texts.contains(text) else { return }
            if state.texts.count >= Self.countMax { state.texts.removeFirst() }
            state.texts.append(text)
            generation.add(1, ordering: .releasing)
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

extension TaintedSecrets.Redaction {
    /// Whether what it lacks is still known, and it knows few that are not.
    fileprivate func canGoOn(to number: Int, _ texts: [String], _ now: Int) -> Bool {
        let lacking = now - generation
        return snapshot == number && lacking <= texts.count
            && count + lacking <= texts.count + TaintedSecrets.leftoversMax
    }
}
