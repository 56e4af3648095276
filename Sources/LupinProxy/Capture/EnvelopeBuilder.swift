// The messages in a body with envelopes, on their way into the capture.
import LupinCoding
import LupinCore
import LupinIO
import LupinRecords
import LupinStore

/// The messages of one body, each with its coding undone and its secrets masked; confined to the
/// thread that writes.
///
/// One by one, since masking a secret may change the length that the envelope states.
final class EnvelopeBuilder {
    private let format: EnvelopeFormat
    private let coding: DecodableCoding?
    private let side: CapturedSide
    private let secrets: BodySecrets
    private var reader: EnvelopeReader
    /// Bytes that may still be kept of all messages.
    private var room: Int
    private var messages: [CapturedMessage] = []
    /// Why the content is not kept whole; the body ends there, and messages go on.
    private(set) var loss: CaptureLoss?

    /// Keeps at most `bytesMax` bytes of all messages together.
    init(
        _ format: EnvelopeFormat,
        _ side: CapturedSide,
        bytesMax: Int,
        _ secrets: BodySecrets
    ) {
        self.format = format
        self.side = side
        self.secrets = secrets
        coding = format.coding.flatMap(DecodableCoding.init)
        reader = EnvelopeReader(format, bytesMax: bytesMax)
        room = bytesMax
    }

    /// Reads bytes of the body, and appends the messages that they complete to `text`, in envelopes
    /// again.
    /// - Returns: Bytes that are in no envelope, where no coding could hide secrets in them.
    func read(_ bytes: [UInt8], into text: inout [UInt8]) -> [UInt8] {
        var whole: [EnvelopedMessage] = []
        let rest = reader.read(bytes.span) { whole.append($0) }
        for message in whole { keep(message, &text) }
        guard !rest.isEmpty, format.coding != nil else { return rest }
        loss = loss ?? .coding
        return []
    }

    /// Takes the end of the body.
    func end(into text: inout [UInt8]) {
        if let rest = reader.end() { keep(rest, &text) }
    }

    /// The messages since the last time; none for a body that the client doesn't see.
    func takeMessages() -> [CapturedMessage] {
        defer { messages = [] }
        return messages
    }

    private func keep(_ message: EnvelopedMessage, _ text: inout [UInt8]) {
        let isBodyWhole = loss == nil
        guard room > 0 else {
            loss = loss ?? .limit
            return
        }
        var (content, length) = (message.payload, Int(message.bytes))
        var isCut = message.isCut || content.count < length
        if message.isCompressed {
            guard let undone = undone(message) else {
                loss = loss ?? .coding
                return note("compressed", length, isCut: true, [])
            }
            isCut = isCut || undone.isCut
            (content, length) = (undone.content, undone.content.count)
        }
        if content.count > room {
            content.removeLast(content.count - room)
            isCut = true
        }
        room -= content.count
        if isCut { loss = loss ?? .limit }
        var mask = BodyMask(secrets)
        var masked: [UInt8] = []
        mask.mask(content, isLast: true, isCut: isCut, into: &masked)
        note(message.isEnd ? "end" : format.content.rawValue, length, isCut: isCut, masked)
        guard isBodyWhole else { return }
        // The envelope of a message that was cut states the full length.
        let stated = UInt32(clamping: isCut ? max(length, masked.count + 1) : masked.count)
        text.append(message.isEnd ? format.endFlag : 0)
        for shift in [24, 16, 8, 0] { text.append(UInt8(truncatingIfNeeded: stated >> shift)) }
        text += masked
    }

    private func note(_ kind: String, _ bytes: Int, isCut: Bool, _ content: [UInt8]) {
        guard side.isOfClient else { return }
        messages.append(
            CapturedMessage(
                number: 0,
                time: SystemCall.wallMicroseconds(),
                isFromClient: side.isRequest,
                kind: kind,
                bytes: Int64(bytes),
                isTruncated: isCut,
                content: content
            )
        )
    }

    /// The message without its coding; nil when lupin can't undo it.
    private func undone(_ message: EnvelopedMessage) -> (content: [UInt8], isCut: Bool)? {
        guard let coding else { return nil }
        // No limit for the ratio: what is kept is bounded anyway.
        var decoder = ContentDecoder(coding, bytesMax: room, ratioMax: .max)
        let isWhole = !message.isCut && message.payload.count == Int(message.bytes)
        var content: [UInt8] = []
        do throws(CodingProblem) {
            try decoder.decode(message.payload.span, isLast: isWhole, into: &content)
        } catch {
            guard case .tooLong = error else { return nil }
            return (content, isCut: true)
        }
        return (content, isCut: !isWhole)
    }
}
