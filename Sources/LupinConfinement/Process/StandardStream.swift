// The standard streams of a confined command: what was opened outside is no way out.
import CLinux
import Glibc
import LupinIO

/// One of the descriptors 0, 1 and 2.
package struct StandardStream: Sendable {
    /// What is done with one for a confined command.
    package enum Treatment: Equatable, Sendable {
        /// Nothing: it can't be opened for more than it was given for.
        case kept
        /// The command reads a file that it can't change.
        case input
        /// The command writes to a pipe, and lupin to the file.
        case output
        /// The command is not run; with a word for what it is.
        case refused(String)
    }

    /// What the kernel says of a descriptor.
    package struct Facts: Sendable {
        let mode: UInt32
        /// Those of open(2).
        let flags: Int32
        let device: (major: UInt64, minor: UInt64)
        let isTerminal: Bool
        /// Whether it is a unix socket of bytes that is connected to another.
        let isConnected: Bool
        /// What /proc/self/fd names it.
        let link: String

        package init(
            mode: UInt32,
            flags: Int32,
            device: (major: UInt64, minor: UInt64) = (0, 0),
            isTerminal: Bool = false,
            isConnected: Bool = false,
            link: String = ""
        ) {
            (self.mode, self.flags) = (mode, flags)
            (self.device, self.isTerminal) = (device, isTerminal)
            (self.isConnected, self.link) = (isConnected, link)
        }

        /// What the kernel calls one that is no file of a folder: a namespace, a process, an epoll.
        fileprivate var kernelName: String? {
            link.isEmpty || link.hasPrefix("/") ? nil : "\(link), no file"
        }
    }

    /// O_PATH: it only names a file.
    private static let byName: Int32 = 0o10_000_000
    /// null, zero, full, random, urandom and tty, as inside.
    private static let devices: [UInt64: Set<UInt64>] = [1: [3, 5, 7, 8, 9], 5: [0]]
    private static let terminalMaker: (major: UInt64, minor: UInt64) = (5, 2)

    package static func treatment(of number: Int32, _ facts: Facts) -> Treatment {
        if facts.flags & byName != 0 { return .refused("no opened file, but only the name of one") }
        switch facts.mode & S_IFMT {
        case S_IFREG:
            if let name = facts.kernelName { return .refused(name) }
            switch facts.flags & O_ACCMODE {
            case O_RDONLY: return .input
            case O_WRONLY: return .output
            default: return number == STDIN_FILENO ? .input : .output
            }
        case S_IFIFO: return .kept
        // Any other belongs to a network outside, and may be connected to another address there.
        case S_IFSOCK: return facts.isConnected ? .kept : .refused("a socket of a network outside")
        case S_IFDIR: return .refused("a folder")
        case S_IFBLK: return .refused("a block device")
        case S_IFCHR:
            // Who writes there types what the programs of that terminal read.
            if facts.device == terminalMaker { return .refused("the other end of a terminal") }
            let isUsual = devices[facts.device.major]?.contains(facts.device.minor) ?? false
            return isUsual || facts.isTerminal ? .kept : .refused("a device")
        default:
            return .refused(
                facts.kernelName ?? "neither a file nor a pipe, a socket or a terminal"
            )
        }
    }

    /// All that this process was given.
    static var all: [StandardStream] { (0...2).compactMap { StandardStream($0) } }

    /// Why a command that inherits this process's streams is not run; nil if it can be.
    package static var refusal: String? {
        for stream in all {
            guard case .refused(let kind) = stream.treatment else { continue }
            return "\(stream.name) is \(kind), by which the command would leave its confinement; "
                + "give it a file, a pipe, a terminal or /dev/null"
        }
        return nil
    }

    let number: Int32
    let treatment: Treatment
    private let status: stat
    private let flags: Int32

    /// nil for one that is closed; what lupin has opened since under its number is lupin's own.
    private init?(_ number: Int32) {
        let state = fcntl(number, F_GETFD)
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard state >= 0, state & FD_CLOEXEC == 0, unsafe fstat(number, &status) == 0 else {
            return nil
        }
        (self.number, self.status, flags) = (number, status, fcntl(number, F_GETFL))
        let device = (
            major: UInt64(confine_major(UInt64(status.st_rdev))),
            minor: UInt64(confine_minor(UInt64(status.st_rdev)))
        )
        treatment = Self.treatment(
            of: number,
            Facts(
                mode: status.st_mode,
                flags: flags,
                device: device,
                isTerminal: isatty(number) == 1,
                isConnected: Self.isConnectedPair(number),
                link: ProcessFiles.link("/proc/self/fd/\(number)") ?? ""
            )
        )
    }

    /// Whether a descriptor is one of two unix sockets of bytes that are connected: such a one
    /// stays so, and takes no address.
    private static func isConnectedPair(_ number: Int32) -> Bool {
        let isUnix = option(SO_DOMAIN, of: number) == AF_UNIX
        let isStream = option(SO_TYPE, of: number) == Int32(SOCK_STREAM.rawValue)
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // Safety: the call fills the bytes that it is given; each address begins as sockaddr does.
        let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            unsafe getpeername(
                number,
                bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                &length
            )
        }
        return isUnix && isStream && code == 0
    }

    private static func option(_ name: Int32, of number: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // Safety: getsockopt fills the integer it is given.
        let code = unsafe getsockopt(number, SOL_SOCKET, name, &value, &length)
        return code == 0 ? value : nil
    }

    var name: String {
        switch number {
        case STDIN_FILENO: "standard input"
        case STDOUT_FILENO: "standard output"
        default: "standard error"
        }
    }

    /// Whether a descriptor is for the same file.
    func isFile(of descriptor: Int32) -> Bool {
        var other = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(descriptor, &other) == 0 else { return false }
        return other.st_dev == status.st_dev && other.st_ino == status.st_ino
    }

    /// Whether what is written to both stands in one file in its order: they came of one opening,
    /// as in `2>&1`, or append.
    func isOne(with other: StandardStream) -> Bool {
        guard isFile(of: other.number), flags == other.flags else { return false }
        return flags & O_APPEND != 0 || confine_compare(number, other.number) == 0
    }
}
