// A body that is being fetched once and read by many while it grows.
import LupinCore
import LupinIO
import LupinStore
import Synchronization

/// The body of a response on its way into the store.
///
/// It grows at the pace of the origin; whoever reads it, on whatever worker, is told when there is
/// more. What is too long for memory goes on to the disk, and is read from there by those who are
/// behind. A body that can't be stored after all is kept no longer: then the slowest of its readers
/// sets the pace, and what all have read is let go.
final class GrowingBody: Sendable {
    enum End: Sendable {
        case complete(FieldSection)
        case failed(LupinError)
    }

    /// How much of it may be kept, and where.
    struct Room: Sendable {
        let memoryBytes: UInt64
        /// Where it goes if it is longer; nil for nowhere.
        let disk: DiskTier?

        /// Bytes of the longest body that can be stored.
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
        /// What is in memory: the end of the body.
        var pieces: [Piece] = []
        var bytes: UInt64 = 0
        var end: End?
        /// What was written of it.
        var draft: DiskDraft?
        var isWriting = false
        /// How far each reader is.
        var places: [Int: UInt64] = [:]
        var lastReader = 0
        var waiting: [@Sendable () -> Void] = []
        /// The source waits for room.
        var source: (@Sendable () -> Void)?

        var written: UInt64 { draft?.count ?? 0 }
        var windowStart: UInt64 { pieces.first?.start ?? bytes }

        /// Lets pieces go that end at `place` or before.
        mutating func letGo(before place: UInt64) {
            let count = pieces.firstIndex { $0.end > place } ?? pieces.count
            pieces.removeFirst(count)
        }
    }

    /// What a reader finds at its place.
    enum Found {
        /// What is there from `start` on, which is the place or before it.
        case piece([UInt8], start: UInt64)
        /// It was written, and lies in memory no longer.
        case file(DiskDraft, until: UInt64)
        case end(End)
        case nothing
    }

    /// What readers may lag behind, once nothing is kept.
    private static let lagMax: UInt64 = 256 << 10
    /// What may wait to be written, and what stays in memory of what was.
    private static let unwrittenMax: UInt64 = 4 << 20
    private static let windowMax: UInt64 = 1 << 20

    private let room: Room
    private let state = Mutex(State())

    /// A body that fits nowhere in memory goes to the disk from its first byte.
    init(_ room: Room, expecting length: UInt64? = nil) {
        self.room = room
        if let length { state.withLock { decide(length, &$0) } }
    }

    /// How it ended, if it has.
    var end: End? { state.withLock { $0.end } }

    /// Whether somebody who begins now finds all that came so far.
    var isThereFromTheBeginning: Bool {
        state.withLock { $0.windowStart == 0 || $0.written >= $0.windowStart }
    }

    /// Bytes so far.
    var count: UInt64 { state.withLock { $0.bytes } }

    /// Whether it goes into a file.
    var isInFile: Bool { state.withLock { $0.keeping == .file } }

    /// Everything, once it is complete and was kept in memory.
    var content: StoredContent? {
        state.withLock { state in
            guard case .complete? = state.end, state.keeping == .memory else { return nil }
            return StoredContent(state.pieces.map(\.bytes))
        }
    }

    /// What has come of one that is not complete, where it was kept in memory.
    var beginning: StoredContent? {
        state.withLock { state in
            if case .complete? = state.end { return nil }
            guard state.keeping == .memory, state.bytes > 0 else { return nil }
            return StoredContent(state.pieces.map(\.bytes))
        }
    }

    // MARK: The source

    /// Puts bytes behind those that are there.
    ///
    /// - Parameters:
    ///   - payload: What came.
    ///   - wake: Has the source try again, when there was no room; called on any thread.
    /// - Returns: False where it must be offered again.
    /// - Throws: When nobody reads what can't be stored.
    func append(
        _ payload: Span<UInt8>,
        wake: () -> @Sendable () -> Void
    ) throws(LupinError) -> Bool {
        let count = UInt64(payload.count)
        enum Outcome { case taken([@Sendable () -> Void], startsWriting: Bool), full, useless }
        let piece = [UInt8](copying: payload)
        let outcome = state.withLock { state -> Outcome in
            decide(state.bytes + count, &state)
            if state.keeping == .nothing, state.places.isEmpty { return .useless }
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

    /// Where a body of so many bytes is kept.
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
            state.bytes - (state.places.values.min() ?? state.bytes) >= Self.lagMax
        }
    }

    /// Ends it; the first end counts.
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

    /// Who waits for room, if there is some.
    private func takeSource(_ state: inout State) -> (@Sendable () -> Void)? {
        guard state.source != nil, !isFull(state) else { return nil }
        defer { state.source = nil }
        return state.source
    }

    // MARK: Readers

    /// A number for one who reads from the beginning.
    func beginReading() -> Int {
        state.withLock { state in
            state.lastReader += 1
            state.places[state.lastReader] = 0
            return state.lastReader
        }
    }

    func endReading(_ reader: Int) { tell { $0.places[reader] = nil } }

    /// What there is from `place` on; without anything `wake` is called when that changes.
    func find(_ place: UInt64, _ reader: Int, wake: () -> @Sendable () -> Void) -> Found {
        let (found, source) = state.withLock { state in
            state.places[reader] = place
            if state.keeping == .nothing {
                state.letGo(before: state.places.values.min() ?? place)
            }
            return (find(place, &state, wake), takeSource(&state))
        }
        source?()
        return found
    }

    private func find(
        _ place: UInt64,
        _ state: inout State,
        _ wake: () -> @Sendable () -> Void
    ) -> Found {
        if place < state.windowStart {
            // Who begins when it is no longer kept finds the beginning gone.
            guard let draft = state.draft, place < draft.count else { return .end(.failed(.gone)) }
            return .file(draft, until: min(state.windowStart, draft.count))
        }
        if place < state.bytes {
            let i = state.pieces.partitioningIndex { $0.end > place }
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

    /// Writes what has come and was not written.
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

    /// The disk takes no more: the readers go on with what there is.
    private func giveUp() {
        tell { state in
            state.isWriting = false
            state.keeping = .nothing
        }
    }

    /// The file with all of it, once it is complete and was written.
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
    /// The first index whose element `isBehind`, where all behind it are too; the end for none.
    fileprivate func partitioningIndex(_ isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
