// What of a response is masked: the secrets of the plan's tokens, wherever lupin can see them.
import LupinCoding
package import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// What becomes of a response whose secrets are masked.
package struct Scrubbing {
    let secrets: [String]
    /// lupin put a credential into the request.
    let hasPresented: Bool
    let method: Method
    /// The host of the request, for the refusal.
    let host: String?

    package init(of secrets: [String], hasPresented: Bool, method: Method, host: String?) {
        self.secrets = secrets
        self.hasPresented = hasPresented
        self.method = method
        self.host = host
    }

    /// The response as the client and the cache may have it: before anything else looks at it.
    ///
    /// - Throws: When the body can't be looked into: it could hold a secret.
    package func scrubbed(_ obtained: ObtainedResponse) throws(LupinError) -> ObtainedResponse {
        let response = obtained.response
        var head = response.head
        let mask = SecretMask(secrets, passesLines: head.fields.isEventStream)
        head.mask(with: mask)
        try refuseSwitch(head.status)
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: method)
        guard !isBodiless, head.status != 101 else {
            response.head = head
            return obtained
        }
        guard !head.fields.hasUnknownCoding, let chain = CodingChain(head.fields.contentCodings)
        else {
            throw unscrubbed(
                .httpResponseContentCoding,
                "The response has content codings that lupin can't undo, and it is scrubbed of "
                    + "secrets."
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

    /// Refuses another protocol for a request that had a credential: its messages can't be masked.
    private func refuseSwitch(_ status: UInt16) throws(LupinError) {
        guard status == 101, hasPresented else { return }
        throw unscrubbed(
            .httpUpgradeFailed,
            "lupin put a credential into this request, and can't mask it in what follows the "
                + "switch of protocols."
        )
    }

    /// Only the owner is told how scrubbing ends: the client may be who must not see the secrets.
    private func unscrubbed(_ kind: ErrorKind, _ detail: String) -> LupinError {
        var error = LupinError(kind, host: host, detail: detail)
        error.ownersDetail = "scrub: false in a rule allows it."
        return error
    }
}

extension Exchange {
    /// The response without the secrets of the plan's tokens.
    func scrubbed(_ obtained: ObtainedResponse) throws(LupinError) -> ObtainedResponse {
        guard plan?.scrubs == true, let authentication else { return obtained }
        return try Scrubbing(
            of: authentication.secrets,
            hasPresented: authentication.hasPresented,
            method: request.method,
            host: record.origin?.host.text
        ).scrubbed(obtained)
    }

    /// Masks an interim response.
    func scrub(interim head: inout ResponseHead) {
        guard plan?.scrubs == true, let secrets = authentication?.secrets else { return }
        head.mask(with: SecretMask(secrets))
    }
}

extension FieldSection {
    /// Whether lines must pass as soon as they have come.
    fileprivate var isEventStream: Bool {
        values(of: "Content-Type").contains { value in
            let type = value.prefix { $0 != ";" && $0 != " " }.lowercased()
            return lineTypes.contains(type)
        }
    }
}

/// Events, and JSON in lines.
private let lineTypes: Set<String> = [
    "text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl",
    "application/x-jsonlines", "application/jsonlines", "application/stream+json",
]
