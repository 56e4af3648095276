// Asks the kernel which unix sockets were bound in a network, by their files (sock_diag(7)).
import CLinux
import Glibc
import LupinCore
import Synchronization

/// The unix sockets of the network in which a socket for questions was made.
final class BoundSockets: Sendable {
    /// A file as the kernel numbers it: by its file system's device, not by the one that stat(2)
    /// shows, and by 32 bits of its inode.
    private struct Place: Equatable {
        let device: UInt32
        let inode: UInt32
    }

    private static let answerBytesMax = 64 << 10
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
        guard let place = Self.place(of: file, for: process) else { return false }
        return descriptor.withLock { descriptor in
            for _ in 0..<Self.attemptsMax {
                let (isThere, isCertain) = Self.ask(descriptor.raw, for: place)
                if isThere || isCertain { return isThere }
            }
            return false
        }
    }

    // MARK: A file

    private static func place(of file: borrowing Descriptor, for process: Int32) -> Place? {
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
            return Place(
                device: UInt32(numbers[0] << 20 | numbers[1]),
                inode: UInt32(truncatingIfNeeded: number)
            )
        }
        // The process doesn't see the mount: it has another root, or a mount table of its own.
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(file.raw, &status) == 0 else { return nil }
        let device = UInt64(status.st_dev)
        return Place(
            device: UInt32(confine_major(device)) << 20 | UInt32(confine_minor(device)),
            inode: UInt32(truncatingIfNeeded: number)
        )
    }

    private static func text(_ path: String, bytesMax: Int) -> String {
        String(decoding: ProcessFiles.content(of: path, bytesMax: bytesMax) ?? [], as: UTF8.self)
    }

    // MARK: The kernel's answer

    private static let question: [UInt8] = {
        let (allStates, any) = (UInt32.max, UInt32(0))
        // UDIAG_SHOW_VFS: with the file of each; the cookie stays empty.
        let fixed = [UInt8(AF_UNIX), 0, 0, 0] + [allStates, any, 2, any, any].flatMap(native)
        var message = NetlinkMessages()
        // NLM_F_REQUEST | NLM_F_DUMP
        message.append(LINUX_DIAGNOSIS_SOCKET, 0x301, fixed)
        return message.bytes
    }()

    private static func native(_ number: UInt32) -> [UInt8] { NetlinkMessages.native(number) }

    /// Whether a socket is bound to a file; and whether the answer was made at one moment.
    private static func ask(_ raw: Int32, for place: Place) -> (isThere: Bool, isCertain: Bool) {
        // Safety: the bytes outlive the call, which reads them.
        let sent = SystemCall.value { unsafe send(raw, question, question.count, 0) }
        guard sent == question.count else { return (false, true) }
        var block = [UInt8](repeating: 0, count: answerBytesMax)
        var (isThere, parts) = (false, 0)
        while true {
            // Safety: as many bytes are filled at most as the block has.
            let count = SystemCall.value { unsafe recv(raw, &block, answerBytesMax, 0) }
            guard count > 0 else { return (isThere, parts <= 1) }
            parts += 1
            var rest = block[..<count]
            while let message = NetlinkPiece(message: &rest) {
                switch message.type {
                case LINUX_DIAGNOSIS_SOCKET:
                    if Self.place(in: message) == place { isThere = true }
                // The end of the list, or an error.
                default: return (isThere, parts <= 1)
                }
            }
        }
    }

    /// The file of a socket.
    private static func place(in message: NetlinkPiece) -> Place? {
        // Behind 16 bytes about the socket; UNIX_DIAG_VFS has the inode and the device.
        var rest = message.content.dropFirst(16)
        while let attribute = NetlinkPiece(attribute: &rest) {
            guard attribute.type == 1, attribute.content.count >= 8 else { continue }
            return Place(device: attribute.number(at: 4), inode: attribute.number(at: 0))
        }
        return nil
    }
}
