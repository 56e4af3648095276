// Reads a request's body as a whole before anything is sent: to edit it, to know its length when it
// is compressed, or to look for stored responses by it.
import LupinCaching
import LupinCoding
package import LupinCore
package import LupinIO
import LupinPolicy
import LupinTLS
package import LupinUpstream
package import LupinWire

/// Whose body is read.
package protocol UploadClient: AnyObject {
    var request: RequestHead { get }
    var framing: BodyFraming { get }
    var origin: Origin? { get }
    /// The body as it comes.
    var clientBody: any BodySource { get }
    /// Tells a client that waits for it to send the body.
    func askForBody() throws(LupinError)
    /// What all held bodies share.
    var heldMemory: ReplayMemory { get }
    /// `limits.body_bytes`.
    var bodyBytesMax: Int? { get }
    /// The body is sent in another form than that in which it came.
    func captureReceived(_ bytes: [UInt8])

    var now: UInt64 { get }
    var idleTime: UInt64 { get }
    var totalDeadline: UInt64 { get }
    func park(
        _ phase: LiveExchange.Wait,
        for reasons: WakeReasons,
        until deadline: UInt64
    ) async throws(LupinError)
    /// Runs a job on the thread for bodies; nil where it takes too long or has too much to do.
    func onBodyThread<Value: Sendable>(
        _ job: @escaping @Sendable () -> Value
    ) async throws(LupinError) -> Value?
}

package struct UploadReader<Client: UploadClient> {
    let client: Client

    package init(for client: Client) { self.client = client }

    /// The body as the steps of rules edit it, or as it comes where they can't.
    func edited(by steps: [PlannedStep]) async throws(LupinError) -> HeldUpload {
        let fields = client.request.fields
        let editing = BodyEditing(steps, codings: fields.contentCodings)
        let memory = ReservedMemory(of: client.heldMemory)
        var problem = fields.reasonNotToEdit(length: client.framing.knownLength)
        if problem == nil, !reserve(BodyEdit.bytesMax, of: memory) { problem = .busy }
        if let problem {
            var upload = HeldUpload(.passing(client.clientBody), memory)
            upload.notes = editing.dropped(problem).notes
            return upload
        }
        let content = try await read(upTo: BodyEdit.bytesMax)
        guard case .whole(let bytes, let trailers) = content else {
            var upload = HeldUpload(content, memory)
            upload.notes = editing.dropped(.tooLong).notes
            return upload
        }
        let outcome =
            try await client.onBodyThread { editing.run(bytes) } ?? editing.dropped(.busy)
        if outcome.body != nil { client.captureReceived(bytes) }
        var upload = HeldUpload(.whole(outcome.body ?? bytes, trailers: trailers), memory)
        upload.isChanged = outcome.body != nil
        upload.isPlain = outcome.isPlain
        upload.notes = outcome.notes
        return upload
    }

    /// The body as it comes, if it is short enough to be kept for another attempt; nil where it has
    /// to pass piece by piece.
    package func unchanged(upTo bytesMax: Int) async throws(LupinError) -> HeldUpload? {
        let memory = ReservedMemory(of: client.heldMemory)
        guard client.framing.knownLength ?? 0 <= UInt64(bytesMax),
            client.request.fields.reasonToStream == nil, reserve(bytesMax, of: memory)
        else { return nil }
        let content = try await read(upTo: bytesMax)
        if case .whole(let bytes, _) = content, let most = client.bodyBytesMax, bytes.count > most {
            throw .bodyTooLong
        }
        return HeldUpload(content, memory)
    }

    private func reserve(_ bytesMax: Int, of memory: ReservedMemory) -> Bool {
        memory.grow(by: Int(min(client.framing.knownLength ?? .max, UInt64(bytesMax))))
    }

    /// The body; what is longer passes on behind what was read of it.
    func read(upTo bytesMax: Int) async throws(LupinError) -> HeldUpload.Content {
        let source = client.clientBody
        try client.askForBody()
        let collected = CollectedBody(bytesMax: bytesMax + 1)
        let isWhole = try await collect(source, into: collected)
        guard isWhole, collected.bytes.count <= bytesMax else {
            return .passing(PrefixedBody(collected.bytes, then: source))
        }
        return .whole(collected.bytes, trailers: source.trailers)
    }

    /// Takes a body into memory; returns false when there is more of it than fits.
    private func collect(
        _ source: any BodySource,
        into collected: CollectedBody
    ) async throws(LupinError) -> Bool {
        var idleDeadline = client.now &+ client.idleTime
        while true {
            switch try source.pull() {
            case .end: return true
            case .payload:
                idleDeadline = client.now &+ client.idleTime
                let offer = try source.offer(to: collected, keeping: nil)
                if offer.isEnd { return true }
                if !offer.isAllTaken { return false }
            case .blocked:
                try await client.park(
                    .requestBody,
                    for: .downstreamReadable,
                    until: min(idleDeadline, client.totalDeadline)
                )
                if client.now >= client.totalDeadline { throw .totalTimeIsOver(client.origin) }
                if client.now >= idleDeadline {
                    let detail = "The request body stood still for timeouts.idle."
                    throw .request(status: 408, detail: detail)
                }
            }
        }
    }

    /// What tells the content of a QUERY from others (RFC 10008 §2.7): a digest of its normal form.
    ///
    /// `isPlain` where it has lost its codings; `fields` are those of the request as it is sent.
    func key(
        of bytes: [UInt8],
        isPlain: Bool,
        _ fields: FieldSection,
        bytesMax: Int
    ) async throws(LupinError) -> String? {
        let own = client.request.fields
        let codings = isPlain ? [] : own.contentCodings
        // Whatever the origin makes of an unknown one, it is not what comes without.
        let unknown = own.hasUnknownCoding ? own.values(of: "Content-Encoding") : []
        return try await client.onBodyThread {
            // What can't be decoded is compared as it is.
            let plain = try? WholeBody.decoded(bytes, from: codings, bytesMax: bytesMax)
            let left = plain == nil ? codings : unknown
            let normal = QueryContent(plain ?? bytes, fields, codings: left)
            return MessageDigest.sha256(normal.bytes.span).map { String($0, radix: 16) }
                .joined(separator: ".")
        }
    }
}
