// The messages of a WebSocket on their way into the capture.
import LupinCoding
import LupinCore
import LupinIO
import LupinRecords
import LupinStore

/// One direction of a WebSocket; confined to the thread that writes.
final class MessageBuilder {
    private let isFromClient: Bool
    private let bytesMax: Int
    private var reader: WebSocketReader
    private var inflater: Inflater?
    private var isLost = false

    /// A class, since what it holds can't be copied.
    private final class Inflater {
        private var stream: MessageInflater

        init(bytesMax: Int) throws(CodingProblem) {
            stream = try MessageInflater(bytesMax: bytesMax)
        }

        func inflate(_ payload: [UInt8]) throws(CodingProblem) -> (text: [UInt8], bytes: Int) {
            try stream.inflate(payload.span)
        }
    }

    /// The messages after a compressed one can be read only if it is whole.
    private static let compressedBytesMax = 16 << 20

    init(isFromClient: Bool, bytesMax: Int) {
        self.isFromClient = isFromClient
        self.bytesMax = bytesMax
        reader = WebSocketReader(bytesMax: max(bytesMax, Self.compressedBytesMax))
    }

    /// Frames are missing: what follows can't be read.
    func lose() { isLost = true }

    /// Reads bytes, and passes each message that is complete to `take`.
    func read(
        _ bytes: [UInt8],
        _ surroundings: CaptureQueue.Surroundings,
        _ take: (CapturedMessage) -> Void
    ) {
        if isLost { return }
        reader.read(bytes.span) { message in
            if let captured = captured(message, surroundings) { take(captured) }
        }
        if reader.hasFailed { isLost = true }
    }

    private func captured(
        _ message: WebSocketMessage,
        _ surroundings: CaptureQueue.Surroundings
    ) -> CapturedMessage? {
        if isLost { return nil }
        var content = message.payload
        var bytes = Int64(clamping: message.bytes)
        if message.isCompressed {
            guard let text = inflated(message) else {
                isLost = true
                return nil
            }
            (content, bytes) = (text.text, Int64(text.bytes))
        }
        let isTruncated = bytes > Int64(bytesMax)
        if content.count > bytesMax { content.removeLast(content.count - bytesMax) }
        var mask = BodyMask(surroundings.secrets)
        var masked: [UInt8] = []
        mask.mask(content, isLast: true, isCut: isTruncated, into: &masked)
        return CapturedMessage(
            number: 0,
            time: SystemCall.wallMicroseconds(),
            isFromClient: isFromClient,
            kind: message.kind.rawValue,
            bytes: bytes,
            isTruncated: isTruncated,
            content: masked
        )
    }

    private func inflated(_ message: WebSocketMessage) -> (text: [UInt8], bytes: Int)? {
        guard message.bytes == UInt64(message.payload.count) else { return nil }
        do throws(CodingProblem) {
            if inflater == nil { inflater = try Inflater(bytesMax: bytesMax) }
            return try inflater?.inflate(message.payload)
        } catch {
            return nil
        }
    }
}
