// The exchanges that wait until the machine has a network again.
import LupinIO

/// The exchanges of one worker that wait for a network; all of them are woken together.
///
/// The kernel's network events are watched only while an exchange waits.
final class NetworkWaiters {
    private let loop: EventLoop
    private var slots: [ObjectIdentifier: ParkingSlot] = [:]
    private var watch: NetworkWatch?

    init(on loop: EventLoop) { self.loop = loop }

    func add(_ slot: ParkingSlot) {
        slots[ObjectIdentifier(slot)] = slot
        guard watch == nil else { return }
        // Without a watch they wait until their deadline and fail with their former error.
        watch = try? NetworkWatch(on: loop) { [weak self] in self?.wakeAll() }
    }

    func remove(_ slot: ParkingSlot) {
        slots[ObjectIdentifier(slot)] = nil
        guard slots.isEmpty else { return }
        watch?.close()
        watch = nil
    }

    private func wakeAll() {
        for slot in slots.values { slot.wake(.answered) }
    }
}
