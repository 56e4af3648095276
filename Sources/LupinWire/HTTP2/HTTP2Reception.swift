// Handles each frame that nghttp2 has read, and nghttp2's queries while it writes one.
import CNghttp2
import LupinCore

extension HTTP2Connection {
    func queue(_ event: HTTP2Event) { unsafe events.append(event) }

    /// Queues the head of a message, and its end if nothing follows.
    ///
    /// A head that announces an empty body without ending the message is held until the end has
    /// come: until then the message may prove malformed by a body (RFC 9113 §8.1.1), and must not
    /// be taken for a whole one. So is the head of a GET that has not ended: many clients end it by
    /// an empty DATA frame, and it has a body only if payload comes.
    private func queue(_ head: HTTP2Event, _ framing: BodyFraming, on stream: Int32, isEnd: Bool) {
        guard isEnd || !(framing == .length(0) || head.mayProveEmpty) else {
            unsafe held[stream] = (head, now)
            return
        }
        queue(head)
        if isEnd { queueEnd(of: stream) }
    }

    /// Queues the end of a message, behind a head that was held for it.
    private func queueEnd(of stream: Int32, trailers: FieldSection = FieldSection()) {
        if let head = takeHeld(of: stream) {
            if trailers.isEmpty { head.request?.dropBody() }
            queue(head)
        }
        queue(.end(stream, trailers: trailers))
    }

    private func takeHeld(of stream: Int32) -> HTTP2Event? {
        // Nearly always there is none at all.
        unsafe held.isEmpty ? nil : held.removeValue(forKey: stream)?.head
    }

    /// Counts a frame that serves only to cause work.
    private func countControl() {
        if !control.admit(now: now) { terminate(.enhanceYourCalm) }
    }

    /// Counts a stream that ended early because of the peer.
    private func countReset() {
        if role == .server, !resets.admit(now: now) { terminate(.enhanceYourCalm) }
    }

    func begins(_ frame: nghttp2_frame_hd) {
        switch UInt32(frame.type) {
        case NGHTTP2_HEADERS.rawValue:
            blockBytes = 9 + frame.length
            continuations = 0
            hasMoved = true
            // nghttp2 ignores it: it keeps no record of earlier streams.
            if role == .server, !opened.admit(frame.stream_id) { terminate(.protocolError) }
        case NGHTTP2_CONTINUATION.rawValue:
            blockBytes += 9 + frame.length
            continuations += 1
            if continuations > HTTP2Parameters.continuationsMax { terminate(.enhanceYourCalm) }
        case NGHTTP2_DATA.rawValue:
            let isEnd = UInt32(frame.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
            if frame.length == 0, !isEnd { countControl() } else { hasMoved = true }
        case NGHTTP2_PING.rawValue:
            let isAnswer = UInt32(frame.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
            // A peer that measures the path sends one PING after moved data: that is no flood.
            if !(isAnswer && pingsUnderWay > 0), !hasMoved { countControl() }
            hasMoved = false
        case NGHTTP2_WINDOW_UPDATE.rawValue, NGHTTP2_RST_STREAM.rawValue: break
        default: countControl()
        }
    }

    func beginsHeaders(_ frame: nghttp2_frame) {
        let category = unsafe frame.headers.cat
        let stream = unsafe frame.hd.stream_id
        switch role {
        case .server: reader.begin(.request, isTrailers: category != NGHTTP2_HCAT_REQUEST)
        case .client:
            // A final response after an interim one is in the category of trailers.
            let isTrailers = category != NGHTTP2_HCAT_RESPONSE && awaited(on: stream) == nil
            reader.begin(.response, isTrailers: isTrailers)
        }
        if role == .server, category == NGHTTP2_HCAT_REQUEST { streamCount += 1 }
        head = (stream, now)
    }

    /// Handles a field of the head in progress.
    func header(_ name: Span<UInt8>, _ value: Span<UInt8>, flags: UInt8) {
        let isNeverIndexed = UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0
        reader.add(name, value, isNeverIndexed: isNeverIndexed)
        if reader.isBomb { terminate(.enhanceYourCalm) }
    }

    /// Handles a field that RFC 9113 §8.2 or §8.3 forbids: it makes the whole message malformed.
    func invalidHeader(_ name: Span<UInt8>, _ value: Span<UInt8>, on stream: Int32) {
        noteMalformed(stream, .forbidding(name, value))
        unsafe nghttp2_submit_rst_stream(session, 0, stream, NGHTTP2_PROTOCOL_ERROR.rawValue)
    }

    func received(_ frame: nghttp2_frame) {
        let stream = unsafe frame.hd.stream_id
        let isEnd = unsafe UInt32(frame.hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
        switch unsafe UInt32(frame.hd.type) {
        case NGHTTP2_HEADERS.rawValue:
            head = nil
            receivedHeaders(
                on: stream,
                opensStream: unsafe frame.headers.cat == NGHTTP2_HCAT_REQUEST,
                isEnd: isEnd
            )
        case NGHTTP2_DATA.rawValue:
            // A frame with padding alone counts as empty.
            if isEnd {
                queueEnd(of: stream)
            } else if unsafe frame.hd.length > 0, unsafe frame.hd.length == frame.data.padlen {
                countControl()
            }
        case NGHTTP2_RST_STREAM.rawValue:
            streamReset = stream
            countReset()
        case NGHTTP2_SETTINGS.rawValue:
            hasSettings = true
            if unsafe UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { queue(.settings) }
        case NGHTTP2_WINDOW_UPDATE.rawValue: queue(.window(stream))
        case NGHTTP2_GOAWAY.rawValue:
            goneAway = true
            let code = unsafe frame.goaway.error_code
            queue(.goAway(HTTP2ErrorCode(rawValue: code)))
        case NGHTTP2_PING.rawValue:
            if unsafe UInt32(frame.hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 {
                pingsUnderWay = max(0, pingsUnderWay - 1)
                queue(.pong)
            }
        default: break
        }
    }

    private func receivedHeaders(on stream: Int32, opensStream: Bool, isEnd: Bool) {
        var facts = HTTP2Event.MessageFacts()
        facts.bytes = blockBytes
        facts.isEnd = isEnd
        switch role {
        case .server where opensStream: request(stream, facts)
        case .client:
            if let awaited = awaited(on: stream) {
                return response(stream, facts, to: awaited.method)
            }
            fallthrough
        default:
            if let problem = reader.problem { return refuse(stream, problem) }
            queueEnd(of: stream, trailers: reader.takeTrailers())
        }
    }

    private func refuse(_ stream: Int32, _ problem: MessageProblem) {
        _ = takeHeld(of: stream)
        if role == .client { reset(stream, .protocolError) }
        queue(.refused(stream, problem, reader.method))
    }

    private func request(_ stream: Int32, _ facts: HTTP2Event.MessageFacts) {
        if let problem = reader.problem { return refuse(stream, problem) }
        var facts = facts
        do throws(MessageProblem) {
            guard let (request, name) = try reader.takeRequest(isEnd: facts.isEnd) else {
                queue(.malformed(stream))
                return reset(stream, .protocolError)
            }
            facts.protocolName = name
            let framing = request.framing
            queue(.request(stream, request, facts), framing, on: stream, isEnd: facts.isEnd)
        } catch {
            refuse(stream, error)
        }
    }

    private func response(
        _ stream: Int32,
        _ facts: HTTP2Event.MessageFacts,
        to method: Method
    ) {
        if let problem = reader.problem { return refuse(stream, problem) }
        // HTTP/2 has no 101 (RFC 9113 §8.6).
        guard reader.status >= 100, reader.status != 101 else {
            return refuse(stream, MessageProblem(.response, .statusOutOfRange))
        }
        let response = reader.takeResponse(isEnd: facts.isEnd, to: method)
        if !response.isInterim { noteAnswer(on: stream) }
        let framing = response.framing
        queue(.response(stream, response, facts), framing, on: stream, isEnd: facts.isEnd)
    }

    func payload(_ stream: Int32, _ data: UnsafePointer<UInt8>, _ count: Int) {
        if count > 0, let head = takeHeld(of: stream) { queue(head) }
        unaccounted += count
        guard let input = unsafe input else { return }
        // nghttp2 passes a pointer into the bytes that it was given.
        let offset = unsafe data - input
        guard offset >= 0, offset + count <= inputCount else { return terminate(.internalError) }
        queue(.data(stream, offset..<(offset + count)))
    }

    func closed(_ stream: Int32, _ code: UInt32) {
        streamCount = max(0, streamCount - 1)
        if head?.stream == stream { head = nil }
        let isByPeer = streamReset == stream
        let code = HTTP2ErrorCode(rawValue: code)
        // Whatever the client did to make us reset it (CVE-2025-8671).
        if !isByPeer, code.isFaultOfPeer { countReset() }
        if isByPeer { streamReset = 0 }
        // For payload that doesn't fit the length nghttp2 ends the stream without another word.
        if role == .client, !isByPeer, code == .protocolError {
            queue(.refused(stream, MessageProblem(.response, .lengthMismatch), .get))
        }
        if let head = takeHeld(of: stream), role == .server {
            queue(isByPeer ? head : .malformed(stream))
        }
        queue(.closed(stream, code, isByPeer: isByPeer))
    }

    /// Handles a submitted frame that can't be sent.
    func notSent(_ frame: nghttp2_frame) {
        let stream = unsafe frame.hd.stream_id
        guard role == .server, unsafe UInt32(frame.hd.type) == NGHTTP2_HEADERS.rawValue else {
            return
        }
        reset(stream, .internalError)
    }

    /// Handles an invalid frame: nghttp2 ends its stream or the connection.
    func invalid(_ frame: nghttp2_frame, code: Int32) {
        let stream = unsafe frame.hd.stream_id
        unsafe noteMalformed(frame.hd, code: code)
        // An open stream is counted when it closes.
        if stream != 0, !isOpen(stream) { countReset() }
    }

    private func isOpen(_ id: Int32) -> Bool {
        // Safety: nghttp2 lends the stream until its next call.
        guard let stream = unsafe nghttp2_session_find_stream(session, id) else { return false }
        let state = unsafe nghttp2_stream_get_state(stream)
        return state != NGHTTP2_STREAM_STATE_CLOSED && state != NGHTTP2_STREAM_STATE_IDLE
    }

    /// The number of payload bytes for the next DATA frame of `stream`.
    func readPayload(_ stream: Int32, _ room: Int, _ flags: inout UInt32) -> Int {
        let rest = unsafe outgoing.count - outgoing.taken
        let isMeant = unsafe outgoing.stream == stream && !outgoing.isOver
        guard isMeant, rest > 0 || (unsafe outgoing.isLast) else {
            return Int(NGHTTP2_ERR_DEFERRED.rawValue)
        }
        let count = min(rest, room)
        flags |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
        if unsafe outgoing.isLast, count == rest {
            flags |= NGHTTP2_DATA_FLAG_EOF.rawValue
            if let trailers = unsafe outgoing.trailers, !trailers.isEmpty {
                let result = unsafe writer.trailers(trailers) { fields in
                    guard !fields.isEmpty else { return -1 }
                    return unsafe nghttp2_submit_trailer(
                        session,
                        stream,
                        fields.baseAddress,
                        fields.count
                    )
                }
                if result == 0 { flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue }
            }
            unsafe outgoing.isOver = true
        }
        return count
    }

    /// Writes a DATA frame: nghttp2's header, and the payload that `push` got.
    func writePayload(_ header: UnsafePointer<UInt8>, _ count: Int) {
        // Safety: nghttp2 lends the nine bytes; `readPayload` has promised no more than there is.
        unsafe output.appendBulk(Span(_unsafeStart: header, count: 9))
        if count > 0, let base = unsafe outgoing.base {
            unsafe output.appendBulk(Span(_unsafeStart: base + outgoing.taken, count: count))
        }
        unsafe outgoing.taken += count
        hasMoved = true
    }
}

extension HTTP2ErrorCode {
    /// Whether this side sends the code only for a peer's fault on a stream.
    fileprivate var isFaultOfPeer: Bool {
        switch self {
        case .protocolError, .flowControlError, .streamClosed, .frameSizeError: true
        default: false
        }
    }
}
