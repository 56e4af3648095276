// A non-blocking socket: what it can do now, what was received, what waits to be sent.
import CLinux
import Glibc
import LupinCore

/// Runs while the task that owns a channel is parked: relays move bytes in it.
package protocol ChannelPump: AnyObject {
    /// Something changed: bytes to read, room to write, or the end.
    func channelIsReady(_ channel: Channel)
}

/// A connected socket on one loop.
///
/// Every operation is an attempt that never waits. After `.blocked` the caller parks in `slot` for
/// the channel's reasons, or sets `pump` and is called.
///
/// Stored properties are internal to the module and read through computed ones: access to a
/// property that other modules can see costs an exclusivity check at run time, 90 instructions
/// each.
package final class Channel {
    /// The result of an attempt to receive.
    package enum Received: Equatable { case bytes, blocked, end, full }

    package let loop: EventLoop
    // The loop's, stored here: access through the loop costs a retain and a release.
    let memory: BufferPool
    package let peer: SocketAddress?
    /// Bytes received and not yet consumed.
    package let input: InputBuffer
    private var open = true
    private var hungUp = false
    /// The connection was reset: the kernel reports this once; later reads only report the end.
    var isReset = false
    private var broken = false
    var readEnd = false
    /// Bytes came since any were sent: the kernel may be delaying their acknowledgement.
    var hasUnacknowledged = false
    var received: UInt64 = 0
    var sent: UInt64 = 0

    private var waiter: ParkingSlot?
    private var reasons = (
        readable: WakeReasons(rawValue: 0), writable: WakeReasons(rawValue: 0),
        closed: WakeReasons(rawValue: 0)
    )
    private var observer: (any ChannelPump)?

    let descriptor: Int32
    private var token: UInt64 = 0
    // Optimistic until the kernel says EAGAIN.
    var isReadable = true
    /// The turn of the loop in which a read last left nothing behind.
    private var turnEmptied = UInt64.max
    private(set) var isWritable = true
    /// Whether the kernel reports when it takes bytes again.
    private var isWatchedForRoom = false
    var staged: [UInt8] = []
    private var stagedSent = 0
    var gathering = ReceiveCoalescing()
    /// With a filter, staged bytes are plaintext, and are sealed when they are sent.
    var filtered: FilteredBytes?

    /// Takes ownership of a connected or connecting socket; `isOutgoing` if lupin connects.
    package init(
        owning descriptor: consuming Descriptor,
        on loop: EventLoop,
        peer: SocketAddress? = nil,
        isConnected: Bool = true,
        isOutgoing: Bool = false
    ) throws(SystemError) {
        self.loop = loop
        memory = loop.memory
        self.peer = peer
        self.descriptor = descriptor.release()
        input = InputBuffer(pool: memory)
        isWritable = isConnected
        isReadable = isConnected
        isWatchedForRoom = !isConnected
        token = loop.register(self, isOutgoing: isOutgoing)
        do throws(SystemError) {
            try loop.poller.addStream(
                self.descriptor,
                token: token,
                needsRoom: isWatchedForRoom
            )
        } catch {
            close()
            throw error
        }
    }

    // MARK: State

    package var isOpen: Bool { open }
    /// The peer has sent FIN, or the connection broke: bytes in flight can still be read.
    package var hasHungUp: Bool { hungUp }
    /// The connection broke in both directions.
    package var isBroken: Bool { broken }
    /// All that the peer sent has been read, up to its FIN.
    package var hasReadEnd: Bool { readEnd }
    package var bytesReceived: UInt64 { received }
    package var bytesSent: UInt64 { sent }

    /// The slot that events wake, for the reasons set here.
    package var slot: ParkingSlot? {
        get { waiter }
        set { waiter = newValue }
    }
    package var readableReason: WakeReasons {
        get { reasons.readable }
        set { reasons.readable = newValue }
    }
    package var writableReason: WakeReasons {
        get { reasons.writable }
        set { reasons.writable = newValue }
    }
    package var closedReason: WakeReasons {
        get { reasons.closed }
        set { reasons.closed = newValue }
    }
    /// The pump that events call before they wake the slot.
    package var pump: (any ChannelPump)? {
        get { observer }
        set { observer = newValue }
    }

    deinit {
        assert(!open, "a channel was dropped without close()")
    }

    /// Closes the socket.
    ///
    /// With `reset` the peer sees RST: this aborts a message that would otherwise look complete.
    package func close(reset: Bool = false) {
        guard open else { return }
        if !reset, let filtered, !filtered.isEnding, !broken { sayGoodbye(filtered) }
        open = false
        if reset { _ = linux_set_linger_zero(descriptor) }
        input.release()
        filtered?.received.release()
        filtered = nil
        returnStaged()
        waiter = nil
        observer = nil
        loop.unregister(token)
        _ = Glibc.close(descriptor)
    }

    // MARK: Events

    func signal(_ readiness: Readiness) {
        var found = WakeReasons(rawValue: 0)
        if readiness.isPeerFinished || readiness.isBroken {
            hungUp = true
            if readiness.isBroken { broken = true }
            found = found | reasons.closed
        }
        if readiness.isReadable {
            isReadable = true
            found = found | reasons.readable
        }
        if readiness.isWritable {
            isWritable = true
            found = found | reasons.writable
            // For a filter's own answers no user of the channel retries, so they are sent here.
            if let filtered, filtered.isEnding || filtered.hasUnsent {
                _ = try? sendSealed(filtered)
            }
        }
        if let observer { observer.channelIsReady(self) }
        waiter?.wake(found)
    }

    // MARK: Receiving

    /// Leaves bytes that may be there already to the loop, which reports them in its next turn: on
    /// a new connection it is usually too early to read.
    func waitForNews() { isReadable = false }

    /// Makes the next attempt to receive ask the kernel, whatever events have reported.
    package func expectBytes() { isReadable = true }

    /// Whether an attempt to receive would return something: bytes, the end or an error.
    package var isReadableNow: Bool {
        if let filtered { return isReadable || holdsReceived(filtered) }
        return isReadable
    }

    /// Reads what there is into `input`.
    @inline(__always)
    package func receive() throws(SystemError) -> Received {
        if let filtered { return try receive(through: filtered) }
        return try receive(into: input)
    }

    @inline(__always)
    func receive(into buffer: InputBuffer) throws(SystemError) -> Received {
        if gathering.isOn { endGathering() }
        guard isReadable else { return .blocked }
        guard !buffer.isFull else { return .full }
        let (result, room) = buffer.fill(from: descriptor)
        if result > 0 {
            hasUnacknowledged = true
            if buffer === input { received &+= UInt64(result) }
            // A short read emptied the socket: EPOLLRDHUP reports an end after it.
            if result < room && !hungUp { noteEmpty() }
            return .bytes
        }
        if result == 0 {
            if isReset { throw SystemError(code: ECONNRESET) }
            readEnd = true
            return .end
        }
        if result == -Int(EAGAIN) {
            noteEmpty()
            return .blocked
        }
        // The next read must see the reset too.
        isReset = true
        throw SystemError(code: Int32(-result))
    }

    @inline(__always)
    private func noteEmpty() {
        isReadable = false
        turnEmptied = loop.turn
    }

    /// Whether a read in this turn of the loop left nothing behind.
    ///
    /// What came since then is as little known as what comes a moment later: to ask the kernel
    /// again would tell next to nothing.
    package var wasEmptiedInThisTurn: Bool { turnEmptied == loop.turn }

    /// Whether an idle connection is quiet, as it must be: nothing to read, not closed.
    ///
    /// With `asksKernel` the socket is read even if no event announced anything. This costs one
    /// system call, and sees what an event has not yet reported.
    package func isQuiet(asksKernel: Bool) -> Bool {
        guard open, !hungUp, input.isEmpty else { return false }
        if asksKernel { expectBytes() }
        guard isReadableNow else { return true }
        return (try? receive()) == .blocked
    }

    // MARK: Sending

    package var hasStaged: Bool {
        if let filtered, filtered.hasUnsent { return true }
        return stagedSent < staged.count
    }

    /// How many bytes wait to be sent.
    package var unsentCount: Int {
        staged.count - stagedSent + (filtered?.unsentCount ?? 0)
    }

    /// Appends bytes to the staged ones; they leave with the next `send` or `flush`.
    package func stage(_ write: (inout [UInt8]) -> Void) {
        // Moved out and back: no access to the property stays open while `write` runs.
        var bytes = takeStaged()
        write(&bytes)
        putStaged(consume bytes)
    }

    /// Moves the staged bytes out, for a caller that appends a head; `putStaged` moves them back.
    ///
    /// The closure of `stage` would hold copies of the head and of its options.
    package func takeStaged() -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &staged)
        if bytes.capacity == 0 { bytes = memory.lendBytes() }
        return bytes
    }

    package func putStaged(_ bytes: consuming [UInt8]) { swap(&bytes, &staged) }

    /// Sends what is staged, then `payload`, then `suffix`, in one call to the kernel.
    ///
    /// With `isBeginning`, more bytes follow at once, and staged bytes may wait for them.
    /// - Returns: How many bytes of `payload` left. When all of them did, or there were none, what
    ///   is left of `suffix` has been staged.
    package func send(
        _ payload: Span<UInt8>,
        suffix: StaticString? = nil,
        isBeginning: Bool = false
    ) throws(SystemError) -> Int {
        if let filtered { return try send(payload, suffix, through: filtered) }
        guard isWritable else { return postpone(payload, suffix) }
        let waiting = staged.count - stagedSent
        let suffixCount = suffix?.utf8CodeUnitCount ?? 0
        let total = waiting + payload.count + suffixCount
        guard total > 0 else { return 0 }
        let sent = write(payload, suffix, isBeginning: isBeginning)
        if sent < 0 {
            awaitRoom()
            if sent == -Int(EAGAIN) { return postpone(payload, suffix) }
            noteReset(sent)
            throw SystemError(code: Int32(-sent))
        }
        self.sent &+= UInt64(sent)
        if !isBeginning { hasUnacknowledged = false }
        if sent < total { awaitRoom() }
        stagedSent += min(sent, waiting)
        if stagedSent == staged.count { returnStaged() }
        let payloadSent = min(max(0, sent - waiting), payload.count)
        if payloadSent == payload.count, let suffix {
            stageRest(of: suffix, from: max(0, sent - waiting - payload.count))
        }
        return payloadSent
    }

    /// The kernel takes no more for now, and will report when it does.
    ///
    /// The watch begins at the first such moment: most channels never get there, and events for
    /// room that no task waits for would wake the loop as often as events for bytes.
    func awaitRoom() {
        isWritable = false
        guard !isWatchedForRoom else { return }
        isWatchedForRoom = true
        loop.poller.watchForRoom(descriptor, token: token)
    }

    /// Sends what is staged.
    ///
    /// Returns true when nothing is left of it.
    package func flush() throws(SystemError) -> Bool {
        if hasStaged { _ = try send(Span()) }
        return !hasStaged
    }

    /// Shuts down the sending side (half-close); the other direction stays open.
    ///
    /// If the other direction has ended too, closing the socket is enough.
    package func finishSending() {
        guard let filtered else {
            if !readEnd { _ = shutdown(descriptor, Int32(SHUT_WR)) }
            return
        }
        guard !filtered.isEnding else { return }
        sayGoodbye(filtered)
    }

    // MARK: Connecting

    /// The result of a pending connect; nil while it is still pending.
    package func connectResult() -> Result<Void, SystemError>? {
        guard isWritable else { return nil }
        let code = linux_socket_error(descriptor)
        if code == 0 || (code == ECONNRESET && holdsLastWords) { return .success(()) }
        return .failure(SystemError(code: code < 0 ? EIO : code))
    }

    /// Whether the peer sent anything before it reset the connection, which was made then.
    private var holdsLastWords: Bool {
        expectBytes()
        return (try? receive()) == .bytes
    }

    /// TCP keep-alive, for connections that may be silent for hours.
    ///
    /// Accepted sockets inherit it from the listener. On loopback a peer never vanishes silently.
    package func enableKeepAlive() {
        if peer?.address.isLoopback != true { Channel.enableKeepAlive(descriptor) }
    }

    static func enableKeepAlive(_ descriptor: Int32) {
        _ = linux_set_option(descriptor, Int32(SOL_SOCKET), SO_KEEPALIVE, 1)
        _ = linux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
        _ = linux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, 20)
    }

    /// The address on our side of the connection.
    package var localAddress: SocketAddress? { SocketAddress.local(of: descriptor) }

    /// Both ends of the connection.
    package var ends: (peer: SocketAddress, local: SocketAddress)? {
        guard let peer, let local = localAddress else { return nil }
        return (peer, local)
    }

    /// Where the client was going, if the kernel led it here instead; nil if it came by itself.
    package var originalDestination: SocketAddress? {
        var storage = sockaddr_storage()
        guard let local = localAddress else { return nil }
        // Safety: the call fills the storage it is given.
        guard unsafe redirect_original(descriptor, local.family, &storage) == 0,
            let original = SocketAddress(storage), original != local
        else { return nil }
        return original
    }

    /// Two channels of one loop, each the other's peer.
    package static func pair(on loop: EventLoop) throws(SystemError) -> (Channel, Channel) {
        var ends: (Int32, Int32) = (-1, -1)
        // Safety: both descriptors are ours once the call succeeds.
        try SystemCall.check {
            unsafe withUnsafeMutableBytes(of: &ends) { raw in
                unsafe linux_socket_pair(raw.assumingMemoryBound(to: Int32.self).baseAddress)
            }
        }
        let second = Descriptor(owning: ends.1)
        let one = try Channel(owning: Descriptor(owning: ends.0), on: loop)
        do throws(SystemError) {
            return (one, try Channel(owning: second, on: loop))
        } catch {
            one.close()
            throw error
        }
    }

    // MARK: Private

    private func write(
        _ payload: Span<UInt8>,
        _ suffix: StaticString?,
        isBeginning: Bool
    ) -> Int {
        // Moved out and back: a copy would count a reference.
        var staged: [UInt8] = []
        swap(&staged, &self.staged)
        defer { swap(&staged, &self.staged) }
        // Safety: the three pieces outlive the call, which only reads them.
        return unsafe staged.withUnsafeBytes { all in
            unsafe payload.withUnsafeBytes { second in
                let first = unsafe UnsafeRawBufferPointer(rebasing: all[stagedSent...])
                guard suffix == nil, unsafe first.isEmpty || second.isEmpty else {
                    return unsafe writeGathered(first, second, suffix)
                }
                let only = unsafe first.isEmpty ? second : first
                return SystemCall.value {
                    unsafe isBeginning
                        ? linux_send_more(descriptor, only.baseAddress, only.count)
                        : Glibc.write(descriptor, only.baseAddress, only.count)
                }
            }
        }
    }

    private func writeGathered(
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer,
        _ suffix: StaticString?
    ) -> Int {
        // Safety: writev only reads the vectors and what they point to.
        var vectors = unsafe (piece(first), piece(second), iovec(iov_base: nil, iov_len: 0))
        if let suffix {
            unsafe vectors.2.iov_base = UnsafeMutableRawPointer(mutating: suffix.utf8Start)
            unsafe vectors.2.iov_len = suffix.utf8CodeUnitCount
        }
        return unsafe withUnsafeBytes(of: &vectors) { raw in
            let list = unsafe raw.assumingMemoryBound(to: iovec.self).baseAddress
            return SystemCall.value { unsafe writev(descriptor, list, 3) }
        }
    }

    private func piece(_ bytes: UnsafeRawBufferPointer) -> iovec {
        // Safety: writev does not write through iov_base.
        unsafe iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
            iov_len: bytes.count
        )
    }

    /// Nothing could be sent: the caller keeps the payload, but a suffix alone would be lost.
    private func postpone(_ payload: Span<UInt8>, _ suffix: StaticString?) -> Int {
        if payload.isEmpty, let suffix { stageRest(of: suffix, from: 0) }
        return 0
    }

    private func stageRest(of suffix: StaticString, from offset: Int) {
        guard offset < suffix.utf8CodeUnitCount else { return }
        stage { $0.append(contentsOf: suffix.description.utf8.dropFirst(offset)) }
    }

    /// After a FIN the kernel reports EPIPE instead, and what was received is whole.
    ///
    /// What the peer sent before that can still be read, and perhaps no event will say so.
    func noteReset(_ result: Int) {
        isReadable = true
        if result == -Int(ECONNRESET) { isReset = true }
    }

    func returnStaged() {
        if staged.capacity > 0 {
            var bytes: [UInt8] = []
            swap(&bytes, &staged)
            memory.giveBack(consume bytes)
        }
        stagedSent = 0
    }
}
