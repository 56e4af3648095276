// Reads the messages of a WebSocket from the bytes of one direction (RFC 6455 §5).

import LupinCore

/// A message, or a control frame.
package struct WebSocketMessage: Sendable, Equatable {
    /// The raw value is the word of the admin interface.
    package enum Kind: String, Sendable {
        case text, binary, ping, pong, close
    }

    package var kind: Kind
    /// The payload as sent, its mask undone; at most the limit.
    package var payload: [UInt8] = []
    /// The length of the whole payload.
    package var bytes: UInt64 = 0
    /// The payload is compressed (RFC 7692: RSV1).
    package var isCompressed = false
}

/// Splits a direction's bytes into messages.
///
/// It judges nothing: what it can't read ends the reading, and the bytes go on unread.
package struct WebSocketReader {
    private enum State {
        case head
        case payload(Frame)
        case failed
    }

    private struct Frame {
        var opcode: UInt8
        var isFinal: Bool
        var left: UInt64
        var mask: [UInt8]
        var offset = 0
    }

    private let bytesMax: Int
    private var state = State.head
    private var head: [UInt8] = []
    /// The message whose fragments are coming.
    private var message: WebSocketMessage?
    private var control: WebSocketMessage?

    /// - Parameter bytesMax: How much of a message is kept.
    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package var hasFailed: Bool { if case .failed = state { true } else { false } }

    /// Reads on, and passes every message that is complete to `take`.
    package mutating func read(
        _ bytes: Span<UInt8>,
        _ take: (WebSocketMessage) -> Void
    ) {
        var i = 0
        while i < bytes.count {
            switch state {
            case .failed: return
            case .head:
                head.append(bytes[i])
                i += 1
                beginFrame(take)
            case .payload(var frame):
                let count = Int(min(UInt64(bytes.count - i), frame.left))
                add(bytes.extracting(i..<i + count), &frame)
                i += count
                frame.left -= UInt64(count)
                state = .payload(frame)
                if frame.left == 0 { end(frame, take) }
            }
        }
    }

    /// Begins the payload once the head of the frame is complete.
    private mutating func beginFrame(_ take: (WebSocketMessage) -> Void) {
        guard head.count >= 2 else { return }
        let short = head[1] & 0x7F
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        let isMasked = head[1] & 0x80 != 0
        guard head.count == 2 + extra + (isMasked ? 4 : 0) else { return }
        var length = UInt64(short)
        if extra > 0 { length = head[2..<2 + extra].reduce(0) { $0 << 8 | UInt64($1) } }
        let frame = Frame(
            opcode: head[0] & 0x0F,
            isFinal: head[0] & 0x80 != 0,
            left: length,
            mask: isMasked ? Array(head[(2 + extra)...]) : []
        )
        let isCompressed = head[0] & 0x40 != 0
        head = []
        guard length < 1 << 63, begin(frame, isCompressed: isCompressed) else {
            state = .failed
            return
        }
        state = .payload(frame)
        if length == 0 { end(frame, take) }
    }

    /// Whether the frame may stand here.
    private mutating func begin(_ frame: Frame, isCompressed: Bool) -> Bool {
        switch frame.opcode {
        case 0: return message != nil
        case 1, 2:
            guard message == nil else { return false }
            message = WebSocketMessage(kind: frame.opcode == 1 ? .text : .binary)
            message?.isCompressed = isCompressed
        case 8, 9, 10:
            guard frame.left <= 125, frame.isFinal else { return false }
            control = WebSocketMessage(
                kind: frame.opcode == 8 ? .close : frame.opcode == 9 ? .ping : .pong
            )
        default: return false
        }
        return true
    }

    private mutating func add(_ bytes: Span<UInt8>, _ frame: inout Frame) {
        if bytes.isEmpty { return }
        if frame.opcode >= 8 {
            control?.add(bytes, &frame.offset, frame.mask, upTo: bytesMax)
        } else {
            message?.add(bytes, &frame.offset, frame.mask, upTo: bytesMax)
        }
    }

    private mutating func end(_ frame: Frame, _ take: (WebSocketMessage) -> Void) {
        state = .head
        if frame.opcode >= 8 {
            if let control { take(control) }
            control = nil
        } else if frame.isFinal {
            if let message { take(message) }
            message = nil
        }
    }
}

extension WebSocketMessage {
    fileprivate mutating func add(
        _ bytes: Span<UInt8>,
        _ offset: inout Int,
        _ mask: [UInt8],
        upTo most: Int
    ) {
        let kept = min(bytes.count, max(0, most - payload.count))
        if mask.isEmpty {
            payload.append(copying: bytes.extracting(0..<kept))
        } else {
            for i in 0..<kept { payload.append(bytes[i] ^ mask[(offset + i) & 3]) }
        }
        offset = (offset + bytes.count) & 3
        self.bytes &+= UInt64(bytes.count)
    }
}
