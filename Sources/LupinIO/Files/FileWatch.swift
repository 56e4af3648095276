// Reports whether a file has changed, by watching the directories on its path.
import CLinux
import Glibc
import LupinCore

/// Reports when a path leads to another file, or its file has other content.
///
/// Editors write a new file and rename it, and deployments swap a symbolic link: a watch on the
/// file itself would stay with the old file. So this watches the file's directory and those of all
/// symbolic links on the path. A missing component is waited for in its directory.
///
/// Not Sendable: it belongs to its loop.
package final class FileWatch {
    /// A directory entry whose change may change what the path leads to.
    private struct Step {
        let directory: String
        let name: String
    }

    private let path: String
    private let loop: EventLoop
    private let slot: ParkingSlot
    private let quiet: Duration
    private let descriptor: Int32
    private let token: UInt64
    /// The relevant names, by the watch descriptor of their directory.
    private var names: [Int32: Set<String>] = [:]
    private var version: FileVersion?
    /// Whether an event named one of them.
    private var isNamed = false
    private var isOpen = true

    /// The quiet time after which a burst of changes counts as over.
    package static let quiet = Duration.milliseconds(50)
    /// A file that never comes to rest is reported after this many quiet times.
    private static let quietsMax = 20
    /// The same bound on symbolic links as the kernel's.
    private static let linksMax = 40

    /// Begins to watch; what happens from now on is reported.
    /// - Throws: When the kernel provides no descriptor for it.
    package init(
        path: String,
        on loop: EventLoop,
        quiet: Duration = FileWatch.quiet
    ) throws(SystemError) {
        self.path = path
        self.loop = loop
        self.quiet = quiet
        slot = ParkingSlot(on: loop)
        let owned = Descriptor(owning: try SystemCall.check { linux_watch_begin() })
        token = try loop.register(watcher: slot, reading: owned.raw)
        descriptor = owned.release()
        arm()
        version = FileVersion(path: path)
    }

    deinit { assert(!isOpen, "a file watch was dropped without close()") }

    /// Ends the watch; a pending `next` returns false.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop.poller.remove(descriptor)
        loop.unregister(token)
        _ = Glibc.close(descriptor)
        slot.wake(.cut)
        slot.retire()
    }

    /// Waits until the file has changed and then stayed unchanged for the quiet time.
    ///
    /// Returns false when the watch was closed.
    package func next() async -> Bool {
        while isOpen {
            guard takeEvents() else {
                _ = await slot.park(for: .ready | .cut)
                continue
            }
            await awaitQuiet()
            guard isOpen else { break }
            arm()
            let now = FileVersion(path: path)
            guard isNamed || now != version else { continue }
            isNamed = false
            version = now
            return true
        }
        return false
    }

    private func awaitQuiet() async {
        var latest = loop.now
        for _ in 0..<Self.quietsMax { latest = latest &+ quiet.microseconds }
        while isOpen, loop.now < latest {
            let woken = await slot.park(
                for: .ready | .cut,
                until: min(latest, loop.deadline(in: quiet))
            )
            guard isOpen, woken.meets(.ready), takeEvents() else { return }
        }
    }

    // MARK: What is watched

    /// Watches what the path leads through now, and nothing else.
    private func arm() {
        var wanted: [Int32: Set<String>] = [:]
        for step in route {
            // Safety: the path is NUL-terminated for the call.
            let watch = unsafe linux_watch_add(descriptor, step.directory)
            // The watch on the parent directory reported that this directory is gone.
            if watch >= 0 { wanted[watch, default: []].insert(step.name) }
        }
        for watch in names.keys where wanted[watch] == nil {
            _ = linux_watch_remove(descriptor, watch)
        }
        names = wanted
    }

    /// The symbolic links on the path, and the file or the missing component.
    private var route: [Step] {
        var steps: [Step] = []
        var rest = Array(path.split(separator: "/").map(String.init).reversed())
        var directory = path.hasPrefix("/") ? "/" : "."
        while let name = rest.popLast(), steps.count < Self.linksMax {
            if name == "." { continue }
            let next = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
            if name == ".." {
                directory = next
                continue
            }
            if let target = ProcessFiles.link(next) {
                steps.append(Step(directory: directory, name: name))
                if target.hasPrefix("/") { directory = "/" }
                rest += target.split(separator: "/").map(String.init).reversed()
            } else if rest.isEmpty || FileStatus(path: next) == nil {
                steps.append(Step(directory: directory, name: name))
                return steps
            } else {
                directory = next
            }
        }
        return steps
    }

    // MARK: What happened

    /// Reads all pending events; returns false when there are none.
    private func takeEvents() -> Bool {
        var isAny = false
        var block = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = SystemCall.value {
                // Safety: the kernel writes `count` bytes at most, all inside the block.
                unsafe block.withUnsafeMutableBytes {
                    unsafe read(descriptor, $0.baseAddress, $0.count)
                }
            }
            guard count > 0 else { return isAny }
            isAny = true
            note(block.span.extracting(0..<count))
        }
    }

    /// Searches `struct inotify_event`s for the watched names: four numbers of 4 bytes, the last of
    /// which is the length of the name that follows.
    private func note(_ events: Span<UInt8>) {
        var start = 0
        while start + 16 <= events.count {
            let watch = Int32(truncatingIfNeeded: events.extracting(start...).halfWord(at: 0))
            let length = Int(events.extracting(start...).halfWord(at: 12))
            let end = start + 16 + length
            guard end <= events.count else { return }
            if let wanted = names[watch] {
                let bytes = events.extracting((start + 16)..<end)
                var count = 0
                while count < bytes.count, bytes[count] != 0 { count += 1 }
                if wanted.contains(String(copying: bytes.extracting(0..<count))) { isNamed = true }
            }
            start = end
        }
    }
}
