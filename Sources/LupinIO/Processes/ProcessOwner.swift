// The environment of this process: its user, home directory, machine and number.
import CLinux
import Glibc
import LupinCore

package enum ProcessOwner {
    /// The effective user's number.
    package static var userNumber: UInt32 { geteuid() }

    /// The number of this process.
    package static var processNumber: Int32 { getpid() }

    /// The effective user's name, or its number if it has no name.
    package static var userName: String {
        // Safety: the entry is read before any other call could overwrite it.
        guard let entry = unsafe getpwuid(geteuid()), let name = unsafe entry.pointee.pw_name else {
            return String(geteuid())
        }
        return unsafe String(cString: name)
    }

    /// The environment variables; of two with the same name the first one counts, as for getenv(3).
    package static var environment: [String: String] {
        var result: [String: String] = [:]
        // Safety: the list ends with nil; each line is copied at once.
        var line = unsafe linux_environment()
        while let current = unsafe line, let text = unsafe current.pointee {
            let entry = unsafe String(cString: text)
            unsafe line = current + 1
            guard let cut = entry.firstIndex(of: "=") else { continue }
            let name = String(entry[..<cut])
            if result[name] == nil { result[name] = String(entry[entry.index(after: cut)...]) }
        }
        return result
    }

    /// The home directory: `HOME`, if that is a directory of the effective user, else the one in
    /// the user database; nil when neither exists.
    ///
    /// After `sudo` without `-H`, `HOME` is another user's, and in a container the user database
    /// may not contain the user.
    package static func home(_ environment: [String: String]) -> String? {
        if let own = environment["HOME"], own.hasPrefix("/"),
            FileStatus(path: own)?.user == geteuid()
        {
            return own
        }
        return accountHome
    }

    /// The effective user's home directory in the user database, whatever `HOME` is.
    package static var accountHome: String? { home(of: geteuid()) }

    /// The effective user's number outside this user namespace, as `unshare -r` makes one; nil
    /// where it is the same, or not known.
    package static var outerUserNumber: UInt32? {
        let outer = userMap?.outer(of: geteuid())
        return outer == geteuid() ? nil : outer
    }

    /// Whether nobody can know who this user is outside: of a user namespace that lies in another
    /// one, the kernel tells the numbers in that.
    ///
    /// Then the home of who has the same number there is not this user's.
    package static var isUnknownOutside: Bool {
        guard let userMap, !userMap.isWhole, userMap.outer(of: geteuid()) == geteuid(),
            let owner = accountHome.flatMap({ FileStatus(path: $0) })?.user
        else { return false }
        return owner != geteuid()
    }

    private static var userMap: UserMap? { userMap(of: "self") }

    /// The users that a process knows; nil where nobody tells.
    static func userMap(of process: String) -> UserMap? {
        ProcessFiles.content(of: "/proc/\(process)/uid_map", bytesMax: 64 << 10)
            .map { UserMap(table: $0) }
    }

    /// Whether the kernel tells this user from others.
    ///
    /// In a user namespace that does not know the user, as `unshare -U` makes one, everybody who is
    /// not known there seems to have the same number.
    package static var isDistinct: Bool { userMap?.outer(of: geteuid()) != nil }

    /// Identifies the user namespace of this process.
    static var namespace: [UInt64]? { FileStatus(path: "/proc/self/ns/user")?.identity }

    /// Whether it is that of the machine, in which all others lie.
    static var isOutermost: Bool { namespace?.last == outermostInode }

    /// USER_NS_INIT_INO, younger than some headers.
    private static let outermostInode: UInt64 = 0xEFFF_FFFD

    /// The home of that user, if it is there and this user's; nil otherwise.
    ///
    /// In a container the number may be another user's.
    package static var outerHome: String? {
        guard let home = outerUserNumber.flatMap({ home(of: $0) }) else { return nil }
        return FileStatus(path: home)?.user == geteuid() ? home : nil
    }

    private static func home(of user: uid_t) -> String? {
        // Safety: as above.
        guard let entry = unsafe getpwuid(user), let home = unsafe entry.pointee.pw_dir else {
            return nil
        }
        let path = unsafe String(cString: home)
        return path.hasPrefix("/") ? path : nil
    }

    /// The working directory; empty when it has been removed.
    package static var directory: String {
        // Safety: without a buffer the call allocates one, which is freed once it is read.
        guard let path = unsafe getcwd(nil, 0) else { return "" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The first label of the host name.
    package static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        // Safety: the kernel writes at most the given length, less than the array has.
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        let bytes = name.prefix { $0 != 0 && $0 != 0x2E }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Identifies this machine whatever its host name is: machine-id(5), else the kernel's boot ID,
    /// else the host name.
    ///
    /// Do not disclose it; a digest of it may be disclosed.
    package static var machine: String {
        for path in ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"] {
            let content = ProcessFiles.content(of: path, bytesMax: 256) ?? []
            let line = content.prefix { $0 != 0x0A }
            if line.count >= 32 { return String(decoding: line, as: UTF8.self) }
        }
        return hostName
    }
}
