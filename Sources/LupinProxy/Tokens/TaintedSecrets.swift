// Secrets that came up at run time: no log may hold them from that moment on.
import LupinCore
import Synchronization

/// The one owner of the secrets that the redactors of all workers learn at run time.
final class TaintedSecrets: Sendable {
    /// Beyond this many the oldest are dropped: they have been replaced often enough.
    private static let countMax = 512

    private let texts = Mutex<[String]>([])
    /// How often a secret was added; a redactor of the current generation knows them all.
    private let generation = Atomic(0)

    var current: Int { generation.load(ordering: .acquiring) }

    var all: [String] { texts.withLock { $0 } }

    func add(_ credential: Credential) { credential.secrets.forEach(add) }

    func add(_ text: String) {
        let isNew = texts.withLock { texts in
            guard !texts.contains(text) else { return false }
            if texts.count >= Self.countMax { texts.removeFirst() }
            texts.append(text)
            return true
        }
        if isNew { generation.add(1, ordering: .releasing) }
    }
}
