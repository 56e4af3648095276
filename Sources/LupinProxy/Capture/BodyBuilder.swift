// A body on its way into the capture: its coding undone, its secrets masked.
import LupinCoding
import LupinCore
import LupinPolicy
import LupinRecords
import LupinStore

/// A body that is being written; confined to the thread that writes.
final class BodyBuilder {
    private(set) var row: CapturedBody
    private let side: CapturedSide
    private let bytesMax: Int
    private var decoders: [Decoder] = []
    private var mask: BodyMask
    /// The messages in the body; nil when it has no envelopes.
    private var envelopes: EnvelopeBuilder?
    private let isEventStream: Bool
    /// Bytes of the content so far.
    private var decoded = 0
    private var loss: CaptureLoss?
    private var pieceNumber = 0
    private var text: [UInt8] = []

    private static let pieceBytes = 64 << 10

    /// A class, since what it holds can't be copied.
    private final class Decoder {
        private var decoder: ContentDecoder

        /// No limit for the ratio: what is kept is bounded anyway.
        init(_ coding: DecodableCoding, bytesMax: Int) {
            decoder = ContentDecoder(coding, bytesMax: bytesMax, ratioMax: .max)
        }

        func decode(
            _ input: [UInt8],
            isLast: Bool,
            into output: inout [UInt8]
        ) throws(CodingProblem) {
            try decoder.decode(input.span, isLast: isLast, into: &output)
        }
    }

    init(
        _ side: CapturedSide,
        _ head: FieldSection,
        bytesMax: Int,
        _ surroundings: CaptureQueue.Surroundings
    ) {
        self.side = side
        self.bytesMax = bytesMax
        row = CapturedBody(side: side.rawValue)
        let secrets = surroundings.secrets
        mask = BodyMask(secrets)
        if let type = head.first(.contentType) {
            let bytes = head.storage.span.extracting(type.value.range)
            if let cleaned = secrets.cleaned(bytes) {
                row.type = String(copying: cleaned.span)
            } else {
                row.type = String(copying: bytes)
            }
            let name = "text/event-stream".utf8
            isEventStream = bytes.extracting(first: name.count).equalsIgnoringCase(name.span)
        } else {
            isEventStream = false
        }
        undo(head.contentCodings, secrets)
        guard row.withheld.isEmpty, let format = head.envelopeFormat else { return }
        envelopes = EnvelopeBuilder(format, side, bytesMax: bytesMax, secrets)
        if let coding = format.coding, DecodableCoding(coding) == nil {
            let shown = Self.shown(coding, secrets)
            row.withheld =
                "its messages have the coding \(shown), so lupin could not mask secrets in them"
        }
    }

    /// Prepares to undo content codings; a body whose coding lupin doesn't know is withheld.
    private func undo(_ names: [String], _ secrets: BodySecrets) {
        if names.isEmpty { return }
        let codings = names.map { Self.shown($0, secrets) }
        row.coding = codings.prefix(DecodableCoding.layersMax).joined(separator: ", ")
        if codings.count > DecodableCoding.layersMax {
            row.withheld = "it has more content codings than lupin undoes to mask secrets"
            return
        }
        for name in names.reversed() {
            guard let coding = DecodableCoding(name) else {
                let shown = Self.shown(name, secrets)
                row.withheld =
                    "lupin can't undo the content coding \(shown), so it could not mask secrets"
                return
            }
            decoders.append(Decoder(coding, bytesMax: bytesMax))
        }
    }

    /// A name of a coding, which may be any text.
    private static func shown(_ name: String, _ secrets: BodySecrets) -> String {
        String(secrets.cleaned(name).lowercased().prefix(40))
    }

    /// Whether further bytes change nothing.
    private var isOver: Bool { loss != nil || !row.withheld.isEmpty && envelopes == nil }

    /// The messages that came since the last time.
    func takeMessages() -> [CapturedMessage] { envelopes?.takeMessages() ?? [] }

    /// Takes bytes as they were transferred.
    func take(_ bytes: [UInt8]) {
        row.bytes += Int64(bytes.count)
        decode(bytes, isLast: false)
        if mask.isGivenUp { loss = loss ?? .mask }
    }

    /// Bytes are missing from here on.
    func lose() { loss = loss ?? .writer }

    /// Takes the end: how many bytes there were on the wire, and whether the body was whole.
    func end(_ count: CapturedCount) {
        if count.isWhole, loss == nil, Int64(clamping: count.bytes) == row.bytes {
            decode([], isLast: true)
        }
        if Int64(clamping: count.bytes) > row.bytes { loss = loss ?? .limit }
        row.bytes = Int64(clamping: count.bytes)
        if !count.isWhole { loss = loss ?? .end }
        if row.withheld.isEmpty {
            mask.mask([], isLast: true, isCut: loss != nil, into: &text)
        }
        if let envelopes {
            envelopes.end(into: &text)
            loss = loss ?? envelopes.loss
        }
        if !row.withheld.isEmpty { text = [] }
        if mask.isGivenUp { loss = .mask }
        row.truncated = loss?.rawValue ?? ""
    }

    private func decode(_ bytes: [UInt8], isLast: Bool) {
        if isOver { return }
        var content = bytes
        for decoder in decoders {
            var output: [UInt8] = []
            do throws(CodingProblem) {
                try decoder.decode(content, isLast: isLast, into: &output)
            } catch {
                if case .tooLong = error { loss = .limit } else { loss = .coding }
            }
            content = output
        }
        let room = bytesMax - decoded
        if content.count > room {
            content.removeLast(content.count - room)
            loss = loss ?? .limit
        }
        decoded += content.count
        if let envelopes {
            content = envelopes.read(content, into: &text)
        }
        if row.withheld.isEmpty {
            mask.mask(content, isLast: false, into: &text)
        } else {
            text = []
        }
    }

    /// At the end, the body with its content, if that is short and no part of it was written.
    func whole() -> CapturedBody? {
        guard pieceNumber == 0, text.count <= Self.pieceBytes else { return nil }
        row.kept = Int64(text.count)
        row.content = text
        return row
    }

    /// Adds what is final so far, for inspectors that watch.
    func flushCertain(of exchange: Int64, into batch: inout CaptureBatch) {
        mask.flush(isEventStream: isEventStream, into: &text)
        flush(of: exchange, into: &batch)
    }

    /// Adds all that was masked to the batch, with the row.
    func flush(of exchange: Int64, into batch: inout CaptureBatch) {
        row.kept += Int64(text.count)
        var start = 0
        while start < text.count {
            let end = min(start + Self.pieceBytes, text.count)
            pieceNumber += 1
            batch.pieces.append(
                CaptureBatch.Piece(
                    exchange: exchange,
                    side: side.rawValue,
                    number: pieceNumber,
                    content: Array(text[start..<end])
                )
            )
            start = end
        }
        text = []
        batch.bodies.append((exchange, row))
    }
}
