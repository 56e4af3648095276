// What a tape says to a request, by values alone.
import LupinCoding
import LupinCore
import LupinPolicy
import LupinRecords
import LupinWire

/// A recorded response as it is played.
struct TapeAnswer {
    let head: ResponseHead
    let body: [UInt8]
    let framing: BodyFraming
    let contentLength: UInt64?
    /// Why the body breaks off behind what is recorded; nil where it is whole.
    let failure: LupinError?
    /// Why the answer was lupin's own; nil for that of a server.
    let own: (error: LupinError, outcome: ExchangeRecord.Outcome)?

    /// The answer in the exchange `id`, to a request for `origin`.
    init(_ recorded: ArchivedExchange, to method: Method, as id: ExchangeID, at origin: Origin?) {
        let isBodiless = ResponseParser.hasNoBody(status: recorded.status, method: method)
        var head = ResponseHead(status: recorded.status)
        let length = Self.add(recorded.responseFields, to: &head.fields)
        var body = recorded.responseBody.content
        var own: (error: LupinError, outcome: ExchangeRecord.Outcome)?
        if recorded.isOwnAnswer, let kind = recorded.error, let former = recorded.ownID {
            let error = LupinError(
                kind,
                host: origin?.hostAndPort,
                detail: recorded.errorDetail,
                retry: .never,
                status: recorded.status
            )
            own = (error, recorded.outcome ?? .error)
            head.fields.add(name: "Lupin-Id", value: id.short)
            if former.utf8.count == ExchangeID.shortDigits,
                let text = String(validating: body, as: UTF8.self)
            {
                body = Array(text.replacing(former, with: id.short).utf8)
            }
        }
        self.own = own
        self.head = head
        self.body = isBodiless ? [] : body
        let size = UInt64(clamping: body.count)
        guard recorded.isBrokenOff, !isBodiless else {
            failure = nil
            framing = .length(isBodiless ? 0 : size)
            // What HEAD and 304 say of a length is that of the body which GET gets.
            contentLength = isBodiless ? length : size
            return
        }
        // A length that was promised shows that something is missing, and so does a missing end.
        let promised = length.flatMap { $0 > size ? $0 : nil }
        framing = promised.map(BodyFraming.length) ?? .chunked
        contentLength = promised
        failure = .brokenOff(at: origin, recorded.errorDetail)
    }

    /// Why a recorded exchange can't answer a request by `method`; nil where it can.
    static func obstacle(in recorded: ArchivedExchange, to method: Method) -> String? {
        guard recorded.responseBody.isMissing,
            !ResponseParser.hasNoBody(status: recorded.status, method: method)
        else { return nil }
        let what =
            recorded.responseBody.isUnreadable
            ? "has the content of this response as base64, and its base64 can't be read"
            : "has this response without its content"
        return "The tape \(what). Save the archive with content, or record it by "
            + "lupin exec --record."
    }

    /// Adds the recorded fields that describe the response rather than its transfer; returns the
    /// recorded length.
    private static func add(
        _ recorded: [ArchivedExchange.Field],
        to fields: inout FieldSection
    ) -> UInt64? {
        var length: UInt64?
        let hasCoding = recorded.contains { $0.name.lowercased() == "content-encoding" }
        for field in recorded {
            switch field.name.lowercased() {
            case "content-length":
                // That of a coded body is not the length of what is replayed.
                if !hasCoding {
                    length = NumberReader.unsigned(field.value, max: UInt64(Int64.max))
                }
            // The tape has content without its codings.
            case "content-encoding", "transfer-encoding", "connection", "keep-alive", "upgrade",
                "proxy-connection", "te", "trailer", "lupin-id", "alt-svc":
                continue
            default: fields.add(name: field.name, value: field.value)
            }
        }
        return length
    }
}

extension TapeRequest {
    /// A request as tapes know them; its body was read, and still has its content codings.
    init(_ request: RequestHead, to origin: Origin, _ body: [UInt8]) {
        let fields = request.fields
        let codings = fields.contentCodings
        // What can't be decoded is compared as it came.
        let decoded =
            codings.isEmpty
            ? nil : try? WholeBody.decoded(body, from: codings, bytesMax: Tape.bodyBytesMax)
        self.init(
            method: request.method.token,
            origin: origin,
            target: request.form == .asterisk ? "*" : request.pathText,
            fields: fields.lines.map { line in
                ArchivedExchange.Field(
                    name: fields.text(line.name),
                    value: fields.text(line.value)
                )
            },
            body: decoded ?? body
        )
    }
}

extension LupinError {
    /// A response that is on the tape up to where it broke off, for the recorded reason.
    fileprivate static func brokenOff(at origin: Origin?, _ reason: String) -> LupinError {
        LupinError(
            .httpResponseIncomplete,
            host: origin?.hostAndPort,
            detail: "The response is on the tape as far as it came."
                + (reason.isEmpty ? "" : " \(reason)"),
            retry: .never
        )
    }

    /// A request whose answer is not on the tape, or a connection while one is played.
    static func notOnTape(_ origin: Origin?, _ detail: String) -> LupinError {
        LupinError(
            .destinationNotFound,
            host: origin?.hostAndPort,
            detail: detail,
            side: .lupin,
            retry: .never,
            status: 502
        )
    }
}
