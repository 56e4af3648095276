// Whether a file has changed, by watching the directories that its name leads through.
import CLinux
import Glibc
import LupinCore

/// Tells when the file behind a name is another one, or has other content.
///
/// Editors write a new file and rename it, and others swap a symbolic link: who watches the file
/// itself keeps watching the old one. So the directory of the name is watched, and those of all
/// symbolic links on the way; what is missing is waited for where it is missing.
///
/// Not Sendable: it belongs to its loop.
package final class FileWatch {
    /// A place where something may happen that changes what the name means.
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
    /// The names that matter, by the kernel's number of the directory.
    private var names: [Int32: Set<String>] = [:]
    private var version: FileVersion?
    /// Something happened to one of the names.
    private var isNamed = false
    private var isOpen = true

    /// Silence after which a burst of changes counts as over.
    package static let quiet = Duration.milliseconds(50)
    /// A file that never comes to rest is reported after so many times that silence.
    private static let quietsMax = 20
    /// As many symbolic links as the kernel follows.
    private static let linksMax = 40

    /// Begins to watch; what happens from now on is reported.
    /// - Throws: When the kernel gives no descriptor for it.
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

    /// Ends the watch; a task in `next` gets false.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        loop.poller.remove(descriptor)
        loop.unregister(token)
        _ = Glibc.close(descriptor)
        slot.wake(.cut)
        slot.retire()
    }

    /// Waits until the file has changed and was then left alone for a moment.
    ///
    /// False when the watch was closed.
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

    /// Watches what the name leads through now, and nothing else.
    private func arm() {
        var wanted: [Int32: Set<String>] = [:]
        for step in route {
            // Safety: the path is NUL-terminated for the call.
            let watch = unsafe linux_watch_add(descriptor, step.directory)
            // A directory that has gone meanwhile was told by the one above it.
            if watch >= 0 { wanted[watch, default: []].insert(step.name) }
        }
        for watch in names.keys where wanted[watch] == nil {
            _ = linux_watch_remove(descriptor, watch)
        }
        names = wanted
    }

    /// The symbolic links on the way to the file, and the file or what is missing of the way.
    private var route: [Step] {
        var steps: [Step] = []
        var rest = Array(path.split(separator: "/").map(String.init).reversed())
        var directory = path.hasPrefix("/") ? "/" : "."
        while let name = rest.popLast(), steps.count < Self.linksMax {
            if name == "." { continue }
            let place = directory == "/" ? "/\(name)" : "\(directory)/\(name)"
            if name == ".." {
                directory = place
                continue
            }
            if let target = Self.target(ofLink: place) {
                steps.append(Step(directory: directory, name: name))
                if target.hasPrefix("/") { directory = "/" }
                rest += target.split(separator: "/").map(String.init).reversed()
            } else if rest.isEmpty || FileStatus(path: place) == nil {
                steps.append(Step(directory: directory, name: name))
                return steps
            } else {
                directory = place
            }
        }
        return steps
    }

    /// Where a symbolic link points; nil when there is none.
    private static func target(ofLink path: String) -> String? {
        var link = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safety: the kernel writes `PATH_MAX` bytes at most, which the array has.
        let count = SystemCall.value { unsafe readlink(path, &link, Int(PATH_MAX)) }
        guard count > 0 else { return nil }
        return String(decoding: link[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    // MARK: What happened

    /// Reads all events there are; false when there are none.
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

    /// Looks for our names in `struct inotify_event`s: four numbers of 4 bytes, the last of them
    /// the length of the name behind them.
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
