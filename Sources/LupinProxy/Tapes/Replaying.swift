// Answers a request from a tape.
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
        let asked = TapeRequest(request, to: origin, try await tapeBody(deck))
        guard let recorded = deck.play(asked) else {
            let miss = deck.miss(of: asked.masked(by: resources.redactor))
            return try await refuse(miss.sentence, page: miss.text)
        }
        try refuseFalseOpening(recorded.status)
        if let obstacle = TapeAnswer.obstacle(in: recorded, to: request.method) {
            deck.noteWithoutContent()
            return try await refuse(obstacle, page: obstacle + "\n")
        }
        let answer = TapeAnswer(recorded, to: request.method, as: record.id, at: record.origin)
        if let own = answer.own { (record.error, record.outcome) = (own.error, own.outcome) }
        let body = ResponseBody(
            framing: answer.framing,
            contentLength: answer.contentLength,
            date: answer.head.fields.first(.date) == nil ? resources.dateText : nil,
            closes: resources.isDraining || !downstream.isRequestComplete
        )
        let source = BytesBody(answer.body, failure: answer.failure)
        try await relay(from: source, to: stage(answer.head, body))
    }

    /// The request's body, whole.
    private func tapeBody(_ deck: TapeDeck) async throws(LupinError) -> [UInt8] {
        if framing.isEmpty { return [] }
        let content = try await UploadReader(for: self).read(upTo: Tape.bodyBytesMax)
        guard case .whole(let bytes, _) = content else {
            deck.noteMiss()
            throw .notOnTape(
                record.origin,
                "The request's body is longer than a tape has any: "
                    + "\(Tape.bodyBytesMax >> 20) MiB."
            )
        }
        return bytes
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
        response.name(record.id, answering: request.method)
        try await send(response)
    }
}
