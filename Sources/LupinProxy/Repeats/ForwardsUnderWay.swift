// What is under way without an exchange, and when that ends.
import LupinCore
import LupinIO

/// A request that was forwarded without an exchange.
struct ForwardUnderWay {
    let forward: RepeatedForward
    let upstream: any RepeatingUpstream
    /// All of it has left.
    let isSent: Bool
    /// When it came, in microseconds of the loop's clock.
    let begun: UInt64
    /// What had moved on both connections before.
    let clientBytes: (received: UInt64, sent: UInt64)
    let upstreamBytes: (received: UInt64, sent: UInt64)
}

/// What a task takes over of a request that was forwarded without an exchange.
enum UnfinishedForward {
    /// The response, whatever it is.
    case response(ForwardUnderWay)
    /// The rest of the body, which the client did not take at once, or its leaving.
    case body(ExchangeRecord?, [UInt8], of: ForwardUnderWay, LupinError?)
}

/// Who has a request under way without an exchange.
protocol ForwardHolder: AnyObject {
    /// Where it stands among others; `nowhere` while it has none.
    var forwardPlace: Int { get set }
    /// Has an exchange wait for the response of what was begun so long ago.
    func handOverForward(begunBefore time: UInt64)
}

/// The requests that are under way without an exchange on one worker; confined to its loop.
///
/// What is not answered soon gets an exchange, with all its deadlines: its connection needs none
/// of its own before.
final class ForwardsUnderWay {
    static let nowhere = -1
    /// How long they may be under way: longer than a busy worker takes for a turn of hundreds.
    private static let time = Duration.milliseconds(100)

    private var places: [any ForwardHolder] = []
    private let timer: ParkingSlot
    private var isTimed = false

    init(on loop: EventLoop) {
        timer = ParkingSlot(on: loop)
    }

    var count: Int { places.count }

    func add(_ holder: some ForwardHolder) {
        holder.forwardPlace = places.count
        change { $0.append(holder) }
        if !isTimed { startTimer() }
    }

    func remove(_ holder: some ForwardHolder) {
        let place = holder.forwardPlace
        guard place != Self.nowhere else { return }
        holder.forwardPlace = Self.nowhere
        change { places in
            let last = places.removeLast()
            guard last !== holder else { return }
            places[place] = last
            last.forwardPlace = place
        }
    }

    /// Moves the places out and back: accesses that nothing can meet are not checked at run time.
    @inline(__always)
    private func change(_ change: (inout [any ForwardHolder]) -> Void) {
        var places: [any ForwardHolder] = []
        swap(&places, &self.places)
        change(&places)
        swap(&places, &self.places)
    }

    /// Gives all of them their exchanges: somebody wants to see them, or lupin stops.
    func handOverAll() {
        for holder in places { holder.handOverForward(begunBefore: .max) }
    }

    /// Nobody needs the timer any more.
    func close() { timer.wake(.cut) }

    private func startTimer() {
        isTimed = true
        let home = LoopLocal(self, of: timer.loop.executor)
        Task.immediate(executorPreference: timer.loop.executor) { await home.value.watch() }
    }

    /// Looks after them for as long as there are any.
    private func watch() async {
        while !places.isEmpty {
            let due = timer.loop.deadline(in: Self.time)
            let woken = await timer.park(for: .cut, until: due)
            if woken.meets(.cut) { break }
            let since = timer.loop.now &- Self.time.microseconds
            for holder in places { holder.handOverForward(begunBefore: since) }
        }
        isTimed = false
    }
}
