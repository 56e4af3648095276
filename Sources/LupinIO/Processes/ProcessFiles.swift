// Readings of /proc about processes: IDs, names, users and open sockets. They block.
import CLinux
import Glibc
import LupinCore

/// Readings of /proc; what cannot be read counts as absent.
package enum ProcessFiles {
    /// Links with longer targets are not sockets.
    private static let linkBytesMax = 64

    /// The content of a file, up to `bytesMax`; nil when it cannot be read.
    package static func content(of path: String, bytesMax: Int) -> [UInt8]? {
        let flags = O_RDONLY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        guard let raw = try? SystemCall.check({ unsafe open(path, flags) }) else { return nil }
        let descriptor = Descriptor(owning: raw)
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while content.count < bytesMax {
            let count = SystemCall.value {
                // Safety: the kernel writes `count` bytes at most, all inside the block.
                unsafe block.withUnsafeMutableBytes {
                    unsafe read(descriptor.raw, $0.baseAddress, $0.count)
                }
            }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            content.append(contentsOf: block[..<min(count, bytesMax - content.count)])
        }
        return content
    }

    /// Names of a directory that are numbers, at most `countMax` of them; empty when it cannot be
    /// read.
    static func numbers(in path: String, countMax: Int) -> [Int32] {
        // Safety: the stream is closed once, at the end, and used before that only.
        guard let stream = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(stream) }
        var numbers: [Int32] = []
        while numbers.count < countMax, let entry = unsafe readdir(stream) {
            if let number = unsafe number(of: entry) { numbers.append(number) }
        }
        return numbers
    }

    /// All names of a directory; with `isPrivate` only if it is this user's or root's, and no
    /// other user can change it, else EPERM.
    package static func names(
        in path: String,
        isPrivate: Bool = false
    ) throws(SystemError) -> [String] {
        try entries(in: path, isPrivate: isPrivate).map(\.name)
    }

    /// The same, each with whether it may be a folder.
    static func entries(
        in path: String,
        isPrivate: Bool = false
    ) throws(SystemError) -> [(name: String, isFolder: Bool)] {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        let descriptor = Descriptor(
            owning: try SystemCall.check { unsafe open(path, flags) }
        )
        if isPrivate {
            var status = stat()
            // Safety: fstat fills the struct it is given.
            try SystemCall.check { unsafe fstat(descriptor.raw, &status) }
            let isOurs = status.st_uid == geteuid() || status.st_uid == 0
            guard isOurs, status.st_mode & 0o022 == 0 else {
                throw SystemError(code: EPERM)
            }
        }
        // Safety: the stream owns the descriptor, and is closed once, at the end.
        guard let stream = unsafe fdopendir(descriptor.raw) else {
            throw SystemError(code: ENOMEM)
        }
        _ = descriptor.release()
        defer { unsafe closedir(stream) }
        var entries: [(name: String, isFolder: Bool)] = []
        while let entry = unsafe readdir(stream) {
            // Some file systems do not say what it is.
            let kind = Int(unsafe entry.pointee.d_type)
            unsafe entries.append((name(of: entry), kind == DT_DIR || kind == DT_UNKNOWN))
        }
        return entries
    }

    /// The inode of the socket behind a process's descriptor; nil when it is not a socket.
    static func socketInode(process: Int32, descriptor: Int32) -> UInt64? {
        let path = "/proc/\(process)/fd/\(descriptor)"
        var link = [CChar](repeating: 0, count: linkBytesMax)
        // Safety: the kernel writes `linkBytesMax` bytes at most, which the array has.
        let count = SystemCall.value { unsafe readlink(path, &link, linkBytesMax) }
        let prefix = "socket:["
        let target = link.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        guard target.starts(with: prefix.utf8), target.last == 0x5D else { return nil }
        let digits = Array(target[prefix.utf8.count...].dropLast())
        return NumberReader.unsigned(digits.span)
    }

    /// What a symbolic link says; nil for what is none.
    package static func link(_ path: String) -> String? {
        var link = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safety: the kernel writes as many bytes at most as the array has.
        let count = SystemCall.value { unsafe readlink(path, &link, link.count) }
        guard count > 0 else { return nil }
        return String(decoding: link.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether this process may list the open files of a process.
    static func areDescriptorsReadable(of process: Int32) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access("/proc/\(process)/fd", R_OK | X_OK) == 0
    }

    /// The name of a process's program, of which the kernel keeps 15 bytes; nil when it has ended.
    package static func program(of process: Int32) -> String? {
        guard let content = content(of: "/proc/\(process)/comm", bytesMax: 256) else { return nil }
        return String(decoding: content.last == 0x0A ? content.dropLast() : content, as: UTF8.self)
    }

    /// The process that a thread belongs to; nil when it has ended.
    package static func process(ofThread thread: UInt32) -> Int32? {
        numbers("Tgid", of: thread).first.flatMap { NumberReader.unsigned($0) }
            .flatMap(Int32.init(exactly:))
    }

    /// What the status of a thread has behind a key, in words; empty when it has ended.
    package static func numbers(_ key: String, of thread: UInt32) -> [String] {
        facts([key], of: thread)[key] ?? []
    }

    /// The same of several keys, at one moment.
    static func facts(_ keys: Set<String>, of thread: UInt32) -> [String: [String]] {
        let status = content(of: "/proc/\(thread)/status", bytesMax: 64 << 10) ?? []
        var facts: [String: [String]] = [:]
        for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let key = String(line[..<colon])
            guard keys.contains(key), facts[key] == nil else { continue }
            facts[key] = line[line.index(after: colon)...].split { $0 == "\t" || $0 == " " }
                .map(String.init)
        }
        return facts
    }

    /// Whether a signal waits for a thread that it does not block.
    ///
    /// One for its whole process counts if the thread is the first one, which the kernel wakes
    /// then; another one may be taken by any thread.
    package static func hasSignal(_ thread: UInt32, of process: Int32) -> Bool {
        let facts = facts(["SigPnd", "ShdPnd", "SigBlk"], of: thread)
        func set(_ key: String) -> UInt64 {
            facts[key]?.first.flatMap { NumberReader.hexadecimal($0) } ?? 0
        }
        let isFirst = Int32(exactly: thread) == process
        return (set("SigPnd") | (isFirst ? set("ShdPnd") : 0)) & ~set("SigBlk") != 0
    }

    /// The user a process acts as; nil when it has ended.
    static func user(of process: Int32) -> UInt32? {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe stat("/proc/\(process)", &status) == 0 else { return nil }
        return status.st_uid
    }

    private static func number(of entry: UnsafeMutablePointer<dirent>) -> Int32? {
        Int32(unsafe name(of: entry))
    }

    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return "" }
        // Safety: readdir's entry stays until the next call; its name is NUL-terminated.
        let name = unsafe UnsafeRawPointer(entry).advanced(by: offset)
        return unsafe String(cString: name.assumingMemoryBound(to: CChar.self))
    }
}
