// What `${header:N}` and `${id}` become, and how each value is encoded for its place.

/// Why a step was not applied to a request.
enum StepInterruption: Error {
    /// `${header:N}` of a field that the request has not: the step is dropped.
    case missingField(String)
    /// NUL, CR or LF in a value: the request fails.
    case forbiddenByte
}

/// The values that templates may name.
struct TemplateValues {
    /// The client's original request.
    let original: RequestHead
    let id: ExchangeID
    /// Credentials by the names of their tokens.
    let tokens: [String: String]

    /// Where a value goes, which decides what is percent-encoded.
    enum Place {
        /// A field value: bytes as they are.
        case field
        /// A name or value of a query: all but unreserved characters.
        case query
        /// A path: text of the file keeps `/` and escapes, what comes from outside does not.
        case path
    }

    func expand(
        _ template: Template,
        for place: Place
    ) throws(StepInterruption) -> [UInt8] {
        var output: [UInt8] = []
        try append(template, for: place, to: &output)
        return output
    }

    func append(
        _ template: Template,
        for place: Place,
        to output: inout [UInt8]
    ) throws(StepInterruption) {
        for part in template.parts {
            switch part {
            case .text(let text):
                try append(text.utf8Span.span, isFromFile: true, place, to: &output)
            case .secret(let text):
                try append(text.utf8.span, isFromFile: false, place, to: &output)
            case .token(let name):
                guard let token = tokens[name] else { throw .missingField("token \(name)") }
                try append(token.utf8.span, isFromFile: false, place, to: &output)
            case .id:
                let text = id.text
                try append(text.utf8Span.span, isFromFile: true, place, to: &output)
            case .header(let name):
                guard
                    let line = original.fields.lines.first(where: {
                        original.fields.nameEquals($0, name.utf8.span)
                    })
                else { throw .missingField(name) }
                let value = original.fields.storage.span.extracting(line.value.range)
                try append(value, isFromFile: false, place, to: &output)
            }
        }
    }

    private func append(
        _ bytes: Span<UInt8>,
        isFromFile: Bool,
        _ place: Place,
        to output: inout [UInt8]
    ) throws(StepInterruption) {
        guard !bytes.hasLineEndOrNUL else { throw .forbiddenByte }
        switch place {
        case .field: output.append(copying: bytes)
        case .path where isFromFile: PercentEncoding.appendPath(bytes, to: &output)
        case .path, .query: PercentEncoding.appendComponent(bytes, to: &output)
        }
    }
}

/// How bytes become part of a URL.
enum PercentEncoding {
    /// Encodes all but unreserved characters.
    static func appendComponent(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        for i in bytes.indices {
            if bytes[i].isUnreserved {
                output.append(bytes[i])
            } else {
                output.append(escaping: bytes[i])
            }
        }
    }

    /// Encodes what may not stand in a path; slashes and escapes stay.
    static func appendPath(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        for i in bytes.indices {
            let isEscape = NormalPath.escape(at: i, in: bytes) != nil
            if bytes[i].isPathByte || isEscape {
                output.append(bytes[i])
            } else {
                output.append(escaping: bytes[i])
            }
        }
    }
}

extension UInt8 {
    /// Whether RFC 3986 §3.3 allows the byte in a path: `pchar` without escapes, and `/`.
    fileprivate var isPathByte: Bool {
        if isUnreserved { return true }
        return switch self {
        case 0x21, 0x24, 0x26...0x2C, 0x2F, 0x3A, 0x3B, 0x3D, 0x40: true
        default: false
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether one of the bytes would end a field line.
    var hasLineEndOrNUL: Bool {
        for i in indices where self[i] == 0x0D || self[i] == 0x0A || self[i] == 0 { return true }
        return false
    }
}
