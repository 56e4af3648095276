// What of a request body is kept so that it can be sent again.
import LupinCore
import LupinIO

/// A copy of the body bytes that went upstream, up to a bound.
///
/// A body that outgrows the bound, or the memory that all replays share, is let go: the exchange
/// goes on and is not replayable (the record says so).
final class BodyReplay {
    private let bytesMax: Int
    private let memory: ReplayMemory
    private(set) var bytes: [UInt8] = []
    /// False once something was let go.
    private(set) var isComplete = true

    init(bytesMax: Int, memory: ReplayMemory) {
        self.bytesMax = bytesMax
        self.memory = memory
    }

    deinit { memory.release(bytes.count) }

    func append(_ payload: Span<UInt8>) {
        guard isComplete else { return }
        guard bytes.count + payload.count <= bytesMax, memory.reserve(payload.count) else {
            memory.release(bytes.count)
            bytes = []
            isComplete = false
            return
        }
        bytes.append(copying: payload)
    }
}
