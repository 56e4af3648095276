// Finds what a process of a confined command finds at a path.
import CLinux
import Glibc
import LupinCore
import LupinIO

/// A thread of a process, by whose eyes paths are followed.
struct CallerPath {
    let thread: UInt32
    let process: Int32

    /// As many links as the kernel follows.
    private static let linksMax = 40

    /// What lies at a path, held open so that nothing else gets there.
    func open(_ path: String) throws(SystemError) -> Descriptor {
        if let (number, rest) = OpenFolder.parts(of: path) {
            let folder = Descriptor(owning: try SystemCall.check { confine_copy(process, number) })
            return try Self.name(rest, in: folder)
        }
        let folder = path.hasPrefix("/") ? "" : ProcessFiles.link("/proc/\(thread)/cwd") ?? ""
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        let root = Descriptor(
            owning: try SystemCall.check { unsafe Glibc.open("/proc/\(thread)/root", flags) }
        )
        do throws(SystemError) {
            return try Self.name("\(folder)/\(path)", in: root)
        } catch {
            guard error.code == ENOENT || error.code == EXDEV else { throw error }
            if !path.hasPrefix("/"), let found = inWorkingFolder(path) { return found }
            if let other = followingOwn("\(folder)/\(path)", in: root) {
                return try Self.name(other, in: root)
            }
            // A link of another process's.
            throw error.code == EXDEV ? SystemError(code: EACCES) : error
        }
    }

    /// What lies below the working folder, which has no path from the thread's root if that is
    /// another one than when it went there, or than that of its mounts.
    private func inWorkingFolder(_ path: String) -> Descriptor? {
        guard !path.split(separator: "/").contains("..") else { return nil }
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        guard let raw = try? SystemCall.check({ unsafe Glibc.open("/proc/\(thread)/cwd", flags) })
        else { return nil }
        return try? Self.name(path, in: Descriptor(owning: raw))
    }

    private static func name(
        _ path: String,
        in root: borrowing Descriptor,
        _ flags: Int32 = 0
    ) throws(SystemError) -> Descriptor {
        let raw = root.raw
        // Safety: the path is NUL-terminated for the call.
        return Descriptor(
            owning: try SystemCall.check { unsafe confine_name(raw, path, flags) }
        )
    }

    // MARK: The links of /proc

    /// The same path without the links of /proc by which a process names its own files: for another
    /// process the kernel follows them to that process's files, or not at all.
    ///
    /// - Returns: nil if it has none.
    private func followingOwn(_ path: String, in root: borrowing Descriptor) -> String? {
        let entries = ProcessEntry.all(of: thread, process)
        var (rest, found) = (Self.reversedParts(path), [String]())
        var (links, isOwn) = (0, false)
        while let name = rest.popLast(), links <= Self.linksMax {
            if name == ".." {
                _ = found.popLast()
                continue
            }
            if found == ["proc"], let entry = entries[name],
                let target = entry.target(&rest, entries)
            {
                (links, isOwn) = (links + 1, true)
                found = Self.reversedParts(target).reversed()
                continue
            }
            found.append(name)
            guard let link = Self.link("/" + found.joined(separator: "/"), in: root) else {
                continue
            }
            links += 1
            found.removeLast()
            if link.hasPrefix("/") { found = [] }
            rest += Self.reversedParts(link)
        }
        return isOwn && rest.isEmpty ? "/" + found.joined(separator: "/") : nil
    }

    private static func reversedParts(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.reversed().map(String.init)
    }

    /// What a link says; nil for what is none.
    private static func link(_ path: String, in root: borrowing Descriptor) -> String? {
        guard let name = try? name(path, in: root, O_NOFOLLOW) else { return nil }
        var link = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safety: the kernel writes as many bytes at most as the array has.
        let count = SystemCall.value { unsafe readlinkat(name.raw, "", &link, link.count) }
        guard count > 0 else { return nil }
        return String(decoding: link.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// An entry of /proc for a process or a thread, by its path as lupin sees it.
private struct ProcessEntry {
    private let path: String

    /// Those of a thread and its process, by their names in the thread's own /proc.
    static func all(of thread: UInt32, _ process: Int32) -> [String: ProcessEntry] {
        let whole = ProcessEntry(path: "/proc/\(process)")
        let one = ProcessEntry(path: "/proc/\(thread)")
        var entries = ["self": whole, "thread-self": one]
        // The first number is the one outside, the others those in its namespaces.
        for number in ProcessFiles.numbers("NSpid", of: thread).dropFirst() {
            entries[number] = one
        }
        for number in ProcessFiles.numbers("NStgid", of: thread).dropFirst() {
            entries[number] = whole
        }
        return entries
    }

    /// Where the entry's link leads that comes next on a way, of which it is taken.
    func target(_ rest: inout [String], _ entries: [String: ProcessEntry]) -> String? {
        switch rest.last {
        case "root":
            rest.removeLast()
            return ""
        case "cwd":
            rest.removeLast()
            return ProcessFiles.link("\(path)/cwd")
        case "fd":
            guard let number = rest.dropLast().last.flatMap({ NumberReader.unsigned($0) }) else {
                return nil
            }
            rest.removeLast(2)
            return ProcessFiles.link("\(path)/fd/\(number)").flatMap {
                $0.hasPrefix("/") ? $0 : nil
            }
        case "task":
            guard let entry = rest.dropLast().last.flatMap({ entries[$0] }) else { return nil }
            rest.removeLast(2)
            return entry.target(&rest, entries)
        default: return nil
        }
    }
}

/// Paths by an open folder, which are a usual way round the length that a socket's may have.
///
/// So they work for folders without a name, too.
private enum OpenFolder {
    private static let heads = ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"]

    /// The descriptor of the folder, and the path below it.
    static func parts(of path: String) -> (descriptor: Int32, rest: String)? {
        for head in heads where path.hasPrefix(head) {
            let parts = path.dropFirst(head.count).split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let number = NumberReader.unsigned(parts[0]) else { return nil }
            // What lies above a folder is followed from its name.
            guard !parts[1].split(separator: "/").contains("..") else { return nil }
            return Int32(exactly: number).map { ($0, String(parts[1])) }
        }
        return nil
    }
}
