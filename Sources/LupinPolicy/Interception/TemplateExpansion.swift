// Expands `${header:N}` and `${id}`, and encodes each value for its place.

package import LupinCore

/// The reason for which a step was not applied to a request.
enum StepInterruption: Error {
    /// `${header:N}` of a field that is missing in the request: the step is dropped.
    case missingField(String)
    /// NUL, CR or LF in a value: the request fails.
    case forbiddenByte
}

/// The values that templates may refer to.
struct TemplateValues {
    /// The client's original request.
    let original: RequestHead
    let id: ExchangeID
    /// Credentials by the names of their tokens.
    let tokens: [String: String]

    /// The place of a value, which decides what is percent-encoded.
    enum Context {
        /// A field value: bytes unchanged.
        case field
        /// A name or value of a query: all but unreserved characters.
        case query
        /// A path: text of the file keeps `/` and escapes, other values don't.
        case path
    }

    func expand(
        _ template: Template,
        for context: Context
    ) throws(StepInterruption) -> [UInt8] {
        var output: [UInt8] = []
        try append(template, for: context, to: &output)
        return output
    }

    func append(
        _ template: Template,
        for context: Context,
        to output: inout [UInt8]
    ) throws(StepInterruption) {
        for part in template.parts {
            switch part {
            case .text(let text):
                try append(text.utf8Span.span, isFromFile: true, context, to: &output)
            case .secret(let text):
                try append(text.utf8.span, isFromFile: false, context, to: &output)
            case .token(let name):
                guard let token = tokens[name] else { throw .missingField("token \(name)") }
                try append(token.utf8.span, isFromFile: false, context, to: &output)
            case .id:
                let text = id.text
                try append(text.utf8Span.span, isFromFile: true, context, to: &output)
            case .header(let name):
                guard let value = field(name) else { throw .missingField(name) }
                try append(value.span, isFromFile: false, context, to: &output)
            case .query(let name):
                guard let value = parameter(name) else { throw .missingField("query \(name)") }
                try append(value.span, isFromFile: false, context, to: &output)
            }
        }
    }

    /// Returns the first value of a field of the request.
    fileprivate func field(_ name: String) -> [UInt8]? {
        let line = original.fields.lines.first {
            original.fields.nameEquals($0, name.utf8.span)
        }
        let storage = original.fields.storage
        return line.map { [UInt8](copying: storage.span.extracting($0.value.range)) }
    }

    /// Returns the first value of a parameter of the request's query.
    fileprivate func parameter(_ name: String) -> [UInt8]? {
        QueryParameters.decoded(of: original.pathText.utf8Span.span)
            .first { $0.name.elementsEqual(name.utf8) }?.value
    }

    private func append(
        _ bytes: Span<UInt8>,
        isFromFile: Bool,
        _ context: Context,
        to output: inout [UInt8]
    ) throws(StepInterruption) {
        guard !bytes.hasLineEndOrNUL else { throw .forbiddenByte }
        switch context {
        case .field: output.append(copying: bytes)
        case .path where isFromFile: PercentEncoding.appendPath(bytes, to: &output)
        case .path, .query: PercentEncoding.appendComponent(bytes, to: &output)
        }
    }
}

/// Expands the content of a response that quotes the request.
package enum BodyTemplate {
    /// The escaping that keeps a value of the request from ending its context.
    private enum Escaping {
        case none, json, markup

        init(_ contentType: String?) {
            let type = (contentType ?? "").lowercased().prefix { $0 != ";" && $0 != " " }
            if type.hasSuffix("json") {
                self = .json
            } else if type.hasSuffix("html") || type.hasSuffix("xml") {
                self = .markup
            } else {
                self = .none
            }
        }

        func append(_ value: [UInt8], to output: inout [UInt8]) {
            switch self {
            case .none: output += value
            case .json: LogText.append(value.span, as: .json, to: &output)
            case .markup:
                output += HTMLPage.escaped(String(decoding: value, as: UTF8.self)).utf8
            }
        }
    }

    /// Fills in values of the client's request; missing ones are empty.
    ///
    /// In JSON, HTML and XML, values are escaped, so that none ends a string or opens a tag.
    package static func expand(
        _ template: Template,
        contentType: String?,
        request: RequestHead,
        id: ExchangeID
    ) -> [UInt8] {
        let values = TemplateValues(original: request, id: id, tokens: [:])
        let escaping = Escaping(contentType)
        var output: [UInt8] = []
        for part in template.parts {
            switch part {
            case .text(let text): output += text.utf8
            case .id: output += id.text.utf8
            case .header(let name): escaping.append(values.field(name) ?? [], to: &output)
            case .query(let name): escaping.append(values.parameter(name) ?? [], to: &output)
            // Bodies may not refer to them.
            case .secret, .token: break
            }
        }
        return output
    }
}

/// Percent-encodes bytes for a URL.
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

    /// Encodes all bytes that are invalid in a path; slashes and escapes stay.
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
