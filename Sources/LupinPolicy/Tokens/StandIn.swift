// What a program holds in place of a credential: how it looks, and which token it stands for.

import LupinCore

/// `stand_in` of a token: literal text, and `{N}` for N random letters and digits.
package struct StandInTemplate: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        case text(String)
        /// So many random letters and digits.
        case random(Int)
    }

    /// Why a text is no template, as a sentence without a full stop.
    package struct Problem: Error, Equatable {
        package let sentence: String
    }

    /// Fewer random characters could be guessed: 22 of 62 are more than 128 bits.
    package static let randomMin = 22
    /// Fields of common servers are limited to 8 KiB, and no credential in use is as long.
    package static let lengthMax = 512

    package let parts: [Part]

    /// `lupin_{40}`.
    package static let usual = StandInTemplate(parts: [.text("lupin_"), .random(40)])

    private init(parts: [Part]) { self.parts = parts }

    /// Parses `ghp_{36}`.
    ///
    /// - Throws: For characters other than those of token68 (RFC 9110 §11.2) without its padding,
    ///   fewer than 22 random characters, or more than 512 in all.
    package init(parsing text: String) throws(Problem) {
        var parts: [Part] = []
        var literal = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "{" else {
                guard character.isOfToken else {
                    throw Problem(sentence: "a stand-in can't contain \(Self.shown(character))")
                }
                literal.append(character)
                continue
            }
            guard let end = rest.firstIndex(of: "}") else {
                throw Problem(sentence: "a { has no }")
            }
            let number = NumberReader.unsigned(rest[..<end], max: UInt64(Self.lengthMax))
            guard let number, number > 0 else {
                let range = "1 to \(Self.lengthMax)"
                throw Problem(sentence: "between { and } stands a number from \(range)")
            }
            if !literal.isEmpty { parts.append(.text(literal)) }
            literal = ""
            // Bounded: at most 512.
            parts.append(.random(Int(number)))
            rest = rest[rest.index(after: end)...]
        }
        if !literal.isEmpty { parts.append(.text(literal)) }
        self.parts = parts
        let (random, length) = counts
        if random < Self.randomMin {
            throw Problem(
                sentence: "a stand-in has at least \(Self.randomMin) random characters, "
                    + "and this one \(random)"
            )
        }
        if length > Self.lengthMax {
            throw Problem(sentence: "a stand-in has at most \(Self.lengthMax) characters")
        }
    }

    private static func shown(_ character: Character) -> String {
        let isVisible = character.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
        return isVisible ? "\"\(character)\"" : "a space or control character"
    }

    private var counts: (random: Int, length: Int) {
        parts.reduce((0, 0)) { sum, part in
            switch part {
            // Bounded: each random part has at most 512, and the text is that of a file.
            case .random(let count): (sum.0 + count, sum.1 + count)
            case .text(let text): (sum.0, sum.1 + text.utf8.count)
            }
        }
    }

    /// A new stand-in; `bytes` returns so many bytes of a cryptographic generator.
    package func text(random bytes: (Int) -> [UInt8]) -> String {
        var text: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let literal): text += literal.utf8
            case .random(let count): Self.append(count, to: &text, bytes)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8
    )

    private static func append(
        _ count: Int,
        to text: inout [UInt8],
        _ bytes: (Int) -> [UInt8]
    ) {
        // The largest multiple of 62 in a byte: the rest would make some characters likelier.
        let bound = UInt8(truncatingIfNeeded: 256 - 256 % alphabet.count)
        var missing = count
        while missing > 0 {
            for byte in bytes(missing) where byte < bound && missing > 0 {
                text.append(alphabet[Int(byte) % alphabet.count])
                missing -= 1
            }
        }
    }
}

extension Character {
    /// Whether it may stand in token68 before the padding.
    fileprivate var isOfToken: Bool {
        guard let byte = asciiValue else { return false }
        return byte.isUnreserved || byte == 0x2B || byte == 0x2F
    }
}

/// `in` of `stand_ins`: where in a request stand-ins become the credential.
package struct StandInLocations: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Values of fields that carry credentials; what tools do with tokens.
    package static let fields = StandInLocations(rawValue: 1 << 0)
    package static let query = StandInLocations(rawValue: 1 << 1)
    package static let path = StandInLocations(rawValue: 1 << 2)

    /// The words of the file.
    package static let words: [(word: String, location: StandInLocations)] = [
        ("fields", .fields), ("query", .query), ("path", .path),
    ]
}

/// Where in a request a stand-in stands.
package struct StandInPlace: Sendable, Equatable {
    /// As in "the field X-Key".
    package let text: String
    /// What `in` of a rule must have so that it is exchanged there; nil where no rule can do that.
    package let remedy: StandInLocations?

    package init(text: String, remedy: StandInLocations?) {
        self.text = text
        self.remedy = remedy
    }

    /// Why it is not exchanged there, and what helps; `allowed` is where the request's rules
    /// exchange it, empty where they don't name its token.
    package func refusal(of standIn: StandIn, exchangedIn allowed: StandInLocations) -> String {
        let (name, cause) = (standIn.token, "stand_ins.elsewhere is refuse")
        let found = "The stand-in for the token \"\(name)\" is in \(text), "
        if allowed.isEmpty {
            return found + "and no rule exchanges it in requests to this host; \(cause)."
        }
        guard let remedy else {
            return found + "where no rule can exchange it; \(cause). It belongs, as a whole part "
                + "of the value, into \(standIn.field) or another field that carries credentials."
        }
        let words = StandInLocations.words.filter { allowed.union(remedy).contains($0.location) }
        let list = words.map(\.word).joined(separator: ", ")
        return found + "where the request's rules do not exchange it; \(cause). stand_ins: "
            + "{tokens: [\(name)], in: [\(list)]} in one of them does."
    }
}

/// A stand-in of one run.
package struct StandIn: Sendable, Equatable, Concealed {
    /// The name under `tokens`.
    package let token: String
    package let text: String
    /// The field in which the token is sent, by its definition.
    package let field: String

    package init(token: String, text: String, field: String = "Authorization") {
        self.token = token
        self.text = text
        self.field = field
    }
}

/// The stand-ins that a proxy knows: at most one for a token.
package struct StandIns: Sendable, Equatable, Concealed {
    package let all: [StandIn]

    package static let none = StandIns([])

    package init(_ all: [StandIn]) { self.all = all }

    /// Makes one for each of the tokens called `names`, which are in `definitions`.
    package init(
        for names: [String],
        in definitions: [TokenDefinition],
        random bytes: (Int) -> [UInt8]
    ) {
        all = definitions.filter { names.contains($0.name) }.map { definition in
            StandIn(
                token: definition.name,
                text: definition.standIn.text(random: bytes),
                field: definition.field.name
            )
        }
    }

    package var isEmpty: Bool { all.isEmpty }

    /// The one for the token called `token`.
    package subscript(token token: String) -> StandIn? { all.first { $0.token == token } }
}
