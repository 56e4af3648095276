// A BIO without I/O: OpenSSL reads and writes a connection's buffers in place.
import COpenSSL

/// The two ends of a connection that OpenSSL sees, as buffers lent for one call.
///
/// Reads take from the lent input and return "try again" when it is used up; writes append to the
/// lent output and always succeed. A read reports the end only when `hasEnded` is set: so OpenSSL
/// distinguishes a connection that broke off from one that ended with close_notify.
@safe
struct MemoryBIO: ~Copyable {
    @unsafe
    struct State {
        var input: UnsafePointer<UInt8>?
        var inputCount = 0
        var consumed = 0
        var hasEnded = false
        var output: UnsafeMutablePointer<[UInt8]>?
        var framing = RecordFraming()
    }

    // Safety: allocated in init and freed in deinit, after the SSL that owns the BIO is gone.
    private let state: UnsafeMutablePointer<State>

    init() {
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
    }

    deinit { unsafe state.deallocate() }

    /// Whether the peer will send nothing more.
    var hasEnded: Bool {
        get { unsafe state.pointee.hasEnded }
        nonmutating set { unsafe state.pointee.hasEnded = newValue }
    }

    /// Whether the lent input is used up.
    var isDrained: Bool { unsafe state.pointee.consumed == state.pointee.inputCount }

    /// Whether OpenSSL has read whole records only.
    var isBetweenRecords: Bool { unsafe state.pointee.framing.isBetweenRecords }

    /// Makes this BIO both ends of a new connection; returns false if there is no memory.
    func attach(to ssl: OpaquePointer) -> Bool {
        // Safety: the BIO belongs to `ssl`, which the owner of this struct frees before it.
        guard let method = unsafe MemoryBIO.method?.pointer, let bio = unsafe BIO_new(method)
        else { return false }
        unsafe BIO_set_data(bio, state)
        unsafe BIO_set_init(bio, 1)
        unsafe SSL_set_bio(ssl, bio, bio)
        return true
    }

    /// Runs OpenSSL calls with both buffers lent; also returns how much input they consumed.
    @inline(__always)
    func lend<Result>(
        _ input: Span<UInt8>,
        _ output: inout [UInt8],
        _ body: () -> Result
    ) -> (result: Result, consumed: Int) {
        // Safety: both pointers are cleared before the buffers' lifetimes end.
        unsafe input.withUnsafeBufferPointer { bytes in
            unsafe withUnsafeMutablePointer(to: &output) { output in
                unsafe state.pointee.input = bytes.baseAddress
                unsafe state.pointee.inputCount = bytes.count
                unsafe state.pointee.consumed = 0
                unsafe state.pointee.output = output
                let result = body()
                unsafe state.pointee.input = nil
                unsafe state.pointee.inputCount = 0
                unsafe state.pointee.output = nil
                defer { unsafe state.pointee.consumed = 0 }
                return (result, unsafe state.pointee.consumed)
            }
        }
    }

    /// The method of such BIOs, made on first use and kept for the life of the process.
    private static let method: LibraryReference? = {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        // Safety: the functions have no context but the BIO's data, which `attach` set to a State.
        guard let method = unsafe BIO_meth_new(type, "lupin") else { return nil }
        unsafe BIO_meth_set_read_ex(method) { bio, target, room, count in
            unsafe MemoryBIO.read(bio, target, room, count)
        }
        unsafe BIO_meth_set_write_ex(method) { bio, source, length, count in
            unsafe MemoryBIO.write(bio, source, length, count)
        }
        unsafe BIO_meth_set_ctrl(method) { bio, command, _, _ in
            unsafe MemoryBIO.control(bio, command)
        }
        return unsafe LibraryReference(method)
    }()

    private static let allFlags =
        BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY

    private static func state(of bio: OpaquePointer?) -> UnsafeMutablePointer<State>? {
        // Safety: `attach` put a State there.
        unsafe BIO_get_data(bio)?.assumingMemoryBound(to: State.self)
    }

    private static func read(
        _ bio: OpaquePointer?,
        _ target: UnsafeMutablePointer<CChar>?,
        _ room: Int,
        _ count: UnsafeMutablePointer<Int>?
    ) -> Int32 {
        // Safety: at most `room` bytes go to `target`, and at most what is left comes from input.
        unsafe BIO_clear_flags(bio, allFlags)
        guard let state = unsafe state(of: bio), let target = unsafe target else { return 0 }
        let length = unsafe min(room, state.pointee.inputCount - state.pointee.consumed)
        guard length > 0, let input = unsafe state.pointee.input else {
            if unsafe !state.pointee.hasEnded {
                unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
            }
            return 0
        }
        unsafe UnsafeMutableRawPointer(target).copyMemory(
            from: input + state.pointee.consumed,
            byteCount: length
        )
        let taken = unsafe Span<UInt8>(
            _unsafeStart: input + state.pointee.consumed,
            count: length
        )
        unsafe state.pointee.framing.pass(taken)
        unsafe state.pointee.consumed &+= length
        unsafe count?.pointee = length
        return 1
    }

    private static func write(
        _ bio: OpaquePointer?,
        _ source: UnsafePointer<CChar>?,
        _ length: Int,
        _ count: UnsafeMutablePointer<Int>?
    ) -> Int32 {
        // Safety: the array copies the `length` bytes that OpenSSL lends.
        unsafe BIO_clear_flags(bio, allFlags)
        guard let output = unsafe state(of: bio)?.pointee.output, length >= 0 else { return 0 }
        unsafe output.pointee.append(
            contentsOf: UnsafeRawBufferPointer(start: source, count: length)
        )
        unsafe count?.pointee = length
        return 1
    }

    private static func control(_ bio: OpaquePointer?, _ command: Int32) -> Int {
        // Safety: the state outlives the BIO.
        guard let state = unsafe state(of: bio) else { return 0 }
        let left = unsafe state.pointee.inputCount - state.pointee.consumed
        switch command {
        case BIO_CTRL_FLUSH, BIO_CTRL_PUSH, BIO_CTRL_POP, BIO_CTRL_DUP: return 1
        case BIO_CTRL_EOF: return unsafe state.pointee.hasEnded && left == 0 ? 1 : 0
        case BIO_CTRL_PENDING: return left
        case BIO_CTRL_WPENDING: return 0
        default: return 0
        }
    }
}

/// The position within a TLS record, from the record headers' lengths alone.
struct RecordFraming {
    private static let headerCount: UInt8 = 5

    private var headerSeen: UInt8 = 0
    private var bodyLeft = 0

    var isBetweenRecords: Bool { headerSeen == 0 && bodyLeft == 0 }

    /// Advances over the next bytes of the stream.
    mutating func pass(_ bytes: Span<UInt8>) {
        var i = 0
        while i < bytes.count {
            if headerSeen == Self.headerCount {
                let taken = min(bodyLeft, bytes.count - i)
                bodyLeft -= taken
                i += taken
            } else {
                headerSeen += 1
                // The last two bytes are the length (RFC 8446 §5.1).
                if headerSeen >= Self.headerCount - 1 { bodyLeft = bodyLeft << 8 | Int(bytes[i]) }
                i += 1
            }
            if headerSeen == Self.headerCount, bodyLeft == 0 { headerSeen = 0 }
        }
    }
}
