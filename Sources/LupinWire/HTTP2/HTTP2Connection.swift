// One side of one HTTP/2 connection: frames in, events out; messages in, frames out. No sockets.
import CNghttp2
package import LupinCore

/// One side of one HTTP/2 connection, over nghttp2; confined to its loop.
///
/// `receive` takes bytes and queues events; `send…` queue frames, which `drain` and `push` write
/// into the caller's bytes. The caller does part of the flow control: it calls `consume` when bytes
/// of a stream were consumed.
@safe
package final class HTTP2Connection {
    package enum Role: Sendable { case server, client }

    // The state below is also used by HTTP2Reception.swift, which nghttp2 calls.

    // Safety: made in init, freed in deinit, and used inside calls of this object only.
    let session: OpaquePointer
    let role: Role
    let parameters: HTTP2Parameters
    let reader: HTTP2HeadReader
    let writer = HTTP2FieldWriter()

    // Unchecked, since an exclusivity check would run for every frame.
    // Safety: callbacks run inside nghttp2's calls, during which nothing else accesses these.
    @exclusivity(unchecked) var events: [HTTP2Event] = []
    private var nextEventIndex = 0
    @exclusivity(unchecked) var output: [UInt8] = []
    @exclusivity(unchecked) var outgoing = Outgoing()
    var resets: RateCounter
    var control: RateCounter
    var now: UInt64 = 0
    /// The address of the bytes that `receive` is reading.
    var input: UnsafePointer<UInt8>?
    var inputCount = 0
    /// Payload that was read and not yet credited to the peer's window.
    var unaccounted = 0
    var blockBytes = 0
    /// The stream of the head in progress, and when it began.
    var head: (stream: Int32, since: UInt64)?
    /// The rule that forbids the field that nghttp2 has just refused.
    var breach: MessageProblem.Reason?
    /// Heads that are not handed out before the end of their messages; see `queue`.
    @exclusivity(unchecked) var held: [Int32: (head: HTTP2Event, since: UInt64)] = [:]
    /// Whether messages advanced since the last PING.
    var hasMoved = false
    /// Whether the peer's settings have arrived.
    package internal(set) var hasSettings = false
    var continuations = 0
    /// PINGs of ours that have no answer yet.
    package internal(set) var pingsUnderWay = 0
    /// The stream that the peer has just reset.
    var streamReset: Int32 = 0
    var streamCount = 0
    /// The streams that the peer has opened, and those that it skipped.
    var opened = OpenedStreams()
    var hasTerminated = false
    var goneAway = false

    /// Payload for `push` to send.
    @safe struct Outgoing {
        var stream: Int32 = 0
        var base: UnsafePointer<UInt8>?
        var count = 0
        var taken = 0
        var isLast = false
        var trailers: FieldSection?
        var isOver = false
    }

    package init(_ role: Role, _ parameters: HTTP2Parameters) {
        self.role = role
        self.parameters = parameters
        reader = HTTP2HeadReader(limits: parameters.heads)
        resets = RateCounter(parameters.limits.resets)
        control = RateCounter(parameters.limits.control)
        unsafe session = HTTP2Callbacks.session(role)
        // Safety: the session is freed with this object and makes no callbacks in between.
        unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        announce()
    }

    deinit { unsafe nghttp2_session_del(session) }

    /// Sends our SETTINGS (RFC 9113 §6.5.2).
    private func announce() {
        let limits = parameters.limits
        var settings: [nghttp2_settings_entry] = []
        func set(_ id: nghttp2_settings_id, _ value: Int) {
            settings.append(
                nghttp2_settings_entry(
                    settings_id: Int32(bitPattern: id.rawValue),
                    value: UInt32(clamping: value)
                )
            )
        }
        set(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, limits.tableBytes)
        set(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window.initialBytes)
        set(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, parameters.heads.headerBytes)
        switch role {
        case .server:
            set(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams)
            set(NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1)
        case .client:
            set(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0)
            set(NGHTTP2_SETTINGS_ENABLE_PUSH, 0)
        }
        // Safety: nghttp2 copies the list.
        unsafe settings.withUnsafeBufferPointer {
            _ = unsafe nghttp2_submit_settings(session, 0, $0.baseAddress, $0.count)
        }
        unsafe nghttp2_session_set_local_window_size(
            session,
            0,
            0,
            HTTP2Parameters.connectionWindowBytes
        )
    }

    // MARK: State

    /// Bytes of a new stream's body that the peer may send before a window update.
    package var windowBytes: Int { parameters.limits.window.initialBytes }

    /// Whether the connection is over: nothing more will be sent or is expected.
    package var isOver: Bool {
        unsafe nghttp2_session_want_read(session) == 0
            && nghttp2_session_want_write(session) == 0
    }

    /// Whether frames wait to be written.
    package var wantsWrite: Bool { unsafe nghttp2_session_want_write(session) != 0 }

    /// When the oldest head began that is unfinished or held; nil without one, and `begun`, the
    /// time of the connection, before the peer's first settings.
    package func unfinishedSince(_ begun: UInt64) -> UInt64? {
        guard hasSettings else { return begun }
        let oldest = unsafe held.values.map { $0.since }.min()
        guard let since = head?.since else { return oldest }
        return min(since, oldest ?? since)
    }

    /// The number of open streams.
    package var openStreams: Int { streamCount }

    /// Whether the peer or this side has announced to take no new streams.
    package var isGoingAway: Bool { goneAway || hasTerminated }

    /// How many more streams this side may open.
    package var streamsLeft: Int {
        guard !isGoingAway, unsafe nghttp2_session_check_request_allowed(session) != 0 else {
            return 0
        }
        let limit = unsafe nghttp2_session_get_remote_settings(
            session,
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        )
        return max(0, Int(limit) - streamCount)
    }

    /// Whether the peer accepts an extended CONNECT (RFC 8441 §3).
    package var takesExtendedConnect: Bool {
        unsafe nghttp2_session_get_remote_settings(
            session,
            NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL
        ) == 1
    }

    /// Payload of a stream that the peer accepts now.
    package func room(on stream: Int32) -> Int {
        let all = unsafe nghttp2_session_get_remote_window_size(session)
        let one = unsafe nghttp2_session_get_stream_remote_window_size(session, stream)
        return Int(max(0, min(all, one)))
    }

    // MARK: Receiving

    /// Processes received bytes; `now` is in microseconds of any clock.
    package func receive(_ bytes: Span<UInt8>, now: UInt64) throws(HTTP2Failure) {
        guard !hasTerminated else { return }
        self.now = now
        // Safety: nghttp2 reads the bytes during the call, and `input` is cleared after it.
        let result = unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe input = buffer.baseAddress
            inputCount = buffer.count
            return unsafe nghttp2_session_mem_recv(session, buffer.baseAddress, buffer.count)
        }
        unsafe input = nil
        if unaccounted > 0 {
            unsafe nghttp2_session_consume_connection(session, unaccounted)
            unaccounted = 0
        }
        guard result >= 0 else { throw HTTP2Failure(text: HTTP2Callbacks.text(of: result)) }
    }

    /// The next event, oldest first.
    package func nextEvent() -> HTTP2Event? {
        guard unsafe nextEventIndex < events.count else { return nil }
        // Moved out, so that the content has one owner.
        var event = HTTP2Event.pong
        unsafe swap(&event, &events[nextEventIndex])
        nextEventIndex += 1
        if unsafe nextEventIndex == events.count {
            unsafe events.removeAll(keepingCapacity: true)
            nextEventIndex = 0
        }
        return event
    }

    /// Whether events are queued.
    package var hasEvents: Bool { unsafe nextEventIndex < events.count }

    /// Lets the peer send `count` more bytes of a stream.
    package func consume(_ count: Int, on stream: Int32) {
        unsafe nghttp2_session_consume_stream(session, stream, count)
    }

    /// Raises a stream's window to `bytes`.
    package func widen(_ stream: Int32, to bytes: Int) {
        unsafe nghttp2_session_set_local_window_size(session, 0, stream, Int32(clamping: bytes))
    }

    /// Takes ownership of the memory of unused fields.
    package func recycle(_ fields: consuming FieldSection) { reader.recycle(fields) }

    // MARK: Sending

    /// Appends all queued frames to `bytes`.
    package func drain(into bytes: inout [UInt8]) {
        unsafe swap(&bytes, &output)
        while true {
            var data: UnsafePointer<UInt8>?
            // Safety: the frame that nghttp2 lends is copied before its next call.
            let count = unsafe nghttp2_session_mem_send(session, &data)
            guard count > 0, let data = unsafe data else { break }
            unsafe output.appendBulk(Span(_unsafeStart: data, count: count))
        }
        unsafe swap(&bytes, &output)
    }

    /// Opens a stream with a request; `drain` or `push` sends it.
    ///
    /// Returns nil if that is not possible.
    package func submit(
        _ head: borrowing RequestHead,
        _ options: borrowing RequestOptions,
        protocolName: String? = nil
    ) -> Int32? {
        let hasBody =
            !options.framing.isEmpty || options.target == .authority || protocolName != nil
        let awaited = AwaitedMethod(protocolName == nil ? head.method : .connect)
        let stream = unsafe writer.request(head, options, protocolName: protocolName) { fields in
            unsafe submit(fields, hasBody: hasBody, awaited)
        }
        return stream > 0 ? stream : nil
    }

    /// The stream that a request opens; 0 or less if that is not possible.
    private func submit(
        _ fields: UnsafeBufferPointer<nghttp2_nv>,
        hasBody: Bool,
        _ awaited: AwaitedMethod
    ) -> Int32 {
        // Safety: nghttp2 copies the provider and the fields.
        let stream = unsafe HTTP2Callbacks.withProvider(hasBody) { provider in
            unsafe nghttp2_submit_request(
                session,
                nil,
                fields.baseAddress,
                fields.count,
                provider,
                awaited.note
            )
        }
        if stream > 0 { streamCount += 1 }
        return stream
    }

    /// Answers a stream; without a body the head is the whole answer.
    ///
    /// `status` replaces the head's own: 200 instead of the 101 that begins a WebSocket.
    package func submit(
        _ head: borrowing ResponseHead,
        _ options: borrowing ResponseOptions,
        status: UInt16? = nil,
        hasBody: Bool,
        on stream: Int32
    ) {
        _ = unsafe writer.response(head, options, status: status) { fields in
            unsafe submit(fields, hasBody: hasBody, on: stream)
        }
    }

    private func submit(
        _ fields: UnsafeBufferPointer<nghttp2_nv>,
        hasBody: Bool,
        on stream: Int32
    ) -> Int32 {
        // Safety: nghttp2 copies the provider and the fields.
        unsafe HTTP2Callbacks.withProvider(hasBody) { provider in
            unsafe nghttp2_submit_response(
                session,
                stream,
                fields.baseAddress,
                fields.count,
                provider
            )
        }
    }

    /// Sends an interim response.
    package func submitInterim(_ head: borrowing ResponseHead, on stream: Int32) {
        let options = ResponseOptions(framing: .none)
        _ = unsafe writer.response(head, options) { fields in
            unsafe nghttp2_submit_headers(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                stream,
                nil,
                fields.baseAddress,
                fields.count,
                nil
            )
        }
    }

    /// Appends all queued frames and then as much of `payload` as the peer accepts now; with
    /// `isLast` the stream ends after the last byte.
    ///
    /// - Returns: How much of `payload` was taken, and whether the end was.
    package func push(
        _ payload: Span<UInt8>,
        isLast: Bool,
        trailers: FieldSection? = nil,
        on stream: Int32,
        into bytes: inout [UInt8]
    ) -> (taken: Int, isOver: Bool) {
        lend(payload, isLast: isLast, trailers: trailers, on: stream) {
            _ = unsafe nghttp2_session_resume_data(session, stream)
            drain(into: &bytes)
        }
    }

    /// Lends `payload` to nghttp2 for the calls in `write`.
    private func lend(
        _ payload: Span<UInt8>,
        isLast: Bool,
        trailers: FieldSection?,
        on stream: Int32,
        _ write: () -> Void
    ) -> (taken: Int, isOver: Bool) {
        // Safety: the pointer is forgotten before the payload's loan ends.
        unsafe payload.withUnsafeBufferPointer { buffer in
            unsafe outgoing = Outgoing(
                stream: stream,
                base: buffer.baseAddress,
                count: buffer.count,
                isLast: isLast,
                trailers: trailers
            )
            write()
            let result = unsafe (taken: outgoing.taken, isOver: outgoing.isOver)
            unsafe outgoing = Outgoing()
            return result
        }
    }

    /// Resets a stream at once.
    package func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
        unsafe nghttp2_submit_rst_stream(session, 0, stream, code.rawValue)
    }

    /// Announces that no more streams will be accepted: first without a limit, so that no stream in
    /// flight is lost, and with the last stream's number when `isFinal`.
    package func goAway(isFinal: Bool) {
        if isFinal {
            let last = unsafe nghttp2_session_get_last_proc_stream_id(session)
            unsafe nghttp2_submit_goaway(session, 0, last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
            goneAway = true
        } else if role == .server {
            unsafe nghttp2_submit_shutdown_notice(session)
        }
    }

    /// Ends the connection; streams in progress are lost.
    package func terminate(_ code: HTTP2ErrorCode) {
        guard !hasTerminated else { return }
        hasTerminated = true
        unsafe nghttp2_session_terminate_session(session, code.rawValue)
    }

    /// Sends a PING to check whether the peer responds.
    package func ping() {
        pingsUnderWay += 1
        unsafe nghttp2_submit_ping(session, 0, nil)
    }
}

/// A stream's user data until its final response has arrived: how the request method affects the
/// body (RFC 9110 §6.4.1).
@safe
enum AwaitedMethod: Int {
    case head = 1, connect, other

    init(_ method: Method) {
        switch method {
        case .head: self = .head
        case .connect: self = .connect
        default: self = .other
        }
    }

    var method: Method {
        switch self {
        case .head: .head
        case .connect: .connect
        case .other: .get
        }
    }

    /// The number, stored as a pointer.
    // Safety: it is never dereferenced.
    var note: UnsafeMutableRawPointer? { unsafe UnsafeMutableRawPointer(bitPattern: rawValue) }
}

extension HTTP2Connection {
    /// The method of our request whose final response has not arrived; nil when there is none.
    func awaited(on stream: Int32) -> AwaitedMethod? {
        // Safety: the user data is a number that was set here; NULL if there is no such stream.
        let note = unsafe nghttp2_session_get_stream_user_data(session, stream)
        return AwaitedMethod(rawValue: Int(bitPattern: note))
    }

    /// Marks that the final response has arrived.
    func noteAnswer(on stream: Int32) {
        // Safety: the user data is NULL, which nghttp2 only stores.
        unsafe nghttp2_session_set_stream_user_data(session, stream, nil)
    }
}
