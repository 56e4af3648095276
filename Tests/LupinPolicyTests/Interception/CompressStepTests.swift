// Which request bodies are compressed, which are left alone and why, and what the head says then.

import LupinCore
import LupinPolicy
import Testing

struct CompressStepTests {
    private func head(_ method: String = "POST", _ lines: [String] = []) -> RequestHead {
        var head = RequestHead()
        head.method = Method(method)
        head.fields = fields(lines)
        return head
    }

    private func fields(_ lines: [String]) -> FieldSection {
        var fields = FieldSection()
        for line in lines {
            let name = line.prefix { $0 != ":" }
            let value = line.dropFirst(name.count + 1).drop { $0 == " " }
            fields.add(name: String(name), value: String(value))
        }
        return fields
    }

    private func decide(
        _ lines: [String],
        method: String = "POST",
        length: UInt64? = 5000,
        step: CompressStep = CompressStep()
    ) -> CompressDecision {
        step.decide(
            head: head(method, lines),
            contentLength: length,
            hasBody: true,
            refusesCompression: false
        )
    }

    @Test(
        arguments: [(nil, true), (1024, true), (1023, false), (1, false), (.max, true)]
            as [(UInt64?, Bool)]
    )
    func `a body of 1 KiB or of unknown length is compressed`(length: UInt64?, does: Bool) {
        #expect(decide([], length: length) == (does ? .compress : .leave(.small)))
        var step = CompressStep()
        step.minBytes = 0
        #expect(decide([], length: length, step: step) == .compress)
    }

    @Test(
        arguments: [
            (["Content-Encoding: gzip"], .encoded), (["content-encoding: BR, identity"], .encoded),
            (["Cache-Control: max-age=0, No-Transform"], .noTransform),
            (["Content-Range: bytes 0-9/10"], .partial),
            (["Content-Type: Multipart/ByteRanges ; boundary=x"], .partial),
            (["Connection: upgrade", "Upgrade: websocket"], .tunnel),
            (["Signature-Input: s=(\"@method\" \"content-digest\");keyid=\"k\""], .signed),
            (["Authorization: AWS4-HMAC-SHA256 Credential=x"], .signed),
            (["Authorization: Digest username=\"x\", qop=auth-int"], .signed),
        ] as [([String], CompressReason)]
    )
    func `a body that must not change is left alone`(lines: [String], reason: CompressReason) {
        #expect(decide(lines) == .leave(reason))
    }

    @Test(arguments: [
        "Content-Encoding: identity", "Content-Encoding:", "Cache-Control: no-store",
        "Content-Type: multipart/form-data; boundary=byteranges", "Upgrade: websocket",
        "Signature-Input: s=(\"@method\" \"@path\");keyid=\"k\"", "Authorization: Bearer aws4-",
        "Authorization: Digest username=\"x\", qop=auth", "X-Content-Range: 1",
    ])
    func `other fields are no obstacle`(line: String) {
        #expect(decide([line]) == .compress)
    }

    @Test func `an upgrade to h2c is none`() {
        #expect(decide(["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"]) == .compress)
    }

    @Test(
        arguments: [
            ("POST", .compress), ("PUT", .compress), ("PATCH", .compress), ("OPTIONS", .compress),
            ("PROPFIND", .compress), ("GET", .leave(.method)), ("HEAD", .leave(.method)),
            ("DELETE", .leave(.method)), ("TRACE", .leave(.method)), ("CONNECT", .leave(.tunnel)),
        ] as [(String, CompressDecision)]
    )
    func `only methods whose content means something have it compressed`(
        method: String,
        expected: CompressDecision
    ) {
        #expect(decide([], method: method) == expected)
    }

    @Test func `a request without a body is left alone, whatever its fields say`() {
        var step = CompressStep()
        step.ifEncoded = .error
        step.minBytes = 0
        let encoded = head("POST", ["Content-Encoding: gzip"])
        for (length, hasBody) in [(0, true), (nil, false), (0, false)] as [(UInt64?, Bool)] {
            let decision = step.decide(
                head: encoded,
                contentLength: length,
                hasBody: hasBody,
                refusesCompression: false
            )
            #expect(decision == .leave(.noBody))
        }
    }

    @Test func `an encoded body fails where the rule wants that, and the sentence names the step`()
    {
        var step = CompressStep()
        step.ifEncoded = .error
        guard case .fail(let sentence) = decide(["Content-Encoding: br"], length: 1, step: step)
        else {
            Issue.record("the body was not refused")
            return
        }
        #expect(sentence.contains("compress gzip") && !sentence.contains("br\""))
        #expect(decide([], step: step) == .compress)
    }

    @Test func `an origin that refused once gets plain bodies`() {
        let decision = CompressStep().decide(
            head: head(),
            contentLength: nil,
            hasBody: true,
            refusesCompression: true
        )
        #expect(decision == .leave(.refused))
    }

    @Test func `the head says the coding, and no length and no digest of the plain body`() {
        var fields = fields([
            "Content-Length: 5000", "Content-Type: text/plain", "Content-MD5: x",
            "content-digest: sha-256=:x:", "Repr-Digest: sha-256=:x:", "Digest: x",
            "Content-Encoding: identity", "Want-Content-Digest: sha-256=1",
        ])
        var step = CompressStep()
        step.coding = .deflate
        step.apply(to: &fields)
        #expect(
            fields.pairs.map { "\($0.name): \($0.value)" } == [
                "Content-Type: text/plain", "Content-Encoding: deflate",
                "Want-Content-Digest: sha-256=1",
            ]
        )
        #expect(step.summary == "compress deflate")
    }

    @Test(
        arguments: [
            (415, "Accept-Encoding: br", .certain), (415, "Accept-Encoding: identity", .certain),
            (415, "Accept-Encoding:", .certain), (415, "Accept-Encoding: gzip;q=0", .certain),
            (415, "Accept-Encoding: gzip ; Q=0.000, *", .certain),
            (415, "Accept-Encoding: *;q=0", .certain),
            (415, "Accept-Encoding: gzip", .likely),
            (415, "Accept-Encoding: X-GZIP;q=0.5", .likely),
            (415, "Accept-Encoding: br, *", .likely),
            (415, "Accept-Encoding: *;q=0, gzip", .likely), (415, "Accept: text/plain", .likely),
            (411, "Accept: text/plain", .likely), (400, "Accept-Encoding: br", .none),
        ] as [(UInt16, String, CompressionRefusal)]
    )
    func `a 415 is a refusal, for certain if its Accept-Encoding misses the coding`(
        status: UInt16,
        line: String,
        refusal: CompressionRefusal
    ) {
        let fields = fields([line])
        for hasLostLength in [true, false] {
            #expect(
                CompressStep().refusal(
                    status: status,
                    fields: fields,
                    hasLostLength: hasLostLength
                ) == (hasLostLength || status != 411 ? refusal : .none)
            )
        }
    }

    @Test(
        arguments: [
            ("gzip", .gzip), ("X-GZip", .gzip), ("DEFLATE", .deflate), ("br", nil),
            ("identity", nil),
            ("", nil),
        ] as [(String, ContentCoding?)]
    )
    func `a coding is known in any case`(token: String, coding: ContentCoding?) {
        #expect(ContentCoding(token) == coding)
    }

    @Test(
        arguments: [
            ("gzip", .gzip), ("x-gzip", .gzip), ("Deflate", .deflate), ("BR", .brotli),
            ("zstd", .zstd), ("identity", nil), ("", nil), ("compress", nil), ("dcz", nil),
        ] as [(String, DecodableCoding?)]
    )
    func `more codings can be undone than applied`(token: String, coding: DecodableCoding?) {
        #expect(DecodableCoding(token) == coding)
        if let coding { #expect(DecodableCoding(coding.token) == coding) }
    }
}
