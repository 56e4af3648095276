// A body that is fetched once and read by many exchanges while it grows.
import LupinCore
import LupinIO
import LupinStore
import Synchronization

/// The body of a response on its way into the store.
///
/// It grows at the pace of the origin; readers on any worker are woken when there is more. When it
/// is too long for memory it is written to disk, and readers that lag behind read it from there.
/// When it can't be stored after all, it is no longer kept: then the slowest reader sets the pace
/// (backpressure), and bytes that all have read are released.
final class GrowingBody: Sendable {
    enum End: Sendable {
        case complete(FieldSection)
        case failed(LupinError)
    }

    /// How much of the body may be kept, and where.
    struct Room: Sendable {
        let memoryBytes: UInt64
        /// The disk for a longer body; nil for none.
        let disk: DiskTier?

        /// The length of the longest body that can be stored.
        var bytesMax: UInt64 { max(memoryBytes, disk.map { UInt64($0.objectBytesMax) } ?? 0) }
    }

    private enum Keeping { case memory, file, nothing }

    private struct Piece {
        let start: UInt64
        let bytes: [UInt8]

        var end: UInt64 { start + UInt64(bytes.count) }
    }

    private struct State {
        var keeping = Keeping.memory
        /// The bytes in memory: the end of the body.
        var pieces: [Piece] = []
        var bytes: UInt64 = 0
        var end: End?
        /// The file with the bytes written so far.
        var draft: DiskDraft?
        var isWriting = false
        /// The position of each reader.
        var offsets: [Int: UInt64] = [:]
        var lastReader = 0
        var waiting: [@Sendable () -> Void] = []
        /// Wakes the source when there is room.
        var source: (@Sendable () -> Void)?

        var written: UInt64 { draft?.count ?? 0 }
        var windowStart: UInt64 { pieces.first?.start ?? bytes }

        /// Releases pieces that end at `offset` or before.
        mutating func letGo(before offset: UInt64) {
            let count = pieces.firstIndex { $0.end > offset } ?? pieces.count
            pieces.removeFirst(count)
        }
    }

    /// The result of a look-up at a reader's position.
    enum Found {
        /// Bytes from `start` on, which is the position or before it.
        case piece([UInt8], start: UInt64)
        /// The bytes are in the file and no longer in memory.
        case file(DiskDraft, until: UInt64)
        case end(End)
        case nothing
    }

    /// How far readers may lag behind when nothing is kept.
    private static let lagMax: UInt64 = 256 << 10
    /// How many bytes may wait to be written, and how many written bytes stay in memory.
    private static let unwrittenMax: UInt64 = 4 << 20
    private static let windowMax: UInt64 = 1 << 20

    private let room: Room
    private let state = Mutex(State())

    /// A body too long for memory is written to disk from its first byte.
    init(_ room: Room, expecting length: UInt64? = nil) {
        self.room = room
        if let length { state.withLock { decide(length, &$0) } }
    }

    /// Its end; nil while it grows.
    var end: End? { state.withLock { $0.end } }

    /// Whether a reader that begins now finds all bytes so far.
    var isThereFromTheBeginning: Bool {
        state.withLock { $0.windowStart == 0 || $0.written >= $0.windowStart }
    }

    /// The number of bytes so far.
    var count: UInt64 { state.withLock { $0.bytes } }

    /// Whether it is written to a file.
    var isInFile: Bool { state.withLock { $0.keeping == .file } }

    /// The whole content, once it is complete and was kept in memory.
    var content: StoredContent? {
        state.withLock { state in
            guard case .complete? = state.end, state.keeping == .memory else { return nil }
            return StoredContent(state.pieces.map(\.bytes))
        }
    }

    /// The bytes so far of an incomplete body that was kept in memory.
    var beginning: StoredContent? {
        state.withLock { state in
            if case .complete? = state.end { return nil }
            guard state.keeping == .memory, state.bytes > 0 else { return nil }
            return StoredContent(state.pieces.map(\.bytes))
        }
    }

    // MARK: The source

    /// Appends bytes.
    ///
    /// - Parameters:
    ///   - payload: The bytes that came.
    ///   - wake: Makes the source try again, when there was no room; called on any thread.
    /// - Returns: False when the bytes must be offered again.
    /// - Throws: When a body that can't be stored has no readers.
    func append(
        _ payload: Span<UInt8>,
        wake: () -> @Sendable () -> Void
    ) throws(LupinError) -> Bool {
        let count = UInt64(payload.count)
        enum Outcome { case taken([@Sendable () -> Void], startsWriting: Bool), full, useless }
        let piece = [UInt8](copying: payload)
        let outcome = state.withLock { state -> Outcome in
            decide(state.bytes + count, &state)
            if state.keeping == .nothing, state.offsets.isEmpty { return .useless }
            if isFull(state) {
                state.source = wake()
                return .full
            }
            state.pieces.append(Piece(start: state.bytes, bytes: piece))
            state.bytes += count
            let startsWriting = state.keeping == .file && !state.isWriting
            if startsWriting { state.isWriting = true }
            defer { state.waiting = [] }
            return .taken(state.waiting, startsWriting: startsWriting)
        }
        switch outcome {
        case .full: return false
        case .useless:
            throw LupinError(.proxyInternalError, detail: "The body is too long to be stored.")
        case .taken(let waiting, let startsWriting):
            for wake in waiting { wake() }
            if startsWriting { startWriting() }
            return true
        }
    }

    /// Decides where a body of `bytes` bytes is kept.
    private func decide(_ bytes: UInt64, _ state: inout State) {
        if state.keeping == .memory, bytes > room.memoryBytes { state.keeping = .file }
        if state.keeping == .file, bytes > UInt64(room.disk?.objectBytesMax ?? 0) {
            state.keeping = .nothing
        }
    }

    private func isFull(_ state: State) -> Bool {
        switch state.keeping {
        case .memory: false
        case .file: state.bytes - state.written >= Self.unwrittenMax
        case .nothing:
            state.bytes - (state.offsets.values.min() ?? state.bytes) >= Self.lagMax
        }
    }

    /// Ends the body; only the first call counts.
    func finish(_ end: End) {
        tell { state in if state.end == nil { state.end = end } }
    }

    private func tell(_ change: (inout State) -> Void) {
        let (waiting, source) = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return (state.waiting, takeSource(&state))
        }
        for wake in waiting { wake() }
        source?()
    }

    /// Returns the wake-up of a source that waits for room, if there is some.
    private func takeSource(_ state: inout State) -> (@Sendable () -> Void)? {
        guard state.source != nil, !isFull(state) else { return nil }
        defer { state.source = nil }
        return state.source
    }

    // MARK: Readers

    /// Registers a reader that begins at the start; returns its number.
    func beginReading() -> Int {
        state.withLock { state in
            state.lastReader += 1
            state.offsets[state.lastReader] = 0
            return state.lastReader
        }
    }

    func endReading(_ reader: Int) { tell { $0.offsets[reader] = nil } }

    /// Finds the bytes at `offset`; when there are none, `wake` is called when that changes.
    func find(_ offset: UInt64, _ reader: Int, wake: () -> @Sendable () -> Void) -> Found {
        let (found, source) = state.withLock { state in
            state.offsets[reader] = offset
            if state.keeping == .nothing {
                state.letGo(before: state.offsets.values.min() ?? offset)
            }
            return (find(offset, &state, wake), takeSource(&state))
        }
        source?()
        return found
    }

    private func find(
        _ offset: UInt64,
        _ state: inout State,
        _ wake: () -> @Sendable () -> Void
    ) -> Found {
        if offset < state.windowStart {
            // A reader that begins after the body is no longer kept finds its start released.
            guard let draft = state.draft, offset < draft.count else { return .end(.failed(.gone)) }
            return .file(draft, until: min(state.windowStart, draft.count))
        }
        if offset < state.bytes {
            let i = state.pieces.partitioningIndex { $0.end > offset }
            return .piece(state.pieces[i].bytes, start: state.pieces[i].start)
        }
        if let end = state.end { return .end(end) }
        state.waiting.append(wake())
        return .nothing
    }

    // MARK: The disk's thread

    private func startWriting() {
        let isTaken = room.disk?.submit { [self] store in write(to: store) } ?? false
        if !isTaken { giveUp() }
    }

    /// Writes the bytes that came and were not written yet.
    func write(to store: DiskStore) {
        while let (pieces, draft) = takeUnwritten() {
            do throws(DiskProblem) {
                let file = if let draft { draft } else { try store.begin() }
                for piece in pieces { try store.append(piece.bytes.span, to: file) }
                noteWritten(file)
            } catch {
                return giveUp()
            }
        }
    }

    private func takeUnwritten() -> (pieces: ArraySlice<Piece>, draft: DiskDraft?)? {
        state.withLock { state in
            guard state.keeping == .file, state.written < state.bytes else {
                state.isWriting = false
                return nil
            }
            let first = state.pieces.partitioningIndex { $0.start >= state.written }
            return (state.pieces[first...], state.draft)
        }
    }

    private func noteWritten(_ draft: DiskDraft) {
        tell { state in
            state.draft = draft
            let kept = state.bytes > Self.windowMax ? state.bytes - Self.windowMax : 0
            state.letGo(before: min(state.written, kept))
        }
    }

    /// Stops keeping the body because the disk takes no more; readers go on with what there is.
    private func giveUp() {
        tell { state in
            state.isWriting = false
            state.keeping = .nothing
        }
    }

    /// The file with the whole body, once it is complete and was written.
    var wholeDraft: DiskDraft? {
        state.withLock { state in
            guard case .complete? = state.end, state.keeping == .file,
                state.written == state.bytes
            else { return nil }
            return state.draft
        }
    }
}

extension LupinError {
    fileprivate static let gone = LupinError(
        .connectionTerminated,
        detail: "The response that was to be read along could not be kept.",
        retry: .never
    )
}

extension Array {
    /// The first index from which on all elements satisfy `isBehind`; the end when there is none.
    fileprivate func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
