// Who may use the inspector's page: a code that works once becomes a token.
import LupinCore
import LupinIO
import LupinTLS

/// The codes and tokens of the inspector; confined to the control loop.
final class InspectorSessions {
    private let loop: EventLoop
    private let digest = KeyedDigest()
    /// Digests of secrets, with the time when each ends.
    private var codes: [[UInt8]: UInt64] = [:]
    private var tokens: [[UInt8]: UInt64] = [:]

    /// How long a code waits for its browser.
    private static let codeTime = Duration.seconds(300)
    /// How long a token lives after its last use.
    private static let tokenTime = Duration.seconds(12 * 3600)
    /// More codes or tokens than that end the oldest.
    private static let countMax = 64

    init(on loop: EventLoop) { self.loop = loop }

    /// A new code, for one browser.
    func newCode() -> String { Self.issue(&codes, Self.codeTime, digest, loop) }

    /// Answers the exchange of a code for a token; nil for any other request.
    func answer(_ request: AdminRequest) -> AdminAnswer? {
        guard request.path == "/v1/session" else { return nil }
        guard request.method == .post else { return .notAllowed("POST") }
        do throws(AdminAnswer) {
            guard let code = try request.json()["code"]?.string else {
                throw AdminAnswer(400, sentence: "send {\"code\": \"…\"}")
            }
            let key = digest.sha256(code.utf8Span.span)
            guard let end = codes.removeValue(forKey: key), end > loop.now else {
                throw AdminAnswer(
                    403,
                    sentence: "this address was used before, or is too old: run lupin inspect"
                )
            }
            let token = Self.issue(&tokens, Self.tokenTime, digest, loop)
            return AdminAnswer { $0.add("token", text: token) }
        } catch {
            return error
        }
    }

    /// Whether a request shows a token that is valid, whose time then begins anew.
    func admits(_ word: String) -> Bool {
        let key = digest.sha256(word.utf8Span.span)
        guard let end = tokens[key], end > loop.now else { return false }
        tokens[key] = loop.deadline(in: Self.tokenTime)
        return true
    }

    private static func issue(
        _ secrets: inout [[UInt8]: UInt64],
        _ time: Duration,
        _ digest: KeyedDigest,
        _ loop: EventLoop
    ) -> String {
        secrets = secrets.filter { $0.value > loop.now }
        if secrets.count >= countMax, let oldest = secrets.min(by: { $0.value < $1.value }) {
            secrets[oldest.key] = nil
        }
        let secret = HexText.text(RandomSource.bytes(count: 24))
        secrets[digest.sha256(secret.utf8Span.span)] = loop.deadline(in: time)
        return secret
    }
}
