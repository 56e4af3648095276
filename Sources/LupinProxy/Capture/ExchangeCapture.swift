// Copies the bodies of an exchange on their way, for the capture.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

/// The captured part of an exchange; confined to its worker.
final class ExchangeCapture {
    private let key: UInt64
    private let buffer: CaptureBuffer
    private let start: CapturePart.Start
    /// A part of it was taken.
    private var hasBegun = false
    /// The buffer will ask for a part.
    private var isListed = false
    private var hasEnded = false
    private var counts = BySide<CapturedCount?>(repeating: nil)
    /// What arrived since the last part.
    private var news: [CapturedBytes] = []
    private var frames: [CapturedFrames] = []
    /// The response as the origin sent it.
    var received: ResponseHead?

    /// Bytes of a body that are handed over at once.
    private static let partBytes = 32 << 10

    init(_ record: borrowing ExchangeRecord, bytesMax: Int, _ buffer: CaptureBuffer) {
        key = buffer.nextKey()
        self.buffer = buffer
        start = CapturePart.Start(
            id: record.id,
            microseconds: record.startMicroseconds,
            bytesMax: bytesMax
        )
    }

    /// Copies bytes of a body.
    ///
    /// With `head` a body begins, perhaps once more: another attempt sends it again.
    func append(_ side: CapturedSide, _ bytes: Span<UInt8>, beginning head: FieldSection?) {
        if bytes.isEmpty { return }
        let i = side.rawValue
        if let head {
            counts[i] = CapturedCount()
            news.removeAll { $0.side == side }
            news.append(CapturedBytes(side, head: head))
        }
        guard var count = counts[i] else { return }
        let room = UInt64(start.bytesMax) - min(count.bytes, UInt64(start.bytesMax))
        let kept = count.isLost ? 0 : Int(min(room, UInt64(bytes.count)))
        let isLost = kept > 0 && !buffer.takesBody(of: kept)
        count.isLost = count.isLost || isLost
        count.bytes &+= UInt64(bytes.count)
        counts[i] = count
        if isLost {
            news[newsIndex(of: side)].loseRest()
            list()
        } else if kept > 0 {
            add(bytes.extracting(first: kept), to: side)
        }
    }

    /// The index of the bytes of a body since the last part.
    private func newsIndex(of side: CapturedSide) -> Int {
        var i = 0
        while i < news.count, news[i].side != side { i += 1 }
        if i == news.count { news.append(CapturedBytes(side, head: nil)) }
        return i
    }

    private func add(_ bytes: Span<UInt8>, to side: CapturedSide) {
        let i = newsIndex(of: side)
        news[i].bytes.appendBulk(bytes)
        if news[i].bytes.count >= Self.partBytes {
            if let part = takePart() { buffer.add(part, bytes: bytes.count) }
        } else {
            list()
            buffer.count(bytes.count)
        }
    }

    private func list() {
        if isListed { return }
        isListed = true
        buffer.list(self)
    }

    /// Whether the rest of a body is only counted.
    func hasEnough(of side: CapturedSide) -> Bool {
        counts[side.rawValue].map { $0.isLost || $0.bytes >= UInt64(start.bytesMax) } ?? false
    }

    /// Counts bytes of a body that are no longer kept.
    func skip(_ side: CapturedSide, _ count: Int) {
        counts[side.rawValue]?.bytes &+= UInt64(count)
    }

    /// Notes the end of a body.
    func noteEnd(_ side: CapturedSide) { counts[side.rawValue]?.isWhole = true }

    /// Copies a body that is whole already.
    func add(_ side: CapturedSide, _ fields: FieldSection, _ bytes: [UInt8]) {
        append(side, bytes.span, beginning: fields)
        noteEnd(side)
    }

    /// Copies bytes of a WebSocket.
    func append(frames bytes: Span<UInt8>, isFromClient: Bool) {
        if bytes.isEmpty { return }
        frames.append(
            CapturedFrames(isFromClient: isFromClient, bytes: [UInt8](copying: bytes))
        )
        list()
        buffer.count(CapturePart.ownSize + bytes.count)
    }

    /// Takes what arrived since the last part; nil if the end was handed over.
    func takePart() -> CapturePart? {
        isListed = false
        if hasEnded { return nil }
        return part(end: nil)
    }

    private func part(end: CapturePart.End?) -> CapturePart {
        let part = CapturePart(
            key: key,
            start: hasBegun ? nil : start,
            bodies: news,
            frames: frames,
            end: end
        )
        hasBegun = true
        news = []
        if !frames.isEmpty { frames = [] }
        return part
    }

    /// Hands over the record, and its line where the log has one.
    func end(_ record: borrowing ExchangeRecord, _ line: [UInt8], sent: RequestHead?) {
        let size = CapturePart.endSize(record, sent, received) + line.count
        let end = CapturePart.End(
            record,
            line: line,
            sent: sent,
            received: received,
            counts: counts
        )
        hasEnded = true
        buffer.add(part(end: end), bytes: CapturePart.ownSize + size)
    }
}

/// A sink that copies what the sink behind it took.
final class CapturingSink: BodySink {
    /// What the bytes are.
    enum Content {
        case body(CapturedSide)
        case frames(isFromClient: Bool)
    }

    private let sink: any BodySink
    private let capture: ExchangeCapture
    private let content: Content
    /// The fields of the head, until the first byte of the body arrives.
    private var head: FieldSection?

    init(
        _ sink: any BodySink,
        _ capture: ExchangeCapture,
        _ content: Content,
        head: FieldSection? = nil
    ) {
        self.sink = sink
        self.capture = capture
        self.content = content
        self.head = head
    }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        let taken = try sink.push(payload, isLast: isLast)
        note(payload.extracting(0..<taken))
        if isLast, taken == payload.count { noteEnd() }
        return taken
    }

    func push(_ bytes: MappedBytes, _ range: Range<Int>, isLast: Bool) throws(LupinError) -> Int {
        let taken = try sink.push(bytes, range, isLast: isLast)
        note(bytes.span.extracting(range.lowerBound..<range.lowerBound + taken))
        if isLast, taken == range.count { noteEnd() }
        return taken
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        let isSent = try sink.finish(trailers: trailers)
        noteEnd()
        return isSent
    }

    func flush() throws(LupinError) -> Bool { try sink.flush() }

    /// Bytes that are not kept go from socket to socket, as without a capture.
    var takesSplice: Bool {
        guard case .body(let side) = content else { return false }
        return sink.takesSplice && capture.hasEnough(of: side)
    }

    func splice(from pipe: SplicePipe) throws(LupinError) -> Bool {
        guard case .body(let side) = content else { return pipe.held == 0 }
        let before = pipe.held
        defer { capture.skip(side, before - pipe.held) }
        return try sink.splice(from: pipe)
    }

    private func note(_ bytes: Span<UInt8>) {
        if bytes.isEmpty { return }
        switch content {
        case .body(let side): capture.append(side, bytes, beginning: head.take())
        case .frames(let isFromClient): capture.append(frames: bytes, isFromClient: isFromClient)
        }
    }

    private func noteEnd() {
        if case .body(let side) = content { capture.noteEnd(side) }
    }
}

extension Exchange {
    /// Begins to capture, if the plan says so.
    func beginCapture(_ plan: Plan) {
        guard capture == nil, !lacksCapture, case .on(let bytesMax)? = plan.capture else { return }
        guard resources.captured.takesExchange() else {
            lacksCapture = true
            return
        }
        let usual = snapshot.settings.capture.bodyBytes
        capture = ExchangeCapture(record, bytesMax: bytesMax ?? usual, resources.captured)
    }

    /// The sink, or one in front of it that copies a body.
    func captured(
        _ sink: any BodySink,
        _ side: CapturedSide,
        _ fields: @autoclosure () -> FieldSection
    ) -> any BodySink {
        guard let capture else { return sink }
        return CapturingSink(sink, capture, .body(side), head: fields())
    }

    /// The sink, or one in front of it that copies the frames of a WebSocket.
    func captured(frames sink: any BodySink, isFromClient: Bool) -> any BodySink {
        guard let capture, let fields = record.response?.fields,
            UpgradeList(fields).isOnly(WebSocketHandshake.name)
        else { return sink }
        return CapturingSink(sink, capture, .frames(isFromClient: isFromClient))
    }
}
