// The callbacks of nghttp2; each finds its connection in the session's user data.
import CNghttp2

enum HTTP2Callbacks {
    /// A session whose connection must still be set.
    static func session(_ role: HTTP2Connection.Role) -> OpaquePointer {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        var session: OpaquePointer?
        // Safety: nghttp2 copies callbacks and options into the session; all three are nil only
        // when memory is exhausted.
        unsafe nghttp2_session_callbacks_new(&callbacks)
        unsafe nghttp2_option_new(&options)
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        // Heads have limits of their own, and nghttp2 would silently drop one above its own limit.
        unsafe nghttp2_option_set_max_send_header_block_length(options, headBytesMax)
        // Blanks at the ends of a value are cut, as everywhere (RFC 9110 §5.5): sites send them,
        // and the message would be lost for nothing (RFC 9113 §8.2.1 calls it malformed).
        unsafe nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
        // Frames of types that nghttp2 does not know are announced only if they are registered.
        for type in firstUnknownType...UInt8.max {
            unsafe nghttp2_option_set_user_recv_extension_type(options, type)
        }
        unsafe install(on: callbacks)
        switch role {
        case .server: unsafe nghttp2_session_server_new2(&session, callbacks, nil, options)
        case .client: unsafe nghttp2_session_client_new2(&session, callbacks, nil, options)
        }
        unsafe nghttp2_option_del(options)
        unsafe nghttp2_session_callbacks_del(callbacks)
        guard let session = unsafe session else { preconditionFailure("no memory for a session") }
        return unsafe session
    }

    static func text(of code: Int) -> String {
        // Safety: nghttp2_strerror returns static text for any number.
        unsafe String(cString: nghttp2_strerror(Int32(clamping: code)))
    }

    /// The types above those of RFC 9113 §6.
    private static let firstUnknownType = UInt8(NGHTTP2_CONTINUATION.rawValue) + 1

    /// No head within the limits is this large.
    private static let headBytesMax = 64 << 20

    /// Registers the functions; each uses its arguments during the call only.
    private static func install(on callbacks: OpaquePointer?) {
        unsafe installHeadCallbacks(on: callbacks)
        unsafe installFrameCallbacks(on: callbacks)
    }

    private static func installHeadCallbacks(on callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, header, me in
            unsafe HTTP2Callbacks.with(me) { unsafe $0.begins(header.unsafelyUnwrapped.pointee) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.beginsHeaders(frame.unsafelyUnwrapped.pointee)
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            _,
            name,
            nameCount,
            value,
            valueCount,
            flags,
            me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.header(
                    Span(_unsafeStart: name.unsafelyUnwrapped, count: nameCount),
                    Span(_unsafeStart: value.unsafelyUnwrapped, count: valueCount),
                    flags: flags
                )
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            _,
            frame,
            name,
            nameCount,
            value,
            valueCount,
            _,
            me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.invalidHeader(
                    Span(_unsafeStart: name.unsafelyUnwrapped, count: nameCount),
                    Span(_unsafeStart: value.unsafelyUnwrapped, count: valueCount),
                    on: frame.unsafelyUnwrapped.pointee.hd.stream_id
                )
            }
            return Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        unsafe nghttp2_session_callbacks_set_error_callback2(callbacks) {
            _,
            code,
            text,
            count,
            me in
            // Safety: nghttp2 lends the text during the call.
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
            let text = unsafe String(decoding: bytes, as: UTF8.self)
            unsafe HTTP2Callbacks.with(me) { $0.explained(text, code: code) }
            return 0
        }
    }

    private static func installFrameCallbacks(on callbacks: OpaquePointer?) {
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
            unsafe HTTP2Callbacks.with(me) { unsafe $0.received(frame.unsafelyUnwrapped.pointee) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _,
            frame,
            code,
            me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.invalid(frame.unsafelyUnwrapped.pointee, code: code)
            }
            return 0
        }
        // Their payload is discarded (RFC 9113 §5.5).
        unsafe nghttp2_session_callbacks_set_unpack_extension_callback(callbacks) { _, _, _, _ in
            Int32(NGHTTP2_ERR_CANCEL.rawValue)
        }
        unsafe nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) {
            _,
            frame,
            _,
            me in
            unsafe HTTP2Callbacks.with(me) { unsafe $0.notSent(frame.unsafelyUnwrapped.pointee) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _,
            _,
            stream,
            data,
            count,
            me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.payload(stream, data.unsafelyUnwrapped, count)
            }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
            _,
            stream,
            code,
            me in
            unsafe HTTP2Callbacks.with(me) { $0.closed(stream, code) }
            return 0
        }
        unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks) {
            _,
            _,
            header,
            count,
            _,
            me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.writePayload(header.unsafelyUnwrapped, count)
            }
            return 0
        }
    }

    /// Calls `submit` with the provider of a body, or nil when there is `none`.
    static func withProvider(
        _ hasBody: Bool,
        _ submit: (UnsafePointer<nghttp2_data_provider>?) -> Int32
    ) -> Int32 {
        guard hasBody else { return submit(nil) }
        var provider = unsafe nghttp2_data_provider()
        // Called for every DATA frame that could be sent.
        unsafe provider.read_callback = { _, stream, _, room, flags, _, me in
            unsafe HTTP2Callbacks.with(me) {
                unsafe $0.readPayload(
                    stream,
                    room,
                    &flags.unsafelyUnwrapped.pointee
                )
            }
        }
        return unsafe submit(&provider)
    }

    /// Lends `body` the connection of a callback.
    ///
    /// Borrowed, without retain and release: there are a dozen calls for every message.
    private static func with<Result>(
        _ me: UnsafeMutableRawPointer?,
        _ body: (HTTP2Connection) -> Result
    ) -> Result {
        // Safety: set once, to an object that outlives its session.
        unsafe Unmanaged<HTTP2Connection>.fromOpaque(me.unsafelyUnwrapped)
            ._withUnsafeGuaranteedRef(body)
    }
}
