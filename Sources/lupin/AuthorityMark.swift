// How lupin identifies a CA in trust stores, and which CAs it has installed.
import ArgumentParser
import LupinCore
import LupinIO
import LupinTLS

/// A CA's SHA-256 fingerprint and the names derived from it.
struct AuthorityMark: Hashable {
    /// 64 lower-case hexadecimal digits.
    let fingerprint: String

    init(_ certificate: Certificate) { fingerprint = HexText.text(certificate.fingerprint) }

    /// Parses a fingerprint, with or without colons between bytes; returns nil when it is invalid.
    init?(_ text: String) {
        let digits = text.lowercased().filter { $0 != ":" }
        guard digits.utf8.count == 64, digits.utf8.allSatisfy({ $0.hexDigit != nil }) else {
            return nil
        }
        fingerprint = digits
    }

    /// A unique, short name for files, nicknames and aliases.
    var name: String { "lupin-\(fingerprint.prefix(16))" }

    /// `0F:3A:…`.
    var colons: String {
        let digits = Array(fingerprint.uppercased())
        return stride(from: 0, to: digits.count, by: 2)
            .map { String(digits[$0..<$0 + 2]) }
            .joined(separator: ":")
    }

    /// Whether a PEM text has a certificate with this mark.
    func isIn(pem: [UInt8]) -> Bool {
        let certificates = (try? Certificate.parseAll(pem: pem.span)) ?? []
        return certificates.contains { AuthorityMark($0) == self }
    }
}

extension AuthorityMark: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}

/// The marks of the installed CAs, so that they can be removed after the CA was replaced.
struct InstalledAuthorities {
    private static let bytesMax = 1 << 16

    private let path: String?

    init(_ surroundings: StoreSurroundings) {
        path = surroundings.stateFolder.map { "\($0)/lupin/installed-authorities" }
    }

    /// In the order of installation.
    var all: [AuthorityMark] {
        guard let path, let file = try? FileContent(path: path, bytesMax: Self.bytesMax) else {
            return []
        }
        return String(decoding: file.bytes, as: UTF8.self).split(separator: "\n")
            .compactMap { AuthorityMark(String($0)) }
    }

    func add(_ mark: AuthorityMark) throws(CommandFailure) {
        let known = all
        if !known.contains(mark) { try write(known + [mark]) }
    }

    func remove(_ marks: [AuthorityMark]) throws(CommandFailure) {
        let known = all
        let rest = known.filter { !marks.contains($0) }
        if rest != known { try write(rest) }
    }

    private func write(_ marks: [AuthorityMark]) throws(CommandFailure) {
        guard let path else { return }
        let text = marks.map { "\($0.fingerprint)\n" }.joined()
        do throws(ProtectedFileProblem) {
            try ProtectedFile.write(text.utf8Span.span, to: path, replacing: true)
        } catch {
            throw CommandFailure("cannot write \(path): \(error)")
        }
    }
}
