// What machines tell each other of one token: the last response of its server.

import LupinCore

/// The state of a token that several machines share, as it is sealed and stored.
package struct SharedTokenState: Sendable, Equatable, Concealed {
    /// Distinguishes this response from those before it.
    package var serial: String
    /// How many responses there were, with this one: a smaller number is an older state.
    package var generation: UInt64
    package var accessToken: String
    /// The life of the access token when it was issued, in seconds; nil if unknown.
    package var expiresIn: Int64?
    /// The refresh token to use next; nil where there is none.
    package var refreshToken: String?

    package init(
        serial: String,
        generation: UInt64,
        accessToken: String,
        expiresIn: Int64?,
        refreshToken: String?
    ) {
        self.serial = serial
        self.generation = generation
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.refreshToken = refreshToken
    }

    /// Lines of texts in hexadecimal, so that no token can end one; `-` for none.
    package var encoded: [UInt8] {
        let life = expiresIn.map { Array(String($0).utf8) }
        var bytes = Array("lupin-t1".utf8)
        for part in [
            Array(serial.utf8), Array(String(generation).utf8), Array(accessToken.utf8), life,
            refreshToken.map { Array($0.utf8) },
        ] {
            bytes.append(0x0A)
            guard let part else {
                bytes.append(0x2D)
                continue
            }
            for byte in part { bytes.append(hex: UInt64(byte), digits: 2) }
        }
        return bytes
    }

    /// Reads `encoded`; nil where it is none.
    package init?(encoded: [UInt8]) {
        let lines = encoded.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.count == 6, lines[0].elementsEqual("lupin-t1".utf8) else { return nil }
        var parts: [String?] = []
        for line in lines.dropFirst() {
            if line.elementsEqual([0x2D]) {
                parts.append(nil)
                continue
            }
            guard let text = Self.text(line) else { return nil }
            parts.append(text)
        }
        guard let serial = parts[0], let token = parts[2], !serial.isEmpty, !token.isEmpty,
            let generation = parts[1].flatMap({ NumberReader.unsigned($0) })
        else { return nil }
        var life: Int64?
        if let text = parts[3] {
            guard let number = NumberReader.unsigned(text, max: UInt64(Int64.max)) else {
                return nil
            }
            life = Int64(clamping: number)
        }
        self.init(
            serial: serial,
            generation: generation,
            accessToken: token,
            expiresIn: life,
            refreshToken: parts[4]
        )
    }

    private static func text(_ digits: ArraySlice<UInt8>) -> String? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        let text = digits.span
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: text.count, by: 2) {
            guard let byte = NumberReader.hexadecimalByte(text, at: start) else { return nil }
            bytes.append(byte)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The credential, `elapsedMs` after it was issued; nil where it is about to expire.
    package func credential(_ elapsedMs: Int64, before now: UInt64) -> Credential? {
        guard let expiresIn, expiresIn > 0 else {
            return Credential(.token(accessToken), obtainedAt: now)
        }
        let left = expiresIn.multipliedSaturated(by: 1000).subtractingSaturated(elapsedMs)
        // As for one of our own: the last tenth, 5 minutes at most, is for the next refresh.
        let reserve = min(expiresIn.multipliedSaturated(by: 100), 300_000)
        guard left > reserve else { return nil }
        return Credential(.token(accessToken), obtainedAt: now, life: .milliseconds(left))
    }
}
