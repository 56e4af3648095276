// A response whose body is edited as a whole before the client gets its head.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

/// The sink of a body that is to be edited: it takes the whole body, has it edited, and only then
/// begins the response for the client, whose length is known by then.
///
/// A body that turns out to be too long goes to the client as it came.
final class EditedResponse: BodySink {
    /// collecting → editing → passing, or collecting → passing.
    private enum State {
        case collecting
        /// On the thread for bodies.
        case editing
        case passing(any BodySink)
    }

    private let editing: BodyEditing
    /// Weak, since its relay holds this sink.
    private weak var exchange: Exchange?
    /// Begins the response: with an edited body, or with the one that comes.
    private let begin: (Exchange, BodyEditing.Outcome) -> any BodySink
    private var state = State.collecting
    /// Collected, or on its way to the client.
    private var bytes: [UInt8] = []
    /// How many of them the client's side has taken.
    private var sent = 0
    private var trailers = FieldSection()
    private let memory: ReservedMemory
    /// The source has ended.
    private var isEnded = false
    private var isFinished = false

    init(
        _ editing: BodyEditing,
        of exchange: Exchange,
        begin: @escaping (Exchange, BodyEditing.Outcome) -> any BodySink
    ) {
        self.editing = editing
        self.exchange = exchange
        self.begin = begin
        memory = ReservedMemory(of: exchange.resources.shared.replayRoom.memory)
    }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        switch state {
        case .editing: return 0
        case .passing(let sink):
            guard try drain(into: sink) else { return 0 }
            return try sink.push(payload, isLast: isLast)
        case .collecting:
            let fits = payload.count <= BodyEdit.bytesMax - bytes.count
            guard fits, memory.grow(by: payload.count) else {
                pass(editing.dropped(fits ? .busy : .tooLong))
                return try push(payload, isLast: isLast)
            }
            bytes.append(copying: payload)
            if isLast { edit() }
            return payload.count
        }
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        self.trailers = trailers
        if case .collecting = state {
            edit()
        } else {
            isEnded = true
        }
        return try flush()
    }

    func flush() throws(LupinError) -> Bool {
        switch state {
        case .collecting: return true
        case .editing: return false
        case .passing(let sink):
            guard try drain(into: sink) else { return false }
            if isEnded, !isFinished {
                isFinished = true
                return try sink.finish(trailers: trailers)
            }
            return try sink.flush()
        }
    }

    /// Sends the bytes that were collected; returns false while the client takes no more.
    private func drain(into sink: any BodySink) throws(LupinError) -> Bool {
        guard sent < bytes.count else { return true }
        let isLast = isEnded && trailers.isEmpty
        let bytes = bytes
        sent += try sink.push(bytes.span.extracting(sent..<bytes.count), isLast: isLast)
        guard sent == bytes.count else { return false }
        if isLast { isFinished = true }
        self.bytes = []
        sent = 0
        return true
    }

    private func edit() {
        guard let exchange else { return }
        isEnded = true
        state = .editing
        let (editing, bytes) = (editing, bytes)
        let executor = exchange.slot.loop.executor
        // Weak: what belongs to the loop must not be released on another thread.
        let home = LoopLocal(Weak(self), of: executor)
        let isTaken = exchange.resources.shared.bodyThread.submit {
            let outcome = editing.run(bytes)
            executor.mailbox.post { home.value.object?.take(outcome) }
        }
        if !isTaken { pass(editing.dropped(.busy)) }
    }

    private func take(_ outcome: BodyEditing.Outcome) {
        pass(outcome)
        exchange?.resumeBodies()
    }

    private func pass(_ outcome: BodyEditing.Outcome) {
        guard let exchange else { return }
        exchange.note(steps: outcome.notes)
        if let body = outcome.body {
            if let capture = exchange.capture, let received = capture.received {
                capture.add(.received, received.fields, bytes)
            }
            bytes = body
        }
        state = .passing(begin(exchange, outcome))
    }
}

extension Exchange {
    /// The sink that edits a response before `head` is staged; nil where it goes as it is.
    func editingSink(_ head: inout ResponseHead, _ body: ResponseBody) -> (any BodySink)? {
        guard let steps = plan?.responseEdits, !steps.isEmpty else { return nil }
        if request.method == .head, head.status == 200 {
            // What GET gets has another length.
            head.fields.noteEditedContent()
            return nil
        }
        if ResponseParser.hasNoBody(status: head.status, method: request.method) { return nil }
        let editing = BodyEditing(steps, codings: head.fields.contentCodings)
        let problem =
            head.status == 206
            ? .partial : head.fields.reasonNotToEdit(length: body.framing.knownLength)
        if let problem {
            note(steps: editing.dropped(problem).notes)
            return nil
        }
        let untouched = head
        return EditedResponse(editing, of: self) { exchange, outcome in
            var (head, body) = (untouched, body)
            if let edited = outcome.body {
                head.fields.noteEditedContent()
                if outcome.isPlain { head.fields.remove(name: "Content-Encoding") }
                body.framing = .length(UInt64(edited.count))
                body.contentLength = UInt64(edited.count)
            }
            return exchange.stage(head, body)
        }
    }
}
