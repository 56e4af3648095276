// A request's body that is read as a whole before anything is sent: to edit it, to know its length
// when it is compressed, or to look for stored responses by it.
import LupinCaching
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinTLS
import LupinUpstream
import LupinWire

/// The body that attempts send in place of the one that the client is sending.
struct HeldUpload {
    enum Content {
        /// All of it: every attempt sends it from the beginning.
        case whole([UInt8], trailers: FieldSection)
        /// There is more of it than is held. One source for all attempts: a repetition sends what
        /// was kept, and then the rest of it.
        case passing(any BodySource)
    }

    let content: Content
    var isChanged = false
    /// Whether it has lost its content codings.
    var isPlain = false
    /// What the record says of the steps, for every attempt.
    var notes: [String] = []
    /// What the body takes of the memory of all replays and held bodies.
    let memory: ReservedMemory
    /// The whole of it under the coding of a `compress` step.
    fileprivate(set) var compressed: (coding: ContentCoding, bytes: [UInt8])?
    /// Whether the last attempt sent that.
    var isSentCompressed = false

    init(_ content: Content, _ memory: ReservedMemory) {
        self.content = content
        self.memory = memory
    }

    /// All of it; nil where there is more than is held.
    var whole: [UInt8]? {
        if case .whole(let bytes, _) = content { bytes } else { nil }
    }

    /// All of it without trailers.
    fileprivate var wholeWithoutTrailers: [UInt8]? {
        guard case .whole(let bytes, let trailers) = content, trailers.isEmpty else { return nil }
        return bytes
    }

    fileprivate var source: any BodySource {
        switch content {
        case .whole(let bytes, let trailers): BytesBody(bytes, trailers: trailers)
        case .passing(let source): source
        }
    }
}

extension Exchange {
    /// The request's body as attempts send it.
    var requestBody: any BodySource { heldUpload?.source ?? downstream.requestBody }

    /// The whole body under a coding; nil where it is compressed while it is sent.
    func heldBody(under coding: ContentCoding?) -> [UInt8]? {
        guard let coding, let compressed = heldUpload?.compressed, compressed.coding == coding
        else {
            return nil
        }
        return compressed.bytes
    }

    /// The bytes of the request's body that were taken from the client; nil for none.
    var takenBytes: UInt64? {
        if let compressedUpload { return compressedUpload.plainBytes }
        if let heldUpload, let whole = heldUpload.whole,
            upload == nil || heldUpload.isSentCompressed
        {
            return UInt64(whole.count)
        }
        return upload?.bytes
    }

    /// Sends the same body as another exchange, which has read it.
    func takeUpload(of other: Exchange) {
        queryKey = other.queryKey
        guard let upload = other.heldUpload, upload.whole != nil else { return }
        heldUpload = upload
        framing = other.framing
    }

    /// Reads the request's body before the first attempt, where it is edited, or compressed and not
    /// long.
    ///
    /// What a redirect leads to gets the body that was kept: it is not edited again.
    func holdUpload(for adapted: AdaptedRequest) async throws(LupinError) {
        let coding = adapted.request.coding
        try await holdUpload(wantsWhole: coding != nil && framing.knownLength != nil)
        guard let heldUpload else { return }
        note(steps: heldUpload.notes)
        guard let coding, let bytes = heldUpload.wholeWithoutTrailers,
            heldUpload.compressed?.coding != coding
        else { return }
        let compressed = try await onBodyThread {
            try? WholeBody.encoded(bytes, with: [coding.token])
        }
        if let compressed = compressed ?? nil {
            self.heldUpload?.compressed = (coding, compressed)
        }
    }

    private func holdUpload(wantsWhole: Bool) async throws(LupinError) {
        guard heldUpload == nil, !hasMoved, !framing.isEmpty, request.method != .connect,
            wishes.upgrade == nil
        else { return }
        if let steps = plan?.bodyEdits, !steps.isEmpty {
            heldUpload = try await editedUpload(steps)
        } else if wantsWhole {
            heldUpload = try await unchangedUpload()
        }
    }

    private func editedUpload(_ steps: [PlannedStep]) async throws(LupinError) -> HeldUpload {
        let editing = BodyEditing(steps, codings: request.fields.contentCodings)
        let memory = ReservedMemory(of: resources.shared.replayRoom.memory)
        var problem = request.fields.reasonNotToEdit(length: framing.knownLength)
        if problem == nil, !reserve(BodyEdit.bytesMax, of: memory) { problem = .busy }
        if let problem {
            var upload = HeldUpload(.passing(downstream.requestBody), memory)
            upload.notes = editing.dropped(problem).notes
            return upload
        }
        let content = try await read(upTo: BodyEdit.bytesMax)
        guard case .whole(let bytes, let trailers) = content else {
            var upload = HeldUpload(content, memory)
            upload.notes = editing.dropped(.tooLong).notes
            return upload
        }
        let outcome = try await onBodyThread { editing.run(bytes) } ?? editing.dropped(.busy)
        let body = outcome.body ?? bytes
        if outcome.body != nil { capture?.add(.request, request.fields, bytes) }
        if trailers.isEmpty { framing = .length(UInt64(body.count)) }
        var upload = HeldUpload(.whole(body, trailers: trailers), memory)
        upload.isChanged = outcome.body != nil
        upload.isPlain = outcome.isPlain
        upload.notes = outcome.notes
        return upload
    }

    /// The body as it comes, if it is short enough to be kept for another attempt; nil where it has
    /// to pass piece by piece.
    private func unchangedUpload() async throws(LupinError) -> HeldUpload? {
        let bytesMax = retryPolicy.replayBodyBytes
        let memory = ReservedMemory(of: resources.shared.replayRoom.memory)
        guard framing.knownLength ?? 0 <= UInt64(bytesMax),
            request.fields.reasonToStream == nil, reserve(bytesMax, of: memory)
        else { return nil }
        let content = try await read(upTo: bytesMax)
        if case .whole(let bytes, let trailers) = content {
            if let most = snapshot.limits.bodyBytes, bytes.count > most { throw .bodyTooLong }
            if trailers.isEmpty { framing = .length(UInt64(bytes.count)) }
        }
        return HeldUpload(content, memory)
    }

    private func reserve(_ bytesMax: Int, of memory: ReservedMemory) -> Bool {
        memory.grow(by: Int(min(framing.knownLength ?? .max, UInt64(bytesMax))))
    }

    private func read(upTo bytesMax: Int) async throws(LupinError) -> HeldUpload.Content {
        let source = downstream.requestBody
        if expectsContinue, !downstream.hasBodyWaiting {
            try downstream.sendInterim(ResponseHead(status: 100))
        }
        let collected = CollectedBody(bytesMax: bytesMax + 1)
        let isWhole = try await collect(source, into: collected)
        guard isWhole, collected.bytes.count <= bytesMax else {
            return .passing(PrefixedBody(collected.bytes, then: source))
        }
        return .whole(collected.bytes, trailers: source.trailers)
    }

    /// Takes a body into memory; returns false when there is more of it than fits.
    func collect(
        _ source: any BodySource,
        into collected: CollectedBody
    ) async throws(LupinError) -> Bool {
        var idleDeadline = slot.loop.now &+ timeouts.idle
        while true {
            switch try source.pull() {
            case .end: return true
            case .payload:
                idleDeadline = slot.loop.now &+ timeouts.idle
                let offer = try source.offer(to: collected, keeping: nil)
                if offer.isEnd { return true }
                if !offer.isAllTaken { return false }
            case .blocked:
                try await park(
                    .requestBody,
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

    // MARK: Keys

    /// Reads the content of a QUERY and makes it a part of the key of stored responses (RFC 10008
    /// §2.7), unless it is too long or has to pass piece by piece.
    func keyQuery(_ base: AdaptedRequest) async throws(LupinError) {
        guard request.method == .query else { return }
        try await holdUpload(wantsWhole: true)
        guard framing.isEmpty || heldUpload?.wholeWithoutTrailers != nil else { return }
        let bytes = heldUpload?.whole ?? []
        let codings = heldUpload?.isPlain == true ? [] : request.fields.contentCodings
        let bytesMax = retryPolicy.replayBodyBytes
        let fields = base.queryFields
        // Whatever the origin makes of an unknown one, it is not what comes without.
        let unknown =
            request.fields.hasUnknownCoding ? request.fields.values(of: "Content-Encoding") : []
        queryKey = try await onBodyThread {
            // What can't be decoded is compared as it is.
            let plain = try? WholeBody.decoded(bytes, from: codings, bytesMax: bytesMax)
            let left = plain == nil ? codings : unknown
            let normal = QueryContent(plain ?? bytes, fields, codings: left)
            return MessageDigest.sha256(normal.bytes.span).map { String($0, radix: 16) }
                .joined(separator: ".")
        }
    }
}
