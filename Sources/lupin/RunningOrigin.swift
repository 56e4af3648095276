// How an origin fares, as a running lupin counts it for retry budgets and circuits.
import LupinCore
import LupinIO
import LupinPolicy

/// An origin of `/v1/origins`.
struct RunningOrigin: Decodable {
    private struct Note: Decodable {
        var origin: String
        /// Milliseconds.
        var rest: Int
    }

    private struct Answer: Decodable {
        var origins: [RunningOrigin]
        var uncompressed: [Note]
        var logins: [Note]
    }

    /// What a running lupin knows of one origin.
    struct Standing {
        var health: RunningOrigin?
        /// Until when compressed bodies are not tried, in microseconds since 1970.
        var uncompressedUntil: Int64?
        /// Until when its clients are offered HTTP/1.1 alone, in microseconds since 1970.
        var http1Until: Int64?
    }

    /// Scheme, host and port.
    var origin: String
    /// Failures in a row.
    var failures: Int
    /// A retry is among them.
    var retried: Bool
    /// Milliseconds since the last of them.
    var ago: Int?
    /// Those of the budget's window.
    var requests: Int
    var retries: Int

    /// Returns what the running lupin knows of an origin; nothing when none runs.
    ///
    /// Retries are counted for `policy`, if there is one; `compresses` says whether request bodies
    /// would be compressed, `isInside` whether lupin ends the client's TLS.
    static func find(
        _ origin: Origin,
        _ policy: RetryPolicy?,
        compresses: Bool,
        isInside: Bool,
        socket: String?,
        rulesFile: String?
    ) -> Standing {
        let counts = policy?.budget != nil || policy?.circuit != nil
        guard counts || compresses || isInside else { return Standing() }
        let window = policy?.budget?.window.milliseconds ?? 0
        let reply = AdminClient.answer(
            "GET",
            "/v1/origins?window=\(window)",
            socket: socket,
            rulesFile: rulesFile
        )
        guard let reply, reply.isSuccess, let answer = reply.decoded(as: Answer.self)
        else { return Standing() }
        let name = "\(origin.scheme.name)://\(origin.hostAndPort)"
        var standing = Standing()
        if counts { standing.health = answer.origins.first { $0.origin == name } }
        func end(in notes: [Note]) -> Int64? {
            notes.first { $0.origin == name }
                .map { SystemCall.wallMicroseconds() + Int64($0.rest) * 1000 }
        }
        if compresses { standing.uncompressedUntil = end(in: answer.uncompressed) }
        if isInside { standing.http1Until = end(in: answer.logins) }
        return standing
    }

    /// When the circuit closes by itself, in microseconds since 1970; nil while it is not open.
    func end(of circuit: RetryPolicy.Circuit, now: Int64) -> Int64? {
        guard retried, failures >= circuit.failures, let ago else { return nil }
        let rest = circuit.open.milliseconds - Int64(ago)
        return rest > 0 ? now + rest * 1000 : nil
    }

    /// Sentences for users about a policy.
    func lines(_ policy: RetryPolicy, now: Int64 = SystemCall.wallMicroseconds()) -> [String] {
        var lines: [String] = []
        if let circuit = policy.circuit, let end = end(of: circuit, now: now) {
            lines.append(
                "circuit now: open until \(Self.text(end)), since the last \(failures) attempts "
                    + "failed: nothing is sent again"
            )
        }
        if let budget = policy.budget {
            let allowed = budget.allowed(for: requests)
            lines.append("budget now: \(max(0, allowed - retries)) of \(allowed) retries are left")
        }
        return lines
    }

    static func text(_ time: Int64) -> String {
        var timestamp = TimestampText()
        var bytes: [UInt8] = []
        timestamp.append(date: time, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
