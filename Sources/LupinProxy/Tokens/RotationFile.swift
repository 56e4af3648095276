// Where rotated refresh tokens are kept, so that neither a restart nor a kill loses the last one.
import LupinCore
import LupinIO
import LupinTLS

/// The file of `oauth2.store`: the refresh token that the server issued last.
///
/// It blocks: for helper threads.
struct RotationFile {
    private static let bytesMax = 256 << 10

    private let path: String
    /// What the token was issued for, and by whom; another client's or server's is not ours.
    private let url: String
    private let client: String
    /// A digest of the token in the rules file: whoever writes a new one there means that one.
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

    /// One process's turn at a token; it ends with this object's life, or the process's.
    final class Turn: Sendable {
        /// The token that was issued last; nil where the one of the rules file still holds.
        let refreshToken: String?
        private let lock: Descriptor

        fileprivate init(_ refreshToken: String?, _ lock: consuming Descriptor) {
            self.refreshToken = refreshToken
            self.lock = lock
        }
    }

    /// Takes a turn; nil while another one lasts, in whatever process.
    func begin() throws(TokenFailure) -> Turn? {
        do throws(ProtectedFileProblem) {
            guard let lock = try ProtectedFile.tryLock(path + ".lock") else { return nil }
            return Turn(try read(), lock)
        } catch {
            throw TokenFailure(.file(path: path, reason: error.description))
        }
    }

    /// Why there is no turn to be had.
    var isBusy: TokenFailure {
        TokenFailure(.file(path: path, reason: "another lupin does not let go of it"))
    }

    /// Keeps a token: after it the file has the old content or the new, whatever happens.
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

    /// A JSON string (RFC 8259 §7); of any length, unlike those of a log.
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
