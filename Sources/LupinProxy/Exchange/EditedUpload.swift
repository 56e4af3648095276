// A request's body that is edited as a whole before anything is sent.
import LupinCore
import LupinIO
import LupinWire

/// The body that attempts send in place of the one that the client is sending.
struct EditedUpload {
    /// One source for all attempts: a repetition sends what was kept, and then the rest of it.
    let source: any BodySource
    let isChanged: Bool
    /// Whether it has lost its content codings.
    var isPlain = false
    /// What the record says of the steps, for every attempt.
    let notes: [String]
    /// What the body takes of the memory of all replays and edited bodies.
    let memory: ReservedMemory
}

extension Exchange {
    /// The request's body as attempts send it.
    var requestBody: any BodySource { editedUpload?.source ?? downstream.requestBody }

    /// Reads and edits the request's body, before the first attempt.
    ///
    /// What a redirect leads to gets the body that was kept: it is not edited again.
    func editUpload() async throws(LupinError) {
        if editedUpload == nil, !hasMoved { editedUpload = try await editedBody() }
        if let editedUpload { note(steps: editedUpload.notes) }
    }

    private func editedBody() async throws(LupinError) -> EditedUpload? {
        guard let steps = plan?.bodyEdits, !steps.isEmpty, !framing.isEmpty,
            request.method != .connect, wishes.upgrade == nil
        else { return nil }
        let editing = BodyEditing(steps, codings: request.fields.contentCodings)
        let source = downstream.requestBody
        let memory = ReservedMemory(of: resources.shared.replayMemory)
        let room = Int(min(framing.knownLength ?? .max, UInt64(BodyEdit.bytesMax)))
        var problem = BodyEditing.problem(request.fields, length: framing.knownLength)
        if problem == nil, !memory.grow(by: room) { problem = .busy }
        if let problem {
            let notes = editing.dropped(problem).notes
            return EditedUpload(source: source, isChanged: false, notes: notes, memory: memory)
        }
        if expectsContinue, !downstream.hasBodyWaiting {
            try downstream.sendInterim(ResponseHead(status: 100))
        }
        let collected = CollectedBody(bytesMax: BodyEdit.bytesMax + 1)
        let isWhole = try await collect(source, into: collected)
        guard isWhole, collected.bytes.count <= BodyEdit.bytesMax else {
            let notes = editing.dropped(.tooLong).notes
            let rest = PrefixedBody(collected.bytes, then: source)
            return EditedUpload(source: rest, isChanged: false, notes: notes, memory: memory)
        }
        let bytes = collected.bytes
        let outcome = try await onBodyThread { editing.run(bytes) } ?? editing.dropped(.busy)
        let body = outcome.body ?? bytes
        if outcome.body != nil { capture?.add(.request, request.fields, bytes) }
        let trailers = source.trailers
        if trailers.isEmpty { framing = .length(UInt64(body.count)) }
        return EditedUpload(
            source: BytesBody(body, trailers: trailers),
            isChanged: outcome.body != nil,
            isPlain: outcome.isPlain,
            notes: outcome.notes,
            memory: memory
        )
    }

    /// Takes a body into memory; returns false when there is more of it than fits.
    func collect(
        _ source: any BodySource,
        into collected: CollectedBody
    ) async throws(LupinError) -> Bool {
        var idleDeadline = slot.loop.now &+ waits.idle
        while true {
            switch try source.pull() {
            case .end: return true
            case .payload:
                idleDeadline = slot.loop.now &+ waits.idle
                let offer = try source.offer(to: collected, keeping: nil)
                if offer.isEnd { return true }
                if !offer.isAllTaken { return false }
            case .blocked:
                try await park(
                    for: .downstreamReadable,
                    until: min(idleDeadline, totalDeadline)
                )
                if slot.loop.now >= totalDeadline { throw .totalTimeIsOver(record.origin) }
                if slot.loop.now >= idleDeadline {
                    let detail = "The request body stood still for timeouts.idle."
                    throw .request(status: 408, detail: detail)
                }
            }
        }
    }
}
