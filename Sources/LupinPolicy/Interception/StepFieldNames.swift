// The fields that steps may change, and the advice for other fields.

import LupinCore

extension RequestStep {
    /// Returns why a step may not set or change the field `name`; nil if it may (E-HEADER).
    package static func problem(withFieldName name: String) -> String? {
        if name.isEmpty { return "a field name is missing" }
        if name.hasPrefix(":") {
            return "`\(name)` is a pseudo-header; `url: {host: …}` and its other keys change the"
                + " target"
        }
        for character in name {
            guard let byte = character.asciiValue, byte.isTokenByte else {
                return "`\(name)` is no field name: \(description(of: character)) may not stand in"
                    + " one"
            }
        }
        switch FieldName(name.utf8.span).scope {
        case .target: return "`Host` follows the URL; `url: {host: …}` changes it"
        case .framing: return "`\(name)` frames the message; lupin writes it itself"
        case .connection:
            return "`\(name)` is about one connection and goes no further; lupin writes it itself"
        case .proxy:
            return "`\(name)` is for a proxy, never for an origin; credentials for a parent proxy"
                + " stand in its URL: `proxy: http://user:password@host:port`"
        case .head, .message: return nil
        }
    }

    /// Returns why `pattern` can't be removed; nil if it can (E-HEADER).
    ///
    /// A glob skips the fields that no step may change.
    package static func problem(withRemoval pattern: String) -> String? {
        guard pattern.contains("*") else { return problem(withFieldName: pattern) }
        for character in pattern {
            guard let byte = character.asciiValue, byte.isTokenByte else {
                return "`\(pattern)` matches no field name: \(description(of: character)) may not"
                    + " stand in one"
            }
        }
        return nil
    }

    /// Returns why `value` is invalid as a field's value; nil if it is valid (RFC 9110 §5.5).
    package static func problem(withFieldValue value: String) -> String? {
        for scalar in value.unicodeScalars where scalar.value < 0x20 || scalar.value == 0x7F {
            if scalar != "\t" {
                return "\(description(of: Character(scalar))) may not stand in a field value"
            }
        }
        return nil
    }

    private static func description(of character: Character) -> String {
        guard let scalar = character.unicodeScalars.first else { return "it" }
        switch scalar {
        case " ": return "a space"
        case "\r", "\n": return "a line end"
        case "\0": return "NUL"
        default:
            return scalar.value < 0x20 || scalar.value == 0x7F ? "a control byte" : "`\(character)`"
        }
    }
}

extension FieldSection.Line {
    /// Whether steps may see and change the line: not if it concerns this connection, the framing
    /// or the target.
    ///
    /// A tool's `Connection: Authorization` does not hide a field that a step sets.
    var isForSteps: Bool { !isHopByHop && known.scope.isEndToEnd }
}
