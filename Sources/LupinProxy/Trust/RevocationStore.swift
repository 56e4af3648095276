// Answers about withdrawn certificates, kept as long as they hold.
import LupinCore
import LupinIO
import LupinTLS
import Synchronization

/// What OCSP responders and issuers of lists said lately, for all workers.
final class RevocationStore: Sendable {
    private struct Entry {
        var answer: RevocationAnswer
        /// In seconds since 1970.
        var validUntil: Int64
    }

    /// Answers kept; beyond it those that end first go.
    private static let countMax = 256
    /// How long a failed question is not asked again, and an answer without an end is kept.
    static let retrySeconds: Int64 = 60
    /// Lists are read anew at every handshake; those of large issuers come in smaller parts.
    static let answerBytesMax = 4 << 20

    private let entries = Mutex<[RevocationQuery: Entry]>([:])

    /// What is known at a time, in seconds since 1970.
    func evidence(at now: Int64) -> RevocationEvidence {
        entries.withLock { entries in
            RevocationEvidence(entries.compactMapValues { $0.validUntil > now ? $0.answer : nil })
        }
    }

    func keep(_ answer: RevocationAnswer, to query: RevocationQuery, until validUntil: Int64) {
        entries.withLock { entries in
            if entries.count >= Self.countMax,
                let first = entries.min(by: { $0.value.validUntil < $1.value.validUntil })
            {
                entries[first.key] = nil
            }
            entries[query] = Entry(answer: answer, validUntil: validUntil)
        }
    }
}

extension Exchange {
    /// Asks what a trust policy wants to know, and returns all that is known then.
    func revocationEvidence(
        _ queries: [RevocationQuery],
        until deadline: UInt64
    ) async -> RevocationEvidence {
        let store = resources.shared.revocations
        for query in queries {
            let now = resources.wallNow / 1_000_000
            let answer = await ask(query, until: deadline)
            let validUntil = answer.encoding.flatMap {
                RevocationCheck.validUntil($0, query.kind, now: now)
            }
            store.keep(answer, to: query, until: validUntil ?? now + RevocationStore.retrySeconds)
        }
        return store.evidence(at: resources.wallNow / 1_000_000)
    }

    private func ask(_ query: RevocationQuery, until deadline: UInt64) async -> RevocationAnswer {
        // An https URL would need its own answer first.
        guard let (origin, path) = Origin.parse(httpURL: query.url) else {
            return RevocationAnswer(encoding: nil, failure: "\(query.url) is no http URL")
        }
        var fetch = Fetch(
            origin: origin,
            path: path,
            answerBytesMax: RevocationStore.answerBytesMax,
            deadline: deadline
        )
        if query.kind == .ocsp {
            fetch.method = .post
            fetch.contentType = "application/ocsp-request"
            fetch.body = query.body
        }
        do throws(LupinError) {
            let answer = try await self.fetch(fetch)
            guard answer.status == 200 else {
                let failure = "\(origin.authority) answered \(answer.status)"
                return RevocationAnswer(encoding: nil, failure: failure)
            }
            return RevocationAnswer(encoding: answer.body)
        } catch {
            return RevocationAnswer(encoding: nil, failure: error.detail)
        }
    }
}

extension Origin {
    /// Origin and path of an `http:` URL; nil for anything else.
    fileprivate static func parse(httpURL url: String) -> (Origin, path: String)? {
        guard url.lowercased().hasPrefix("http://") else { return nil }
        let rest = url.dropFirst(7)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = Array(rest[..<end].utf8)
        guard let (host, port) = AuthorityText.parse(authority.span) else { return nil }
        var path = String(rest[end...].prefix { $0 != "#" })
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        if !path.hasPrefix("/") { path = "/" + path }
        return (Origin(scheme: .http, host: host, port: port ?? 80), path)
    }
}
