// Which request bodies are compressed on their way, and what changes in the head then.

/// `compress:` in the steps of a rule.
///
/// Alamofire's third answer to a body that is encoded already, `replace`, isn't offered: it would
/// have to undo what the client did.
package struct CompressStep: Sendable, Equatable {
    /// What happens to a body that has a Content-Encoding.
    package enum IfEncoded: Sendable, Equatable {
        /// It goes on as it is.
        case skip
        /// The request fails.
        case error
    }

    package var coding = ContentCoding.gzip
    /// Shorter bodies are left alone; one of unknown length is compressed.
    package var minBytes: UInt64 = 1024
    package var ifEncoded = IfEncoded.skip

    package init() {}

    /// The step as the record names it.
    package var summary: String { "compress \(coding.token)" }
}

/// What `compress:` does to one request.
package enum CompressDecision: Sendable, Equatable {
    /// The body is compressed and the head follows (`CompressStep.apply`).
    case compress
    case leave(CompressReason)
    /// Nothing goes upstream; a sentence for people.
    case fail(String)
}

/// Why a body goes on as it is; the text stands in the record.
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
    /// Whether the body of a request is compressed.
    ///
    /// - Parameters:
    ///   - head: As the other steps of the plan have left it.
    ///   - contentLength: The length of the body; nil where only its end tells it.
    ///   - hasBody: Whether there is one at all.
    ///   - refusesCompression: Whether the origin once answered as `isRefusal` says.
    /// - Returns: What is to be done; only `compress` changes anything.
    package func decide(
        head: RequestHead,
        contentLength: UInt64?,
        hasBody: Bool,
        refusesCompression: Bool
    ) -> CompressDecision {
        let fields = head.fields
        if head.method == .connect || head.form == .authority || fields.asksForUpgrade {
            return .leave(.tunnel)
        }
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

    /// Makes the head that of the compressed body: what was said of its length and its bytes goes.
    ///
    /// The length isn't known before the end, so the framing is chunked or HTTP/2's own.
    package func apply(to fields: inout FieldSection) {
        fields.lines.removeAll { $0.known == .contentLength }
        fields.removeDigests()
        fields.set(name: "Content-Encoding", value: coding.token)
    }

    /// Whether a response says that the compression was the trouble (RFC 9110 §15.5.16): 415 with
    /// an Accept-Encoding in which the coding is missing or has weight 0.
    ///
    /// Without that field a 415 is about the media type. The request may be sent again as it came,
    /// and the origin be remembered as one that refuses.
    package func isRefusal(status: UInt16, fields: FieldSection) -> Bool {
        guard status == 415, fields.first(.acceptEncoding) != nil else { return false }
        var own: Bool?
        var any: Bool?
        fields.forEachMember(of: .acceptEncoding) { member in
            let parts = String(copying: member).split(separator: ";").map { $0.trimmedOfBlanks }
            guard let name = parts.first else { return }
            let isAccepted = !parts.dropFirst().contains(where: \.isWeightZero)
            if name == "*" { any = any ?? isAccepted }
            if ContentCoding(String(name)) == coding { own = own ?? isAccepted }
        }
        return !(own ?? any ?? false)
    }
}

extension FieldSection {
    /// Removes the digests of what the body was before it changed; of trailers too.
    ///
    /// Content-Digest is of the content and Repr-Digest of the representation with its codings
    /// (RFC 9530 §2 and §3), as Digest and Content-MD5 were before them.
    package mutating func removeDigests() {
        for name in ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"] {
            remove(name: name)
        }
    }

    /// Whether the connection is to become another protocol's; `h2c` is never passed on.
    fileprivate var asksForUpgrade: Bool {
        guard lists("upgrade", in: .connection) else { return false }
        var isAsked = false
        forEachUpgrade { _ in isAsked = true }
        return isAsked
    }

    /// Whether the body has another coding than the one that is none.
    fileprivate var isEncoded: Bool {
        var isEncoded = false
        forEachMember(of: .contentEncoding) { member in
            isEncoded = isEncoded || !member.equalsIgnoringCase("identity".utf8Span.span)
        }
        return isEncoded
    }

    /// Whether the body is a range of something, or ranges (RFC 9110 §14.4 and §14.6): they count
    /// the bytes of the representation with its coding.
    fileprivate var isPartOfContent: Bool {
        if first(.contentRange) != nil { return true }
        let type = value(of: .contentType)?.lowercased().split(separator: ";").first
        return type?.trimmedOfBlanks == "multipart/byteranges"
    }

    /// Whether the client signed something that compression changes.
    ///
    /// HTTP message signatures name the fields that they cover (RFC 9421 §4.1), Amazon's sign a
    /// hash of the body, and Digest does with `auth-int` (RFC 7616 §3.4.3).
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
    /// Whether content of such a request means something (RFC 9110 §9.3): servers may refuse it in
    /// the others, and all the more if it is encoded.
    fileprivate var givesContentMeaning: Bool {
        switch self {
        case .get, .head, .delete, .trace, .connect: false
        case .post, .put, .patch, .options, .other: true
        }
    }
}

extension StringProtocol {
    fileprivate var trimmedOfBlanks: String {
        let bytes = Array(utf8)
        return String(copying: bytes.span.extracting(bytes.span.trimmedRange))
    }

    /// Whether a parameter is a weight of nothing: `q=0`, `q=0.000`.
    fileprivate var isWeightZero: Bool {
        let bytes = Array(utf8).map(\.asciiLowercased)
        guard bytes.starts(with: [0x71, 0x3D, 0x30]) else { return false }
        return bytes.dropFirst(3).allSatisfy { $0 == 0x2E || $0 == 0x30 }
    }
}
