// Asks the kernel which unix sockets were bound in a network, by their files (sock_diag(7)).
import CLinux
import Glibc
import LupinCore
import LupinIO
import Synchronization

/// The unix sockets of the network in which a socket for questions was made.
final class BoundSockets: Sendable {
    /// A file as the kernel numbers it: by its file system's device, not by the one that stat(2)
    /// shows, and by 32 bits of its inode.
    private struct FileIdentity: Equatable {
        let device: UInt32
        let inode: UInt32
    }

    /// Of a table of mounts.
    private static let tableBytesMax = 4 << 20
    /// A socket that is closed during the answer may hide another one.
    private static let attemptsMax = 2

    private let descriptor: Mutex<Descriptor>

    /// Takes over a socket for sock_diag(7).
    init(owning descriptor: consuming sending Descriptor) {
        self.descriptor = Mutex(descriptor)
    }

    /// Whether a socket of this network was bound to a file, which `process` sees.
    func contain(_ file: borrowing Descriptor, of process: Int32) -> Bool {
        guard let identity = Self.identity(of: file, for: process) else { return false }
        return descriptor.withLock { descriptor in
            for _ in 0..<Self.attemptsMax {
                let (isThere, isCertain) = Self.ask(descriptor.raw, for: identity)
                if isThere || isCertain { return isThere }
            }
            return false
        }
    }

    // MARK: A file

    private static func identity(of file: borrowing Descriptor, for process: Int32) -> FileIdentity?
    {
        let facts = text("/proc/self/fdinfo/\(file.raw)", bytesMax: 4096)
        var values: [Substring: Substring] = [:]
        for line in facts.split(separator: "\n") {
            let pair = line.split(separator: "\t", maxSplits: 1)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        // The inode is told since Linux 5.14.
        guard let mount = values["mnt_id:"],
            let number = values["ino:"].flatMap({ NumberReader.unsigned($0) })
        else { return nil }
        // ID parent major:minor …
        let table = text("/proc/\(process)/mountinfo", bytesMax: tableBytesMax)
        for line in table.split(separator: "\n") {
            let columns = line.split(separator: " ", maxSplits: 3)
            guard columns.count == 4, columns[0] == mount else { continue }
            let numbers = columns[2].split(separator: ":").compactMap {
                NumberReader.unsigned($0, max: UInt64(UInt32.max))
            }
            guard numbers.count == 2, numbers[0] < 1 << 12, numbers[1] < 1 << 20 else { return nil }
            return FileIdentity(
                device: UInt32(numbers[0] << 20 | numbers[1]),
                inode: UInt32(truncatingIfNeeded: number)
            )
        }
        // The process doesn't see the mount: it has another root, or a mount table of its own.
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(file.raw, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        return FileIdentity(
            device: UInt32(confine_major(device)) << 20 | UInt32(confine_minor(device)),
            inode: UInt32(truncatingIfNeeded: number)
        )
    }

    private static func text(_ path: String, bytesMax: Int) -> String {
        String(decoding: ProcessFiles.content(of: path, bytesMax: bytesMax) ?? [], as: UTF8.self)
    }

    // MARK: The kernel's answer

    /// Whether a socket is bound to a file; and whether the answer was made at one moment.
    private static func ask(_ raw: Int32, for identity: FileIdentity) -> (
        isThere: Bool, isCertain: Bool
    ) {
        var isThere = false
        let isCertain = UnixDiagnosis.forEach(
            raw,
            in: UnixDiagnosis.anyState,
            telling: .file
        ) { attributes in
            // The inode and the device.
            let file = UnixDiagnosis.attribute(UnixDiagnosis.file, in: attributes)
            guard let file, file.content.count >= 8 else { return }
            let found = FileIdentity(device: file.number(at: 4), inode: file.number(at: 0))
            if found == identity { isThere = true }
        }
        return (isThere, isCertain ?? true)
    }
}
