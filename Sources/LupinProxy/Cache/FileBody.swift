// The body of a response that lies in a file, on its way to a client.
import LupinCaching
import LupinCore
import LupinIO
import LupinStore
import LupinUpstream

/// A body from a file: through a pipe if the client's socket takes splices, else by way of a
/// buffer.
///
/// Bytes that are not in the page cache are read on a helper thread; only a splice may wait for
/// them, as `sendfile` does everywhere.
final class FileBody: BodySource {
    private let file: OpenedFile
    /// Runs a job on a helper thread; false if the thread takes no more.
    private let submit: Submit
    private let loop: EventLoop
    /// Makes the reader pull again.
    private let resume: () -> Void
    private var parts: ArraySlice<AnswerPart>
    private let length: UInt64
    private var piece: [UInt8] = []
    private var position = 0
    private var isReading = false
    private var failure: LupinError?

    private static let pieceBytes = 64 << 10

    typealias Submit = (@escaping @Sendable () -> Void) -> Bool

    /// Starts the body of `answer`, with its ranges and framing.
    init(
        _ file: OpenedFile,
        _ answer: CachedAnswer,
        on loop: EventLoop,
        submit: @escaping Submit,
        resume: @escaping () -> Void
    ) {
        self.file = file
        self.submit = submit
        self.loop = loop
        self.resume = resume
        parts = answer.parts[...]
        length = answer.contentLength
    }

    func pull() throws(LupinError) -> BodyProgress {
        if position < piece.count { return .payload }
        if let failure { throw failure }
        if isReading { return .blocked }
        guard let part = parts.first else { return .end }
        switch part {
        case .bytes(let bytes):
            parts = parts.dropFirst()
            take(bytes)
        case .range(let range):
            guard try read(range) else { return .blocked }
        }
        return .payload
    }

    private func take(_ bytes: [UInt8]) {
        piece = bytes
        position = 0
    }

    /// Reads the next piece; returns false when the helper thread has to read it.
    private func read(_ range: Range<UInt64>) throws(LupinError) -> Bool {
        let wanted = Int(min(UInt64(Self.pieceBytes), range.upperBound - range.lowerBound))
        var bytes = piece.count == wanted ? piece : [UInt8](repeating: 0, count: wanted)
        piece = []
        position = 0
        do throws(DiskProblem) {
            var room = bytes.mutableSpan
            let count = try file.read(at: range.lowerBound, into: &room, onlyIfCached: true)
            guard let count else {
                try readElsewhere(range.lowerBound, wanted)
                return false
            }
            bytes.removeLast(wanted - count)
        } catch {
            throw Self.failure(error)
        }
        take(bytes)
        advance(by: UInt64(bytes.count))
        return true
    }

    /// Notes that `count` bytes of the first range are being sent.
    private func advance(by count: UInt64) {
        guard case .range(let range)? = parts.first else { return }
        let rest = (range.lowerBound + count)..<range.upperBound
        parts = parts.dropFirst()
        if !rest.isEmpty { parts = [.range(rest)] + parts }
    }

    private func readElsewhere(_ offset: UInt64, _ count: Int) throws(DiskProblem) {
        let executor = loop.executor
        let home = LoopLocal(self, of: executor)
        let file = file
        let isTaken = submit {
            var bytes = [UInt8](repeating: 0, count: count)
            let result = Result { () throws(DiskProblem) -> [UInt8] in
                var room = bytes.mutableSpan
                let done = try file.read(at: offset, into: &room, onlyIfCached: false) ?? 0
                bytes.removeLast(count - done)
                return bytes
            }
            executor.mailbox.post { home.value.wasRead(result) }
        }
        guard isTaken else { throw .closed }
        isReading = true
    }

    private func wasRead(_ result: Result<[UInt8], DiskProblem>) {
        isReading = false
        switch result {
        case .success(let bytes) where !bytes.isEmpty:
            take(bytes)
            advance(by: UInt64(bytes.count))
        case .success: failure = Self.failure(.damaged)
        case .failure(let problem): failure = Self.failure(problem)
        }
        resume()
    }

    private static func failure(_ problem: DiskProblem) -> LupinError {
        LupinError(
            .proxyInternalError,
            detail: "The file of the response could not be read: \(problem).",
            retry: .never
        )
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        let piece = piece
        let isLast = parts.isEmpty
        let taken = try sink.push(piece.span.extracting(position..<piece.count), isLast: isLast)
        position += taken
        let isAllTaken = position == piece.count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { length }

    var spliceable: UInt64 {
        guard position == piece.count, !isReading, failure == nil,
            case .range(let range)? = parts.first
        else { return 0 }
        return range.upperBound - range.lowerBound
    }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        guard case .range(let range)? = parts.first else { return .end }
        do throws(SystemError) {
            let moved = try pipe.fill(
                from: file.descriptor,
                at: range.lowerBound,
                Int(min(UInt64(count), range.upperBound - range.lowerBound))
            )
            advance(by: UInt64(moved))
            return moved > 0 ? .bytes : .full
        } catch {
            throw Self.failure(.io(error.code))
        }
    }
}
