// What of a response is masked: the secrets of the plan's tokens, in fields and in text bodies.
import LupinCoding
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// The response as the client and the cache may have it: before anything else looks at it.
    ///
    /// - Throws: When a text has a coding that can't be undone: it could hold a secret.
    func scrubbed(_ obtained: ObtainedResponse) throws(LupinError) -> ObtainedResponse {
        guard plan?.scrubs == true, let secrets = authentication?.secrets else { return obtained }
        let response = obtained.response
        var head = response.head
        let mask = SecretMask(secrets, passesLines: head.fields.isEventStream)
        head.fields.mask(with: mask)
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: request.method)
        guard !isBodiless, head.status != 101, head.fields.isText else {
            response.head = head
            return obtained
        }
        let codings = head.fields.contentCodings
        guard let chain = CodingChain(codings) else {
            throw LupinError(
                .httpResponseContentCoding,
                host: record.origin?.host.text,
                detail: "The response has content codings that lupin can't undo, and the rules "
                    + "want it scrubbed of secrets.",
                side: .upstream
            )
        }
        head.fields.removeDigests()
        head.fields.remove(name: "Accept-Ranges")
        var framing = response.framing
        var length = response.contentLength
        if !chain.isEmpty {
            head.fields.noteEditedContent()
            head.fields.remove(name: "Content-Encoding")
            framing = .chunked
            length = nil
        }
        return ObtainedResponse(
            response: ParsedResponse(head, framing: framing, contentLength: length),
            body: ScrubbedBody(obtained.body, chain, mask)
        )
    }

    /// Masks the fields of an interim response.
    func scrub(interim fields: inout FieldSection) {
        guard plan?.scrubs == true, let secrets = authentication?.secrets else { return }
        fields.mask(with: SecretMask(secrets))
    }
}

extension FieldSection {
    fileprivate var isEventStream: Bool {
        mediaType == "text/event-stream" || mediaType == "application/x-ndjson"
    }

    private var mediaType: String {
        (value(of: "Content-Type") ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
    }

    /// Whether the body is a text; one of an unknown type may be.
    fileprivate var isText: Bool {
        let type = mediaType
        if type.isEmpty || type.hasPrefix("text/") { return true }
        if type.hasSuffix("+json") || type.hasSuffix("+xml") { return true }
        let texts = [
            "json", "xml", "javascript", "x-javascript", "ecmascript", "x-www-form-urlencoded",
            "x-ndjson", "jsonl", "json-seq", "graphql-response+json", "yaml", "x-yaml", "toml",
        ]
        return texts.contains { type == "application/\($0)" }
    }
}
