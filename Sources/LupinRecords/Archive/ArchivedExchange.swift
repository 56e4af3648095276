// An exchange of an HTTP Archive: what any program wrote there, made harmless.

package import LupinCore

/// A request and its response, as an HTTP Archive tells them.
///
/// Archives of other programs and damaged ones are read too: what is no field is left out.
package struct ArchivedExchange: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        fileprivate var isContentType: Bool { name.lowercased() == "content-type" }
    }

    /// A body, its content codings undone.
    package struct Body: Sendable, Equatable {
        package var content: [UInt8] = []
        /// There was more, or all of it is unknown.
        package var isPartial = false
        /// There was content, and the archive has nothing of it.
        package var isMissing = false
        /// What the archive has of it is no base64, as it says.
        package fileprivate(set) var isUnreadable = false
        /// It is a text that could not be written in the character set that its type names.
        package fileprivate(set) var isInUTF8 = false

        package init(_ content: [UInt8] = [], isPartial: Bool = false, isMissing: Bool = false) {
            self.content = content
            self.isPartial = isPartial
            self.isMissing = isMissing
        }
    }

    package var method = ""
    package var url = ""
    package var requestFields: [Field] = []
    package var requestBody = Body()
    /// What `postData` calls the type of the body.
    package var requestType: String?
    /// 0 if there was no response.
    package var status: UInt16 = 0
    package var responseFields: [Field] = []
    package var responseBody = Body()
    /// How it ended, and the error behind it, where lupin wrote the archive; nil where it did not.
    package var outcome: ExchangeRecord.Outcome?
    package var error: ErrorKind?
    package var errorDetail = ""

    /// Whether the client got only a part of the response, or the archive has only a part.
    package var isBrokenOff: Bool { outcome == .truncated || responseBody.isPartial }

    /// Whether lupin itself gave the response, since something failed or was not allowed.
    package var isOwnAnswer: Bool {
        error != nil && (outcome == .error || outcome == .denied) && ownID != nil
    }

    /// The ID by which lupin named a response of its own.
    package var ownID: String? {
        responseFields.first { $0.name.lowercased() == "lupin-id" }?.value
    }

    /// More fields in a message are left out.
    static let fieldsMax = 1000

    package init() {}

    /// Reads an entry; nil if it has no request.
    package init?(_ entry: JSONValue) {
        guard let request = entry["request"], let method = request["method"]?.string,
            !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte),
            let url = request["url"]?.string
        else { return nil }
        self.method = method
        self.url = url
        outcome = entry["_outcome"]?.string.flatMap(ExchangeRecord.Outcome.init(rawValue:))
        error = entry["_error"]?.string.flatMap(ErrorKind.init(rawValue:))
        errorDetail = entry["_detail"]?.string ?? ""
        requestFields = Self.fields(request["headers"])
        requestBody = Self.body(of: request, requestFields)
        requestType = request["postData", "mimeType"]?.string
        guard let response = entry["response"] else { return }
        status = response["status"]?.count.flatMap { UInt16(exactly: $0) } ?? 0
        if !(100...999).contains(status) { status = 0 }
        responseFields = Self.fields(response["headers"])
        let content = response["content"] ?? .null
        var type = Self.type(of: responseFields)
        let told = type == nil ? Self.mediaType(content["mimeType"]) : nil
        type = type ?? told
        responseBody = Self.content(content, encoding: "encoding", type: type)
        if responseBody.content.isEmpty, outcome != .truncated, hadContent(response["bodySize"]) {
            responseBody.isPartial = true
            responseBody.isMissing = true
        }
        if let told, !responseBody.content.isEmpty {
            responseFields.append(Field(name: "Content-Type", value: told))
        }
        guard responseBody.isInUTF8, let type else { return }
        for i in responseFields.indices where responseFields[i].isContentType {
            responseFields[i].value = ArchivedText.inUTF8(type)
        }
    }

    /// The first value of a field, by its name in lower case.
    package func requestValue(_ name: String) -> String? {
        requestFields.first { $0.name.lowercased() == name }?.value
    }

    /// Whether the response had content, by its length; that of a redirect helps nobody, and most
    /// browsers don't save it.
    private func hadContent(_ size: JSONValue?) -> Bool {
        if method == "HEAD" || method == "CONNECT" || status < 200 || status == 204 { return false }
        if (300..<400).contains(status) { return false }
        let lengths = responseFields.filter { $0.name.lowercased() == "content-length" }
            .compactMap { NumberReader.unsigned($0.value, max: UInt64(Int32.max)).map(Double.init) }
        let length = max(size?.number ?? 0, lengths.max() ?? 0)
        // Nothing at all takes a few bytes under a coding.
        let isCoded = responseFields.contains { $0.name.lowercased() == "content-encoding" }
        return length > (isCoded ? Self.emptyCodedBytesMax : 0)
    }

    private static let emptyCodedBytesMax = 64.0

    // MARK: Members

    /// The fields of a list of `{name, value}`, without those that HTTP/1.1 could not carry.
    ///
    /// Chrome and Firefox join the lines of a field, such as Set-Cookie, by LF, others by CRLF.
    private static func fields(_ list: JSONValue?) -> [Field] {
        var fields: [Field] = []
        for item in list?.list ?? [] {
            guard fields.count < fieldsMax else { break }
            // Pseudo-fields of HTTP/2 begin with a colon, which no name has.
            guard let name = item["name"]?.string,
                let value = item["value"]?.string?.replacing("\r\n", with: "\n"),
                !name.isEmpty, name.utf8.allSatisfy(\.isTokenByte),
                value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A })
            else { continue }
            let lines = value.split(
                separator: "\n",
                omittingEmptySubsequences: value.contains("\n")
            )
            for line in lines.prefix(fieldsMax - fields.count) {
                fields.append(Field(name: name, value: String(line)))
            }
        }
        return fields
    }

    private static func body(of request: JSONValue, _ fields: [Field]) -> Body {
        if let data = request["postData"] {
            let body = content(data, encoding: "_encoding", type: type(of: fields))
            guard body.isPartial, data["text"] == nil, let form = form(data) else { return body }
            return Body(form)
        }
        // A body that was sent, and is not in the archive.
        let isSent = fields.contains { field in
            switch field.name.lowercased() {
            case "content-length": field.value != "0"
            case "transfer-encoding": true
            default: false
            }
        }
        return Body([], isPartial: isSent || (request["bodySize"]?.number ?? 0) > 0)
    }

    /// The content of `postData` that has parameters and no text: a form.
    private static func form(_ data: JSONValue) -> [UInt8]? {
        guard data["mimeType"]?.string?.lowercased().hasPrefix(formType) == true,
            let params = data["params"]?.list, !params.isEmpty
        else { return nil }
        let pairs = params.map { param in
            let parts = [param["name"]?.string ?? "", param["value"]?.string ?? ""]
            return parts.map { $0.percentEncoded { $0.isUnreserved } }.joined(separator: "=")
        }
        return Array(pairs.joined(separator: "&").utf8)
    }

    private static let formType = "application/x-www-form-urlencoded"

    private static func type(of fields: [Field]) -> String? {
        fields.first(where: \.isContentType)?.value
    }

    /// A media type that stands in no field; other programs write `x-unknown` for none.
    private static func mediaType(_ json: JSONValue?) -> String? {
        guard let type = json?.string, type.contains("/"),
            type.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return nil }
        return type
    }

    /// The content of `postData`, or of a response's `content`; `type` is the Content-Type.
    private static func content(_ json: JSONValue, encoding key: String, type: String?) -> Body {
        let isCut = json["_truncated"].map { $0 != .string("") && $0 != .bool(false) } ?? false
        // -1 is a size that is not known.
        let size = json["size"]?.number ?? 0
        guard let text = json["text"]?.string, !text.isEmpty || size <= 0 else {
            let isMissing = size != 0 || json["comment"] != nil
            return Body(
                [],
                isPartial: isCut || isMissing || key == "_encoding",
                isMissing: isCut || isMissing
            )
        }
        guard json[key]?.string == "base64" else {
            let bytes = ArchivedText.bytes(text, of: type)
            var body = Body(bytes ?? Array(text.utf8), isPartial: isCut)
            body.isInUTF8 = bytes == nil
            return body
        }
        // Some programs break its lines (RFC 2045 §6.8).
        let digits = text.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let bytes = Base64Text.decode(digits) else {
            var body = Body([], isPartial: true, isMissing: true)
            body.isUnreadable = true
            return body
        }
        return Body(bytes, isPartial: isCut)
    }
}
