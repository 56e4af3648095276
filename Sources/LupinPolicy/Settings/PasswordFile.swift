// Who may use a listener that asks for a password: the htpasswd file, and what in it will not do.

import LupinCore

/// The users of an htpasswd file with the hashes of their passwords.
///
/// A line is `name:hash`. Empty lines and those that begin with `#` say nothing; of two lines with
/// one name the first counts, and what stands behind a second colon is ignored, as in Apache httpd.
package struct PasswordFile: Sendable, Equatable {
    /// What is wrong with one line.
    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        /// Counted from 1; 0 is the file as a whole.
        package var line: Int
        /// Names the user perhaps, and never says anything of the hash.
        package var message: String

        package var description: String { line == 0 ? message : "line \(line): \(message)" }
    }

    /// Why a file is not used: all that is wrong with it, but at most ``problemsMax``.
    package struct Unusable: Error, Equatable, Sendable, CustomStringConvertible {
        package var problems: [Problem]

        package var description: String {
            problems.map(\.description).joined(separator: "; ")
        }
    }

    /// Longer files are refused unread.
    package static let bytesMax = 1 << 20
    /// Problems told at a time.
    package static let problemsMax = 20
    /// Bytes of a name, as `htpasswd` has it.
    static let nameBytesMax = 255

    private struct Entry: Sendable, Equatable {
        /// As the file spells it: the same name may come in another form of Unicode.
        var name: String
        var hash: String
        var line: Int
    }

    private var entries: [Entry] = []
    private var indices: [String: Int] = [:]
    /// Lines that count for nothing: the file is used all the same.
    package private(set) var warnings: [Problem] = []

    /// Reads the text of a file.
    /// - Throws: Everything that is wrong with it; a file without any user is no use either.
    package init(_ bytes: [UInt8]) throws(Unusable) {
        guard bytes.count <= Self.bytesMax else {
            let message = "the file has more than \(Self.bytesMax >> 10) KiB"
            throw Unusable(problems: [Problem(line: 0, message: message)])
        }
        var problems: [Problem] = []
        let text = bytes[bytes.span.byteOrderMark...]
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(Problem) {
                try add(line, number: index + 1)
            } catch {
                problems.append(error)
                if problems.count == Self.problemsMax { break }
            }
        }
        if entries.isEmpty, problems.isEmpty {
            problems = [Problem(line: 0, message: "the file names no user")]
        }
        guard problems.isEmpty else { throw Unusable(problems: problems) }
    }

    /// The user called `name`: the name as the file spells it, and the hash.
    package func user(_ name: String) -> (name: String, hash: String)? {
        guard let index = indices[name] else { return nil }
        return (entries[index].name, entries[index].hash)
    }

    /// A hash to work on for a name that the file does not have, so that it costs as much time as a
    /// wrong password: for one `number` always the same, as a name's own hash would be.
    package func dummyHash(for number: UInt64) -> String {
        entries[Int(number % UInt64(max(1, entries.count)))].hash
    }

    private mutating func add(_ bytes: ArraySlice<UInt8>, number: Int) throws(Problem) {
        func problem(_ message: String) -> Problem { Problem(line: number, message: message) }
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        let line = bytes.drop(while: isBlank)
        let end = line.lastIndex { !isBlank($0) } ?? line.startIndex
        guard let first = line.first, first != 0x23 else { return }
        guard let text = String(validating: line[...end], as: UTF8.self) else {
            throw problem("not UTF-8")
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count > 1 else { throw problem("no colon between name and hash") }
        let name = String(parts[0])
        guard !name.isEmpty else { throw problem("the name is missing") }
        guard name.utf8.count <= Self.nameBytesMax else {
            throw problem("the name is longer than \(Self.nameBytesMax) bytes")
        }
        guard name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw problem("the name has control characters")
        }
        if let index = indices[name] {
            let before = "\(name) stands on line \(entries[index].line) already, which counts"
            if warnings.count < Self.problemsMax { warnings.append(problem(before)) }
            return
        }
        if let fault = PasswordScheme.fault(in: String(parts[1])) {
            throw problem("\(name): \(fault)")
        }
        indices[name] = entries.count
        entries.append(Entry(name: name, hash: String(parts[1]), line: number))
    }
}

/// Which hashes will do: bcrypt, SHA-crypt and yescrypt, each with a salt and a cost.
private enum PasswordScheme {
    /// A bcrypt cost beyond takes seconds for each password.
    private static let costMax = 16
    /// As many rounds of SHA-crypt take seconds too; the default is 5,000.
    private static let roundsMax = 5_000_000
    private static let cure = "write one of bcrypt instead: htpasswd -B FILE NAME"

    /// What is wrong with a hash; nil when it will do.
    static func fault(in hash: String) -> String? {
        // An empty part before the first $ and one for each $.
        let parts = hash.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1, parts[0].isEmpty else { return faultOfOldScheme(hash) }
        switch parts[1] {
        case "2a", "2b", "2y": return faultOfBcrypt(parts)
        case "5": return faultOfSHA(parts, digits: 43)
        case "6": return faultOfSHA(parts, digits: 86)
        case "y":
            let isWhole =
                parts.count == 5 && (2...16).contains(parts[2].utf8.count)
                && parts[3].utf8.count <= 86 && isEncoded(parts[2]) && isEncoded(parts[3])
                && parts[4].utf8.count == 43 && isEncoded(parts[4])
            return isWhole ? nil : "the yescrypt hash is not complete; \(cure)"
        case "apr1", "1": return "MD5 is too weak to keep a password; \(cure)"
        case "2", "2x": return "this kind of bcrypt hash has a known flaw; \(cure)"
        default: return "lupin does not know this kind of hash; \(cure)"
        }
    }

    private static func faultOfOldScheme(_ hash: String) -> String? {
        if hash.isEmpty { return "there is no hash; \(cure)" }
        if hash == "*" || hash.hasPrefix("!") || hash == "x" {
            return "the password is locked; leave the line out"
        }
        if hash.hasPrefix("{SHA}") || hash.hasPrefix("{SSHA}") {
            return "SHA-1 is too weak to keep a password; \(cure)"
        }
        if hash.utf8.count == 13, isEncoded(hash) {
            return "crypt (DES) is too weak to keep a password; \(cure)"
        }
        return "this is no hash, but perhaps the password itself; \(cure)"
    }

    /// `$2y$10$` and 53 digits: 22 of the salt, 31 of the hash.
    private static func faultOfBcrypt(_ parts: [String]) -> String? {
        guard parts.count == 4, parts[2].utf8.count == 2,
            let cost = NumberReader.unsigned(parts[2]),
            (4...31).contains(cost), parts[3].utf8.count == 53, isEncoded(parts[3])
        else { return "the bcrypt hash is not complete; \(cure)" }
        guard cost <= costMax else {
            return "a bcrypt cost of \(cost) takes too long; use 10 to \(costMax)"
        }
        return nil
    }

    /// `$6$salt$` or `$6$rounds=5000$salt$`, and the digits of the hash.
    private static func faultOfSHA(_ parts: [String], digits: Int) -> String? {
        let incomplete = "the SHA-crypt hash is not complete; \(cure)"
        var rest = parts.dropFirst(2)
        if let rounds = rest.first, rounds.hasPrefix("rounds=") {
            rest = rest.dropFirst()
            let count = rounds.dropFirst("rounds=".count)
            guard let number = NumberReader.unsigned(count) else { return incomplete }
            guard number <= roundsMax else {
                return "\(number) rounds take too long; use at most \(roundsMax)"
            }
        }
        guard rest.count == 2, let salt = rest.first, let hash = rest.last else {
            return incomplete
        }
        let isWhole =
            salt.utf8.count <= 16 && hash.utf8.count == digits && isEncoded(hash)
        return isWhole ? nil : incomplete
    }

    /// Whether all are digits of crypt's base 64.
    private static func isEncoded(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            byte.isASCIIDigit || (byte | 0x20) &- 0x61 < 26 || byte == 0x2E || byte == 0x2F
        }
    }
}
