// Answers about revoked certificates, kept for as long as they are valid.
import LupinCore
import LupinIO
import LupinTLS
import Synchronization

/// Recent OCSP responses and revocation lists, for all workers.
final class RevocationStore: Sendable {
    private struct Entry {
        var answer: RevocationAnswer
        /// In seconds since 1970.
        var validUntil: Int64
    }

    /// Limits of the answers' number and bytes; beyond either, those that expire first are dropped.
    private static let countMax = 256
    private static let bytesMax = 32 << 20
    /// How long a failure is not retried, and how long an answer without an end is kept.
    static let retrySeconds: Int64 = 60
    /// Lists are parsed at every handshake; large CAs publish theirs in smaller parts.
    static let answerBytesMax = 4 << 20

    private struct Answers {
        var entries: [RevocationQuery: Entry] = [:]
        var bytes = 0

        mutating func remove(_ query: RevocationQuery) {
            guard let entry = entries.removeValue(forKey: query) else { return }
            bytes -= entry.answer.encoding?.count ?? 0
        }
    }

    private let answers = Mutex(Answers())

    /// The known answer at a time in seconds since 1970; nil when it must be fetched.
    func answer(to query: RevocationQuery, at now: Int64) -> RevocationAnswer? {
        answers.withLock { answers in
            guard let entry = answers.entries[query], entry.validUntil > now else { return nil }
            return entry.answer
        }
    }

    func keep(_ answer: RevocationAnswer, to query: RevocationQuery, until validUntil: Int64) {
        let count = answer.encoding?.count ?? 0
        answers.withLock { answers in
            answers.remove(query)
            while answers.entries.count >= Self.countMax || answers.bytes + count > Self.bytesMax,
                let first = answers.entries.min(by: { $0.value.validUntil < $1.value.validUntil })
            {
                answers.remove(first.key)
            }
            answers.entries[query] = Entry(answer: answer, validUntil: validUntil)
            answers.bytes += count
        }
    }
}

extension OriginConnector {
    /// Fetches the answers that a trust policy needs.
    ///
    /// - Throws: The error that ended the wait; it says nothing about the certificate.
    func revocationAnswers(
        to queries: [RevocationQuery],
        until deadline: UInt64
    ) async throws(LupinError) -> [RevocationQuery: RevocationAnswer] {
        let store = worker.servers.revocations
        var answers: [RevocationQuery: RevocationAnswer] = [:]
        for query in queries {
            let now = worker.wallSecond
            if let known = store.answer(to: query, at: now) {
                answers[query] = known
                continue
            }
            let answer = try await ask(query, until: deadline)
            answers[query] = answer
            let validUntil = answer.encoding.flatMap {
                RevocationCheck.validUntil($0, query.kind, now: now)
            }
            store.keep(answer, to: query, until: validUntil ?? now + RevocationStore.retrySeconds)
        }
        return answers
    }

    private func ask(
        _ query: RevocationQuery,
        until deadline: UInt64
    ) async throws(LupinError) -> RevocationAnswer {
        // An https URL would need a revocation answer of its own first.
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
            do throws(FetchAnswer.Unreadable) {
                let body = try answer.plainBody(bytesMax: RevocationStore.answerBytesMax)
                return RevocationAnswer(encoding: body)
            } catch {
                let failure = "the answer of \(origin.authority) \(error.reason)"
                return RevocationAnswer(encoding: nil, failure: failure)
            }
        } catch {
            // If kept for all, one client could cause this answer by leaving.
            if error == .clientGone || error == .stopping { throw error }
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
