// Answers a request from a tape.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

extension Exchange {
    /// Answers the request from the tape; nothing else is asked for it.
    func playTape(at origin: Origin) async throws(LupinError) {
        guard let deck = resources.shared.tape else { return }
        let asked = TapeRequest(
            method: request.method.token,
            origin: origin,
            target: request.form == .asterisk ? "*" : request.pathText,
            fields: archivedFields,
            body: try await tapeBody(deck)
        )
        guard let exchange = deck.play(asked) else {
            let miss = deck.miss(of: asked.masked(by: resources.redactor))
            return try await refuse(miss.sentence, page: miss.text)
        }
        try refuseFalseOpening(exchange.status)
        let isBodiless = ResponseParser.hasNoBody(status: exchange.status, method: request.method)
        if exchange.responseBody.isMissing, !isBodiless {
            deck.noteWithoutContent()
            let what =
                exchange.responseBody.isUnreadable
                ? "has the content of this response as base64, and its base64 can't be read"
                : "has this response without its content"
            let reason =
                "The tape \(what). Save the archive with content, or record it by "
                + "lupin exec --record."
            return try await refuse(reason, page: reason + "\n")
        }
        var head = ResponseHead(status: exchange.status)
        let length = Self.add(exchange.responseFields, to: &head.fields)
        let body = noteOwnAnswer(exchange, in: &head) ?? exchange.responseBody.content
        let size = UInt64(clamping: body.count)
        var framed = ResponseBody(framing: .length(isBodiless ? 0 : size))
        // What HEAD and 304 say of a length is that of the body which GET gets.
        framed.contentLength = isBodiless ? length : size
        framed.date = head.fields.first(.date) == nil ? resources.dateText : nil
        framed.closes = resources.isDraining || !downstream.isRequestComplete
        guard exchange.isBrokenOff, !isBodiless else {
            let sink = stage(head, framed)
            return try await relay(from: BytesBody(isBodiless ? [] : body), to: sink)
        }
        // A length that was promised shows that something is missing, and so does a missing end.
        let promised = length.flatMap { $0 > size ? $0 : nil }
        framed.framing = promised.map(BodyFraming.length) ?? .chunked
        framed.contentLength = promised
        let failure = LupinError.brokenOff(at: record.origin, exchange.errorDetail)
        try await relay(from: BytesBody(body, failure: failure), to: stage(head, framed))
    }

    /// Notes in the record that the answer on the tape was lupin's own, and why.
    ///
    /// - Returns: Its content with the ID of this exchange; nil for the answer of a server.
    private func noteOwnAnswer(
        _ exchange: ArchivedExchange,
        in head: inout ResponseHead
    ) -> [UInt8]? {
        guard exchange.isOwnAnswer, let kind = exchange.error, let id = exchange.ownID else {
            return nil
        }
        record.error = LupinError(
            kind,
            host: record.origin?.hostAndPort,
            detail: exchange.errorDetail,
            retry: .never,
            status: exchange.status
        )
        record.outcome = exchange.outcome ?? .error
        head.fields.add(name: "Lupin-Id", value: record.id.short)
        let content = exchange.responseBody.content
        guard id.utf8.count == ExchangeID.shortDigits,
            let text = String(validating: content, as: UTF8.self)
        else { return content }
        return Array(text.replacing(id, with: record.id.short).utf8)
    }

    private var archivedFields: [ArchivedExchange.Field] {
        let fields = request.fields
        return fields.lines.map { line in
            ArchivedExchange.Field(
                name: fields.text(line.name),
                value: fields.text(line.value)
            )
        }
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

    /// The request's body, whole and without content codings.
    private func tapeBody(_ deck: TapeDeck) async throws(LupinError) -> [UInt8] {
        if framing.isEmpty { return [] }
        if expectsContinue, !downstream.hasBodyWaiting {
            try downstream.sendInterim(ResponseHead(status: 100))
        }
        let collected = CollectedBody(bytesMax: Tape.bodyBytesMax + 1)
        let isWhole = try await collect(downstream.requestBody, into: collected)
        guard isWhole, collected.bytes.count <= Tape.bodyBytesMax else {
            deck.noteMiss()
            throw .notOnTape(
                record.origin,
                "The request's body is longer than a tape has any: "
                    + "\(Tape.bodyBytesMax >> 20) MiB."
            )
        }
        let codings = request.fields.contentCodings
        if codings.isEmpty { return collected.bytes }
        // What can't be decoded is compared as it came.
        let decoded = try? WholeBody.decoded(
            collected.bytes,
            from: codings,
            bytesMax: Tape.bodyBytesMax
        )
        return decoded ?? collected.bytes
    }

    /// Answers a request to which the tape has no answer, with `page` for people.
    private func refuse(_ reason: String, page: String) async throws(LupinError) {
        let error = LupinError.notOnTape(record.origin, reason)
        record.error = error
        record.outcome = .error
        var response = GeneratedResponse(
            status: error.status,
            contentType: "text/plain; charset=utf-8",
            body: resources.redactor.cleaned(page)
        )
        response.head.fields.add(
            name: FieldName.proxyStatus.spelling,
            value: ProxyStatus.value(for: error, redactor: resources.redactor)
        )
        name(&response)
        try await send(response)
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
