// A request's body that was read before anything is sent, and what attempts send in its place.
import LupinCoding
package import LupinCore
import LupinPolicy
import LupinRecords
package import LupinUpstream
import LupinWire

/// The body that attempts send in place of the one that the client is sending.
package struct HeldUpload {
    package enum Content {
        /// All of it: every attempt sends it from the beginning.
        case whole([UInt8], trailers: FieldSection)
        /// There is more of it than is held. One source for all attempts: a repetition sends what
        /// was kept, and then the rest of it.
        case passing(any BodySource)
    }

    package let content: Content
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
        let reader = UploadReader(for: self)
        if let steps = plan?.bodyEdits, !steps.isEmpty {
            heldUpload = try await reader.edited(by: steps)
        } else if wantsWhole {
            heldUpload = try await reader.unchanged(upTo: retryPolicy.replayBodyBytes)
        }
        if let bytes = heldUpload?.wholeWithoutTrailers { framing = .length(UInt64(bytes.count)) }
    }

    /// Reads the content of a QUERY and makes it a part of the key of stored responses, unless it
    /// is too long or has to pass piece by piece.
    func keyQuery(_ base: AdaptedRequest) async throws(LupinError) {
        guard request.method == .query else { return }
        try await holdUpload(wantsWhole: true)
        guard framing.isEmpty || heldUpload?.wholeWithoutTrailers != nil else { return }
        queryKey = try await UploadReader(for: self).key(
            of: heldUpload?.whole ?? [],
            isPlain: heldUpload?.isPlain == true,
            base.queryFields,
            bytesMax: retryPolicy.replayBodyBytes
        )
    }
}

extension Exchange: UploadClient {
    var clientBody: any BodySource { downstream.requestBody }
    var heldMemory: ReplayMemory { resources.shared.replayRoom.memory }
    var bodyBytesMax: Int? { snapshot.limits.bodyBytes }

    func askForBody() throws(LupinError) {
        guard expectsContinue, !downstream.hasBodyWaiting else { return }
        try downstream.sendInterim(ResponseHead(status: 100))
    }

    func captureReceived(_ bytes: [UInt8]) { capture?.add(.request, request.fields, bytes) }
}
