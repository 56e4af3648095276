// Whether a peer may send the frame it sent, and what the frame means: RFC 9113 without sockets.

/// What a peer did that it must not do.
package struct HTTP2Violation: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = "the peer breaks HTTP/2: \(description)" }
}

/// One connection as the test's side of it sees the other.
///
/// It forgives nothing. What the test itself sends is only noted: tests break rules on purpose.
package struct FrameJudge: Sendable {
    package enum Peer: Sendable { case client, server }

    private struct Stream {
        /// What the peer may still send; interim responses leave it at `head`.
        enum Phase { case head, body, over }

        var phase = Phase.head
        var sendWindow: Int
        var receiveWindow: Int
    }

    private let peer: Peer
    private var decoder = HPACKDecoder()
    private var streams: [UInt32: Stream] = [:]
    /// HEADERS with CONTINUATION to come.
    private var open: (frame: HTTP2Frame, block: [UInt8])?
    private var hasSettings = false
    private var lastOpened: UInt32 = 0
    /// SETTINGS of ours that wait to be acknowledged.
    private var unacknowledged: [[HTTP2Frame.Setting]] = []
    private var frameSizeMax = 16_384
    private var receiveWindow = 65_535
    private var receiveWindowOfStreams = 65_535

    /// The peer's SETTINGS_MAX_FRAME_SIZE.
    package private(set) var peerFrameSizeMax = 16_384
    private var sendWindow = 65_535
    private var sendWindowOfStreams = 65_535

    package init(of peer: Peer) { self.peer = peer }

    /// How much DATA the peer takes on a stream, or on the connection by stream 0.
    package func window(of stream: UInt32) -> Int {
        stream == 0 ? sendWindow : streams[stream]?.sendWindow ?? sendWindowOfStreams
    }

    private subscript(id: UInt32) -> Stream {
        get {
            streams[id]
                ?? Stream(
                    sendWindow: sendWindowOfStreams,
                    receiveWindow: receiveWindowOfStreams
                )
        }
        set { streams[id] = newValue }
    }

    // MARK: What the test sends

    /// Remembers what a frame of the test's own changes.
    package mutating func note(_ frame: HTTP2Frame) {
        switch frame.kind {
        case .settings where !frame.flags.contains(.acknowledges):
            unacknowledged.append(frame.settings)
        case .data where frame.stream != 0:
            sendWindow -= frame.payload.count
            self[frame.stream].sendWindow -= frame.payload.count
        case .windowUpdate where frame.payload.count == 4:
            let increment = Int(UInt32(octets: frame.payload[...]) & 0x7FFF_FFFF)
            if frame.stream == 0 {
                receiveWindow += increment
            } else {
                self[frame.stream].receiveWindow += increment
            }
        default: break
        }
    }

    // MARK: What the peer sends

    /// What `frame` means; nil in the middle of a header block.
    ///
    /// - Throws: When the peer must not send it.
    package mutating func take(_ frame: HTTP2Frame) throws(HTTP2Violation) -> FrameEvent? {
        guard frame.payload.count <= frameSizeMax else { throw HTTP2Violation("long: \(frame)") }
        if !hasSettings {
            guard frame.kind == .settings, !frame.flags.contains(.acknowledges) else {
                throw HTTP2Violation("its first frame is no SETTINGS: \(frame)")
            }
            hasSettings = true
        }
        if open != nil || frame.kind == .continuation { return try continuation(frame) }
        try checkShape(of: frame)
        switch frame.kind {
        case .headers: return try headers(frame)
        case .data: return try data(frame)
        case .resetStream:
            guard streams[frame.stream] != nil || peer == .server else {
                throw HTTP2Violation("a reset of an idle stream: \(frame)")
            }
            self[frame.stream].phase = .over
            let code = HTTP2Frame.Code(rawValue: UInt32(octets: frame.payload[...]))
            return .reset(stream: frame.stream, code)
        case .settings: return try settings(frame)
        case .ping:
            let isAnswer = frame.flags.contains(.acknowledges)
            return isAnswer ? .pingAnswered(frame.payload) : .ping(frame.payload)
        case .goAway:
            return .goAway(
                last: UInt32(octets: frame.payload[...]) & 0x7FFF_FFFF,
                HTTP2Frame.Code(rawValue: UInt32(octets: frame.payload[4...])),
                debug: String(decoding: frame.payload[8...], as: UTF8.self)
            )
        case .windowUpdate: return try windowUpdate(frame)
        case .pushPromise: throw HTTP2Violation("a push that nobody wants: \(frame)")
        default: return .ignored(frame)
        }
    }

    /// The sizes and streams that RFC 9113 §6 fixes.
    private func checkShape(of frame: HTTP2Frame) throws(HTTP2Violation) {
        let count = frame.payload.count
        let isOfConnection = frame.stream == 0
        let isSound =
            switch frame.kind {
            case .data, .headers, .pushPromise: !isOfConnection && frame.unpadded != nil
            case .priority: !isOfConnection && count == 5
            case .resetStream: !isOfConnection && count == 4
            case .settings:
                isOfConnection && count % 6 == 0
                    && (count == 0 || !frame.flags.contains(.acknowledges))
            case .ping: isOfConnection && count == 8
            case .goAway: isOfConnection && count >= 8
            case .windowUpdate: count == 4
            default: true
            }
        if !isSound { throw HTTP2Violation("malformed: \(frame)") }
    }

    private mutating func settings(
        _ frame: HTTP2Frame
    ) throws(HTTP2Violation) -> FrameEvent {
        if frame.flags.contains(.acknowledges) {
            guard !unacknowledged.isEmpty else {
                throw HTTP2Violation("acknowledges settings that nobody sent")
            }
            for setting in unacknowledged.removeFirst() { apply(ours: setting) }
            return .settingsAcknowledged
        }
        for setting in frame.settings {
            try check(setting)
            if setting.identifier == 4 {
                for id in streams.keys {
                    self[id].sendWindow += Int(setting.value) - sendWindowOfStreams
                }
                sendWindowOfStreams = Int(setting.value)
            } else if setting.identifier == 5 {
                peerFrameSizeMax = Int(setting.value)
            }
        }
        return .settings(frame.settings)
    }

    private func check(_ setting: HTTP2Frame.Setting) throws(HTTP2Violation) {
        let isSound =
            switch setting.identifier {
            // A server must not even send it as 1 (RFC 9113 §6.5.2).
            case 2: setting.value <= (peer == .client ? 1 : 0)
            case 4: setting.value <= 0x7FFF_FFFF
            case 5: (16_384...0xFF_FFFF).contains(setting.value)
            case 8: setting.value <= 1
            default: true
            }
        if !isSound { throw HTTP2Violation("setting \(setting.identifier): \(setting.value)") }
    }

    private mutating func apply(ours setting: HTTP2Frame.Setting) {
        let value = Int(setting.value)
        switch setting.identifier {
        case 1: decoder.allow(value)
        case 4:
            for id in streams.keys {
                self[id].receiveWindow += value - receiveWindowOfStreams
            }
            receiveWindowOfStreams = value
        case 5: frameSizeMax = value
        default: break
        }
    }

    private mutating func windowUpdate(
        _ frame: HTTP2Frame
    ) throws(HTTP2Violation) -> FrameEvent {
        let increment = UInt32(octets: frame.payload[...]) & 0x7FFF_FFFF
        guard increment > 0 else { throw HTTP2Violation("a window update of 0") }
        guard peer == .server || frame.stream <= lastOpened else {
            throw HTTP2Violation("an idle stream: \(frame)")
        }
        if frame.stream == 0 {
            sendWindow += Int(increment)
        } else {
            self[frame.stream].sendWindow += Int(increment)
        }
        let window = window(of: frame.stream)
        guard window <= 0x7FFF_FFFF else { throw HTTP2Violation("a window of \(window)") }
        return .windowUpdate(stream: frame.stream, increment)
    }

    private mutating func data(_ frame: HTTP2Frame) throws(HTTP2Violation) -> FrameEvent {
        guard self[frame.stream].phase == .body else {
            throw HTTP2Violation("DATA without a head or behind the end: \(frame)")
        }
        let count = frame.payload.count
        receiveWindow -= count
        self[frame.stream].receiveWindow -= count
        guard count == 0 || receiveWindow >= 0 && self[frame.stream].receiveWindow >= 0 else {
            throw HTTP2Violation("more than the window: \(frame)")
        }
        let ends = frame.flags.contains(.endStream)
        if ends { self[frame.stream].phase = .over }
        return .data(stream: frame.stream, frame.unpadded ?? [], endsStream: ends)
    }

    // MARK: Header blocks

    private mutating func headers(_ frame: HTTP2Frame) throws(HTTP2Violation) -> FrameEvent? {
        guard frame.stream % 2 == 1 else { throw HTTP2Violation("an even stream: \(frame)") }
        if peer == .client, streams[frame.stream] == nil || frame.stream > lastOpened {
            guard frame.stream > lastOpened else {
                throw HTTP2Violation("a stream below the last one: \(frame)")
            }
            lastOpened = frame.stream
        }
        guard self[frame.stream].phase != .over else {
            throw HTTP2Violation("behind the end of its stream: \(frame)")
        }
        let hasPriority = frame.flags.contains(.priority)
        let block = (frame.unpadded ?? []).dropFirst(hasPriority ? 5 : 0)
        return try add(Array(block), to: (frame, []), isLast: frame.flags.contains(.endHeaders))
    }

    private mutating func continuation(
        _ frame: HTTP2Frame
    ) throws(HTTP2Violation) -> FrameEvent? {
        guard let open, frame.kind == .continuation, frame.stream == open.frame.stream else {
            throw HTTP2Violation("\(frame), where \(open == nil ? "no" : "a") block is open")
        }
        return try add(frame.payload, to: open, isLast: frame.flags.contains(.endHeaders))
    }

    private mutating func add(
        _ piece: [UInt8],
        to begun: (frame: HTTP2Frame, block: [UInt8]),
        isLast: Bool
    ) throws(HTTP2Violation) -> FrameEvent? {
        let block = begun.block + piece
        guard isLast else {
            open = (begun.frame, block)
            return nil
        }
        open = nil
        let fields: HTTP2Fields
        do throws(HPACKProblem) {
            fields = try decoder.decode(block)
        } catch {
            throw HTTP2Violation("\(error)")
        }
        let id = begun.frame.stream
        let ends = begun.frame.flags.contains(.endStream)
        let isTrailers = self[id].phase == .body
        let problem =
            isTrailers
            ? FieldJudge.problem(inTrailers: fields, endsStream: ends)
            : peer == .client
                ? FieldJudge.problem(inRequest: fields)
                : FieldJudge.problem(inResponse: fields, endsStream: ends)
        if let problem { throw HTTP2Violation("\(problem) on stream \(id): \(fields.lines)") }
        let isInterim = !isTrailers && (fields[":status"]?.hasPrefix("1") ?? false)
        self[id].phase = ends ? .over : isInterim ? .head : .body
        return .fields(stream: id, fields, endsStream: ends)
    }
}
