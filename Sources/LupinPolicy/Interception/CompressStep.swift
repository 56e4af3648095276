// Decides which request bodies are compressed, and changes their heads.

package import LupinCore

/// `compress:` in the steps of a rule.
///
/// Alamofire's third option for a body that is already encoded, `replace`, isn't offered: it would
/// have to undo the client's encoding.
package struct CompressStep: Sendable, Equatable {
    /// The action for a body that has a Content-Encoding.
    package enum IfEncoded: Sendable, Equatable {
        /// It is sent unchanged.
        case skip
        /// The request fails.
        case error
    }

    package var coding = ContentCoding.gzip
    /// Shorter bodies are not compressed; one of unknown length is.
    package var minBytes: UInt64 = 1024
    package var ifEncoded = IfEncoded.skip

    package init() {}

    /// The step as the record names it.
    package var summary: String { "compress \(coding.token)" }
}

/// The decision of `compress:` for one request.
package enum CompressDecision: Sendable, Equatable {
    /// The body is compressed, and the head is changed by `CompressStep.apply`.
    case compress
    case leave(CompressReason)
    /// Nothing is sent upstream; the text is a sentence for users.
    case fail(String)
}

/// The reason for which a body is not compressed; the record contains the text.
package enum CompressReason: String, Sendable, Equatable, CaseIterable {
    case noBody = "the request has no body"
    case method = "the method gives a body no meaning"
    case tunnel = "the connection becomes a tunnel"
    case encoded = "the body is encoded already"
    case small = "the body is too short"
    case noTransform = "Cache-Control forbids it"
    case partial = "the body is part of something"
    case signed = "a signature covers the body"
    case refused = "the server refused compressed bodies"
}

extension CompressStep {
    /// Decides whether the body of a request is compressed.
    ///
    /// - Parameters:
    ///   - head: The head after the other steps of the plan.
    ///   - contentLength: The length of the body; nil when it is unknown.
    ///   - hasBody: Whether there is a body.
    ///   - refusesCompression: Whether the origin has refused compression, by `refusal`.
    /// - Returns: The decision; only `compress` changes anything.
    package func decide(
        head: RequestHead,
        contentLength: UInt64?,
        hasBody: Bool,
        refusesCompression: Bool
    ) -> CompressDecision {
        let fields = head.fields
        let isForTunnel =
            head.method == .connect || head.form == .authority || fields.requestedUpgrade != nil
        if isForTunnel { return .leave(.tunnel) }
        if !hasBody || contentLength == 0 { return .leave(.noBody) }
        if !head.method.givesContentMeaning { return .leave(.method) }
        // RFC 9111 §5.2.1.6: the client asks "intermediaries to avoid transforming the content".
        if fields.lists("no-transform", in: .cacheControl) { return .leave(.noTransform) }
        if fields.isPartOfContent { return .leave(.partial) }
        if fields.isContentSigned { return .leave(.signed) }
        if fields.isEncoded {
            guard ifEncoded == .error else { return .leave(.encoded) }
            return .fail(
                "The step `\(summary)` met a body with a Content-Encoding; `if_encoded: skip` lets"
                    + " such bodies pass."
            )
        }
        if let contentLength, contentLength < minBytes { return .leave(.small) }
        return refusesCompression ? .leave(.refused) : .compress
    }

    /// Changes the head to that of the compressed body, without its old length and digests.
    ///
    /// The length is unknown before the end, so the framing is chunked or HTTP/2's own.
    package func apply(to fields: inout FieldSection) {
        fields.lines.removeAll { $0.known == .contentLength }
        fields.removeDigests()
        fields.set(name: "Content-Encoding", value: coding.token)
    }

    /// Whether a response refuses the compression (RFC 9110 §15.5.16).
    ///
    /// A 415 does so for certain with an Accept-Encoding in which the coding is missing or has
    /// weight 0. Any other may be about the media type, and a 411 where the compression took the
    /// length away (`hasLostLength`) may have another reason, too. A 411 to a request that had a
    /// length, or whose client gave none, is no refusal: it is the client's.
    package func refusal(
        status: UInt16,
        fields: FieldSection,
        hasLostLength: Bool
    ) -> CompressionRefusal {
        if status == 411 { return hasLostLength ? .likely : .none }
        guard status == 415 else { return .none }
        guard fields.first(.acceptEncoding) != nil else { return .likely }
        var own: Bool?
        var any: Bool?
        fields.forEachMember(of: .acceptEncoding) { member in
            let parts = String(copying: member).split(separator: ";").map { $0.trimmedOfBlanks }
            guard let name = parts.first else { return }
            let isAccepted = !parts.dropFirst().contains(where: \.isWeightZero)
            if name == "*" { any = any ?? isAccepted }
            if ContentCoding(String(name)) == coding { own = own ?? isAccepted }
        }
        return own ?? any ?? false ? .likely : .certain
    }
}

/// Whether a response says that the request would have been taken without compression.
package enum CompressionRefusal: Sendable {
    case none
    /// The same request without compression will tell.
    case likely
    case certain
}

extension FieldSection {
    /// Removes the digests of the unchanged body; used for trailers too.
    ///
    /// Content-Digest covers the content, Repr-Digest the representation with its codings (RFC 9530
    /// §2 and §3), as did the older Digest and Content-MD5.
    package mutating func removeDigests() {
        for name in ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"] {
            remove(name: name)
        }
    }

    /// Whether the body has a coding other than `identity`.
    fileprivate var isEncoded: Bool {
        var isEncoded = false
        forEachMember(of: .contentEncoding) { member in
            isEncoded = isEncoded || !member.equalsIgnoringCase("identity".utf8Span.span)
        }
        return isEncoded
    }

    /// Whether the body is a range or several (RFC 9110 §14.4 and §14.6), which count the bytes of
    /// the representation including its coding.
    fileprivate var isPartOfContent: Bool {
        if first(.contentRange) != nil { return true }
        let type = value(of: .contentType)?.lowercased().split(separator: ";").first
        return type?.trimmedOfBlanks == "multipart/byteranges"
    }

    /// Whether the client's signature covers something that compression changes.
    ///
    /// HTTP message signatures name the fields that they cover (RFC 9421 §4.1); Amazon's signatures
    /// and Digest with `auth-int` (RFC 7616 §3.4.3) cover a hash of the body.
    fileprivate var isContentSigned: Bool {
        let covered = [
            "\"content-digest\"", "\"repr-digest\"", "\"content-encoding\"", "\"content-length\"",
            "\"digest\"", "\"content-md5\"",
        ]
        for input in values(of: "Signature-Input") {
            let text = input.lowercased()
            if covered.contains(where: text.contains) { return true }
        }
        guard let credentials = value(of: .authorization)?.lowercased() else { return false }
        return credentials.hasPrefix("aws4-")
            || (credentials.hasPrefix("digest ") && credentials.contains("auth-int"))
    }
}

extension Method {
    /// Whether content has a meaning in a request with this method (RFC 9110 §9.3): with other
    /// methods servers may refuse it, even more so when it is encoded.
    fileprivate var givesContentMeaning: Bool {
        switch self {
        case .get, .head, .delete, .trace, .connect: false
        case .post, .put, .patch, .options, .query, .other: true
        }
    }
}

extension StringProtocol {
    package var trimmedOfBlanks: String {
        let bytes = Array(utf8)
        return String(copying: bytes.span.extracting(bytes.span.trimmedRange))
    }

    /// Whether a parameter is a zero weight: `q=0`, `q=0.000`.
    fileprivate var isWeightZero: Bool {
        let bytes = Array(utf8).map(\.asciiLowercased)
        guard bytes.starts(with: [0x71, 0x3D, 0x30]) else { return false }
        return bytes.dropFirst(3).allSatisfy { $0 == 0x2E || $0 == 0x30 }
    }
}
