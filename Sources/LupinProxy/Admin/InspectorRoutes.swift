// The routes of the inspector: what is captured of an exchange, and what is captured at all.
import LupinCore
import LupinIO
import LupinRecords
import LupinStore

/// The routes that only `lupin inspect` and its page use; confined to the control loop.
struct InspectorRoutes {
    let admin: AdminRoutes
    let exchanges: ExchangeRoutes
    let loop: EventLoop

    private static let messagesMax = 1000

    var shared: Shared { admin.shared }

    /// Opens the page; returns its address.
    func opened() async throws(AdminAnswer) -> AdminAnswer {
        do throws(ReloadFailure) {
            let url = try await admin.openInspector()
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
    func body(
        _ word: Substring,
        of reference: ExchangeReference
    ) async throws(AdminAnswer) -> AdminAnswer {
        guard let side = CapturedSide(word: word) else { throw AdminRoute.nothing }
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

    /// The messages that were captured of a connection.
    func messages(
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

    /// What `lupin explain` prints of an exchange.
    func explained(
        _ reference: ExchangeReference
    ) async throws(AdminAnswer) -> AdminAnswer {
        guard let found = try await exchanges.find(reference) else {
            throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unknown.sentence)
        }
        var format = RecordFormat(redactor: shared.redactor)
        var detail = found.openDetail(&format)
        detail.closeObject()
        let text = admin.about.explain(detail.bytes, shared.snapshot.configuration)
        return AdminAnswer("text/plain; charset=utf-8", Array(text.utf8))
    }

    /// Writes the note about an exchange.
    func noted(
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
