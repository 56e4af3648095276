// The file that keeps rotated refresh tokens, so that neither a restart nor a kill loses the last.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS

/// The file of `oauth2.store`: the refresh token that the server issued last.
///
/// It blocks: use it on helper threads only.
struct RotationFile {
    private static let bytesMax = 256 << 10

    private let path: String
    /// The token URL and client that the token was issued for; a token of another pair is ignored.
    private let url: String
    private let client: String
    /// A digest of the token in the rules file: a new token there invalidates the stored one.
    private let seed: String

    init(_ source: OAuth2Source, path: String, seed: String) {
        self.path = path
        url = source.url.description
        client = source.clientID
        let digest = MessageDigest.sha256(Array(seed.utf8).span)
        var text: [UInt8] = []
        for byte in digest.prefix(16) { text.append(hex: UInt64(byte), digits: 2) }
        self.seed = String(decoding: text, as: UTF8.self)
    }

    /// One process's exclusive turn at a token; ends with this object's life, or the process's.
    final class Turn: Sendable {
        /// The token issued last; nil when the one of the rules file is still valid.
        let refreshToken: String?
        private let lock: Descriptor

        fileprivate init(_ refreshToken: String?, _ lock: consuming Descriptor) {
            self.refreshToken = refreshToken
            self.lock = lock
        }
    }

    /// Begins a turn; returns nil while another turn lasts, in any process.
    func begin() throws(TokenFailure) -> Turn? {
        do throws(ProtectedFileProblem) {
            guard let lock = try ProtectedFile.tryLock(path + ".lock") else { return nil }
            return Turn(try read(), lock)
        } catch {
            throw TokenFailure(.file(path: path, reason: error.description))
        }
    }

    /// The error when no turn can be had.
    var isBusy: TokenFailure {
        TokenFailure(.file(path: path, reason: "another lupin does not let go of it"))
    }

    /// Writes a token atomically: afterwards the file has the old content or the new, in any case.
    func keep(_ refreshToken: String) throws(TokenFailure) {
        do throws(ProtectedFileProblem) {
            try write(refreshToken)
        } catch {
            throw TokenFailure(.file(path: path, reason: error.description))
        }
    }

    private func read() throws(ProtectedFileProblem) -> String? {
        let text: [UInt8]
        do throws(ProtectedFileProblem) {
            let contents = try ProtectedFile.read(path, bytesMax: Self.bytesMax)
            guard contents.owner != .somebodyElse else { return nil }
            text = [UInt8](copying: contents.bytes)
        } catch {
            if error.isAbsence { return nil }
            throw error
        }
        guard let value = JSONValue(parsing: text.span), value["token_url"]?.string == url,
            value["client_id"]?.string == client, value["seed"]?.string == seed
        else { return nil }
        return value["refresh_token"]?.string
    }

    private func write(_ refreshToken: String) throws(ProtectedFileProblem) {
        let fields = [
            ("token_url", url), ("client_id", client), ("seed", seed),
            ("refresh_token", refreshToken),
        ]
        let lines = fields.map { "  \(Self.quoted($0.0)): \(Self.quoted($0.1))" }
        let text = "{\n" + lines.joined(separator: ",\n") + "\n}\n"
        try ProtectedFile.write(text.utf8Span.span, to: path, replacing: true)
    }

    /// A JSON string (RFC 8259 §7) of any length, unlike those of a log.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                result.unicodeScalars.append("\\")
                result.unicodeScalars.append(scalar)
            case "\u{0}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
