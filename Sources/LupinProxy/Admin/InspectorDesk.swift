// The routes of the inspector: what is captured of an exchange, and what is captured at all.
import LupinCore
import LupinIO
import LupinStore

/// The routes that only `lupin inspect` and its page use; confined to the control loop.
struct InspectorDesk {
    let desk: AdminDesk
    let exchanges: ExchangeDesk
    let loop: EventLoop

    private static let prefix = "/v1/exchanges/"
    private static let messagesMax = 1000

    var shared: Shared { desk.shared }

    /// Answers a request; nil for a path that is not the inspector's.
    func answer(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer? {
        switch request.path {
        case "/v1/inspector":
            guard request.method == .post else { return .notAllowed("POST") }
            try request.demandOwner()
            return try await opened()
        case "/v1/capture":
            return try await capture(request)
        default: break
        }
        if request.path.hasPrefix(Self.holdPrefix) {
            return try await hold(request.path.dropFirst(Self.holdPrefix.count), request)
        }
        guard request.path.hasPrefix(Self.prefix) else { return nil }
        let parts = request.path.dropFirst(Self.prefix.count)
            .split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, let reference = try exchanges.reference(parts[0], request) else {
            return nil
        }
        switch (parts[1], parts.count) {
        case ("bodies", 3):
            guard let side = CapturedSide(word: parts[2]) else { return nil }
            return request.isReading
                ? try await body(side, of: reference) : .notAllowed("GET, HEAD")
        case ("messages", 2):
            return request.isReading
                ? try await messages(of: reference, request) : .notAllowed("GET, HEAD")
        case ("explain", 2):
            return request.isReading ? try await explained(reference) : .notAllowed("GET, HEAD")
        case ("note", 2):
            return request.method == .put
                ? try await noted(reference, request) : .notAllowed("PUT")
        case ("capture", 2):
            guard request.method == .delete else { return .notAllowed("DELETE") }
            try request.demandOwner()
            return try await delete(reference)
        default: return nil
        }
    }

    private func opened() async throws(AdminAnswer) -> AdminAnswer {
        do throws(ReloadFailure) {
            let url = try await desk.openInspector()
            return AdminAnswer { $0.add("url", text: url) }
        } catch {
            throw AdminAnswer(503, sentence: error.errors.joined(separator: "; "))
        }
    }

    // MARK: An exchange

    /// The row of a captured exchange.
    /// - Throws: The refusal when there is none, or more than one.
    func row(_ reference: ExchangeReference) async throws(AdminAnswer) -> CapturedExchange {
        let digits: String
        switch reference {
        case .id(let text): digits = text
        case .last:
            guard let found = try await exchanges.find(reference) else {
                throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unfit.sentence)
            }
            digits = found.id
        }
        let rows = try await exchanges.captured(digits)
        guard let row = rows.first else {
            throw AdminAnswer(404, sentence: "nothing is captured of this exchange")
        }
        guard rows.count == 1 else {
            let ids = rows.prefix(5).map(\.id)
            throw AdminAnswer(409, sentence: ExchangeReferenceProblem.ambiguous(ids).sentence)
        }
        return row
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (CaptureFile) throws(DiskProblem) -> Value
    ) async throws(AdminAnswer) -> Value {
        switch await shared.captures.read(on: loop, body) {
        case .success(let value): return value
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (CaptureFile) throws(DiskProblem) -> Value
    ) async throws(AdminAnswer) -> Value {
        switch await shared.captures.write(on: loop, body) {
        case .success(let value): return value
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
    }

    /// The content of a body, which no browser takes for a page.
    private func body(
        _ side: CapturedSide,
        of reference: ExchangeReference
    ) async throws(AdminAnswer) -> AdminAnswer {
        let number = try await row(reference).number
        let content = try await read { file throws(DiskProblem) in
            try file.content(of: number, side: side.rawValue)
        }
        guard let content else {
            throw AdminAnswer(404, sentence: "no \(side.word) body is captured")
        }
        var answer = AdminAnswer("application/octet-stream", content)
        answer.fields = [
            ("Content-Disposition", "attachment"),
            ("Content-Security-Policy", "sandbox; default-src 'none'"),
        ]
        return answer
    }

    private func messages(
        of reference: ExchangeReference,
        _ request: AdminRequest
    ) async throws(AdminAnswer) -> AdminAnswer {
        let number = try await row(reference).number
        let after = Int64(clamping: try request.count("after") ?? 0)
        let limit = min(try request.count("limit") ?? Self.messagesMax, Self.messagesMax)
        let messages = try await read { file throws(DiskProblem) in
            try file.messages(of: number, after: after, limit: limit)
        }
        return AdminAnswer { line in
            line.add("messages", objects: messages) { $0.add(membersOf: $1) }
        }
    }

    private func explained(
        _ reference: ExchangeReference
    ) async throws(AdminAnswer) -> AdminAnswer {
        guard let found = try await exchanges.find(reference) else {
            throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unknown.sentence)
        }
        var format = RecordFormat(redactor: shared.redactor)
        var detail = found.openDetail(&format)
        detail.closeObject()
        let text = desk.about.explain(detail.bytes, shared.snapshot.configuration)
        return AdminAnswer("text/plain; charset=utf-8", Array(text.utf8))
    }

    private func noted(
        _ reference: ExchangeReference,
        _ request: AdminRequest
    ) async throws(AdminAnswer) -> AdminAnswer {
        let wish = try request.json()
        guard let comment = wish["comment"]?.string ?? .some(""), comment.utf8.count <= 4096 else {
            throw AdminAnswer(400, sentence: "comment is a text of at most 4096 bytes")
        }
        guard let found = try await exchanges.find(reference) else {
            throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unknown.sentence)
        }
        let id = found.id
        let note = CapturedNote(isMarked: wish["marked"]?.bool ?? false, comment: comment)
        try await write { file throws(DiskProblem) in try file.note(note, about: id) }
        return AdminAnswer { line in
            line.add("marked", note.isMarked)
            line.add("comment", text: note.comment)
        }
    }
}

extension JSONLine {
    fileprivate mutating func add(membersOf message: CapturedMessage) {
        var timestamp = TimestampText()
        var time: [UInt8] = []
        timestamp.append(date: message.time, to: &time)
        add("number", UInt64(max(0, message.number)))
        add("time", text: time.span)
        add("from", literal: message.isFromClient ? "client" : "origin")
        add("kind", text: message.kind)
        add("bytes", UInt64(max(0, message.bytes)))
        add("truncated", message.isTruncated)
        // What is not text may look like it.
        let mayBeText = !["binary", EnvelopeFormat.Content.protobuf.rawValue].contains(message.kind)
        if mayBeText, let text = String(validating: message.content, as: UTF8.self) {
            add("text", exact: text.utf8Span.span)
        } else {
            add("base64", text: Base64Text.encode(message.content))
        }
    }
}
